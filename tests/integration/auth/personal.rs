//! Personal access tokens: what they allow and how they end.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::{
    issuer::{FIXED_TOKEN, Issuer, Key, server},
    streams,
};
use crate::api::harness::{Server, text};

async fn graphql(server: &Server, token: &str, query: &str, variables: Value) -> Value {
    let request = server.http.post(server.url("/graphql")).bearer_auth(token);
    request.json(&json!({ "query": query, "variables": variables })).send().await.unwrap().json().await.unwrap()
}

const CREATE: &str = "mutation($input: CreateAccessTokenInput!) { createAccessToken(input: $input) {
    accessToken { id name scopes createdAt expiresAt lastUsedAt } secret errors { code path } } }";
const REVOKE: &str = "mutation($id: ID!) { revokeAccessToken(input: { id: $id }) { revokedId errors { code } } }";
const LIST: &str = "{ accessTokens { id name scopes lastUsedAt } }";

async fn create(server: &Server, token: &str, change: Value) -> Value {
    let mut input = json!({ "name": "nightly job", "scopes": ["recall.read"] });
    input.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let answer = graphql(server, token, CREATE, json!({ "input": input })).await;
    assert!(answer.get("errors").is_none(), "{answer}");
    answer["data"]["createAccessToken"].clone()
}

async fn viewer(server: &Server, token: &str) -> Value {
    graphql(server, token, "{ viewer { id role } }", json!({})).await["data"]["viewer"].clone()
}

fn code(payload: &Value) -> &str {
    payload["errors"][0]["code"].as_str().unwrap_or_default()
}

async fn world() -> (std::sync::Arc<Issuer>, Server) {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = server(&[&issuer]).await;
    (issuer, server)
}

#[tokio::test]
async fn access_token_works_within_scopes_until_revoked() {
    let (issuer, server) = world().await;
    let login = issuer.token("root", json!({ "roles": ["recall-admin"], "scope": "recall.read recall.write recall.admin" }));
    let owner = viewer(&server, &login).await;
    assert_eq!(owner["role"], "ADMIN");
    let made = create(&server, &login, json!({})).await;
    let (secret, id) = (text(&made["secret"]), made["accessToken"]["id"].clone());
    assert_eq!(made["accessToken"]["lastUsedAt"], Value::Null);

    let held = viewer(&server, &secret).await;
    assert_eq!((&held["id"], held["role"].as_str()), (&owner["id"], Some("USER")), "the token belongs to another user, or has the role");
    let written = graphql(&server, &secret, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
    assert_eq!(written["errors"][0]["extensions"]["code"], "INSUFFICIENT_SCOPE");
    let metrics = server.http.get(server.url("/metrics")).bearer_auth(&secret).send().await.unwrap();
    assert_eq!(metrics.status(), 403);

    let listed = graphql(&server, &login, LIST, json!({})).await;
    let token = &listed["data"]["accessTokens"][0];
    assert_eq!((&token["id"], &token["name"], &token["scopes"]), (&id, &json!("nightly job"), &json!(["recall.read"])));
    assert!(token["lastUsedAt"].is_string(), "{listed}");
    assert!(!listed.to_string().contains(&secret[12..]));

    let revoked = graphql(&server, &login, REVOKE, json!({ "id": id })).await;
    assert_eq!(revoked["data"]["revokeAccessToken"], json!({ "revokedId": id, "errors": [] }));
    assert_eq!(viewer(&server, &secret).await, Value::Null);
    let again = graphql(&server, &login, REVOKE, json!({ "id": id })).await;
    assert_eq!(code(&again["data"]["revokeAccessToken"]), "NOT_FOUND");
}

#[tokio::test]
async fn users_see_the_programs_that_use_their_memory() {
    let (issuer, server) = world().await;
    let (anna, boris) = (issuer.token("anna", json!({ "client_id": "notebook" })), issuer.token("boris", json!({})));
    // Nothing is recorded of users who have no data yet.
    let made = create(&server, &anna, json!({})).await;
    let secret = text(&made["secret"]);
    let create_session = "mutation { createSession(input: {}) { session { id } } }";
    graphql(&server, &issuer.token("anna", json!({ "client_id": "kitchen" })), create_session, json!({})).await;
    viewer(&server, &secret).await;
    let list = "{ viewer { frontEnds { name kind firstUsedAt lastUsedAt } } }";
    let listed = graphql(&server, &anna, list, json!({})).await["data"]["viewer"]["frontEnds"].clone();
    let mut names: Vec<(String, String)> = listed.as_array().unwrap().iter().map(|f| (text(&f["name"]), text(&f["kind"]))).collect();
    names.sort();
    assert_eq!(names, [("kitchen".into(), "CLIENT".into()), ("nightly job".into(), "ACCESS_TOKEN".into())], "{listed:#}");
    assert!(listed.as_array().unwrap().iter().all(|f| f["firstUsedAt"] == f["lastUsedAt"]));
    graphql(&server, &boris, create_session, json!({})).await;
    assert_eq!(graphql(&server, &boris, list, json!({})).await["data"]["viewer"]["frontEnds"], json!([]));
}

#[tokio::test]
async fn access_token_cannot_manage_access_tokens() {
    let (issuer, server) = world().await;
    let login = issuer.token("anna", json!({}));
    let made = create(&server, &login, json!({ "scopes": ["recall.write", "recall.read"] })).await;
    let (secret, id) = (text(&made["secret"]), made["accessToken"]["id"].clone());
    let session = graphql(&server, &secret, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
    assert!(session["data"]["createSession"]["session"]["id"].is_string(), "the token cannot write: {session}");
    assert_eq!(code(&create(&server, &secret, json!({})).await), "ACCESS_TOKENS_FORBIDDEN");
    let revoked = graphql(&server, &secret, REVOKE, json!({ "id": id })).await;
    assert_eq!(code(&revoked["data"]["revokeAccessToken"]), "ACCESS_TOKENS_FORBIDDEN");
    let listed = graphql(&server, &secret, LIST, json!({})).await;
    assert_eq!(listed["errors"][0]["extensions"]["code"], "ACCESS_TOKENS_FORBIDDEN");
    // A server without login offers no access tokens.
    let folder = tempfile::tempdir().unwrap();
    let local = crate::server::Server::start(folder.path());
    let answer = local.graphql(CREATE, json!({ "input": { "name": "x", "scopes": ["recall.read"] } })).await;
    assert_eq!(code(&answer["createAccessToken"]), "ACCESS_TOKENS_FORBIDDEN");
}

#[tokio::test]
async fn invalid_access_token_requests_are_refused() {
    let (issuer, server) = world().await;
    let login = issuer.token("anna", json!({}));
    for (change, expected) in [
        (json!({ "name": "  " }), "INVALID_NAME"),
        (json!({ "name": "ä".repeat(101) }), "INVALID_NAME"),
        (json!({ "scopes": [] }), "INVALID_SCOPES"),
        (json!({ "scopes": ["recall.admin"] }), "INVALID_SCOPES"),
        (json!({ "scopes": ["recall.read", "openid"] }), "INVALID_SCOPES"),
        (json!({ "expiresInDays": 0 }), "INVALID_EXPIRY"),
        (json!({ "expiresInDays": 367 }), "INVALID_EXPIRY"),
        (json!({ "expiresInDays": i32::MIN }), "INVALID_EXPIRY"),
    ] {
        let payload = create(&server, &login, change.clone()).await;
        assert_eq!((code(&payload), &payload["secret"]), (expected, &Value::Null), "{change}");
    }
    let writes = issuer.token("anna", json!({ "scope": "recall.write" }));
    assert_eq!(code(&create(&server, &writes, json!({})).await), "INSUFFICIENT_SCOPE", "the token has more scopes than the login");
    for _ in 0..50 {
        assert_eq!(code(&create(&server, &login, json!({})).await), "");
    }
    assert_eq!(code(&create(&server, &login, json!({})).await), "TOO_MANY_ACCESS_TOKENS");
    assert_eq!(code(&create(&server, FIXED_TOKEN, json!({})).await), "", "another user's tokens count");
}

#[tokio::test]
async fn expired_and_invented_access_tokens_are_refused() {
    let (issuer, server) = world().await;
    let secret = text(&create(&server, &issuer.token("anna", json!({})), json!({ "expiresInDays": 1 })).await["secret"]);
    assert!(viewer(&server, &secret).await.is_object());
    let last = if secret.ends_with('0') { "1" } else { "0" };
    for bad in [
        &format!("{}{last}", &secret[..secret.len() - 1]),
        &secret[..secret.len() - 2],
        "recall_pat_",
        &format!("recall_pat_{}", "0".repeat(64)),
    ] {
        assert_eq!(viewer(&server, bad).await, Value::Null, "{bad}");
    }
    issuer.clock.advance(24 * 3600);
    assert_eq!(viewer(&server, &secret).await, Value::Null, "the token did not expire");
}

const AUDIT: &str = "query($all: Boolean!) { auditLog(first: 50, everybody: $all) { nodes { actorId action target } } }";

async fn audited(server: &Server, token: &str, all: bool) -> Vec<(Value, String)> {
    let answer = graphql(server, token, AUDIT, json!({ "all": all })).await;
    let nodes = answer["data"]["auditLog"]["nodes"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    nodes.into_iter().map(|n| (n["actorId"].clone(), text(&n["action"]))).collect()
}

#[tokio::test]
async fn data_deletion_revokes_access_tokens_and_is_audited() {
    let (issuer, server) = world().await;
    let login = issuer.token("anna", json!({}));
    let root = issuer.token("root", json!({ "roles": ["recall-admin"], "scope": "recall.read recall.write recall.admin" }));
    let (anna, admin) = (viewer(&server, &login).await["id"].clone(), viewer(&server, &root).await["id"].clone());
    let secret = text(&create(&server, &login, json!({ "scopes": ["recall.read", "recall.write"] })).await["secret"]);
    let delete = "mutation { deleteMyData(input: { confirm: \"DELETE\" }) { receipt { deleted { kind count } } errors { code } } }";
    let done = graphql(&server, &secret, delete, json!({})).await;
    assert_eq!(
        done["data"]["deleteMyData"]["receipt"]["deleted"],
        json!([{ "kind": "access_tokens", "count": 1 }, { "kind": "front_ends", "count": 1 }]),
        "{done}"
    );
    let gone = server.http.post(server.url("/graphql")).bearer_auth(&secret).json(&json!({ "query": "{ viewer { id } }" }));
    assert_eq!(gone.send().await.unwrap().status(), 401);

    let own = [(anna.clone(), "data.deleted".to_owned()), (anna.clone(), "access_token.created".to_owned())];
    assert_eq!(audited(&server, &login, false).await, own);
    let all = audited(&server, &root, true).await;
    assert_eq!(all[0], (admin.clone(), "admin.read".to_owned()), "reading the audit log is not in it");
    assert!(all.contains(&own[0]) && all.contains(&(admin.clone(), "role.admin".to_owned())), "{all:?}");
    let refused = graphql(&server, &login, AUDIT, json!({ "all": true })).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "INSUFFICIENT_SCOPE");
    // The scope without the role is not enough.
    let scoped = issuer.token("anna", json!({ "scope": "recall.read recall.admin" }));
    let refused = graphql(&server, &scoped, AUDIT, json!({ "all": true })).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN");
}

const USERS: &str = "query($after: String) { users(first: 1, after: $after) { pageInfo { hasNextPage endCursor } nodes {
    id kind lastActiveAt sessions messages facts documents tokens { inputTokens } } } }";

#[tokio::test]
async fn administrators_list_users_with_counts_only() {
    let (issuer, server) = world().await;
    let (anna, boris) = (issuer.token("anna", json!({})), issuer.token("boris", json!({})));
    let root = issuer.token("root", json!({ "roles": ["recall-admin"], "scope": "recall.read recall.write recall.admin" }));
    let session = graphql(&server, &anna, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
    let session = session["data"]["createSession"]["session"]["id"].clone();
    let state = "mutation($s: ID!) { assertFact(input: { sessionId: $s, subject: \"Leo\", relation: \"LIVES_IN\", object: \"Oakwood\" }) { errors { code } } }";
    let stated = graphql(&server, &anna, state, json!({ "s": session })).await;
    assert_eq!(stated["data"]["assertFact"]["errors"], json!([]), "{stated}");
    graphql(&server, &boris, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;

    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = graphql(&server, &root, USERS, json!({ "after": after })).await["data"]["users"].clone();
        found.extend(page["nodes"].as_array().unwrap_or_else(|| panic!("{page}")).clone());
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] != true {
            break;
        }
    }
    let ids: Vec<_> = found.iter().map(|user| text(&user["id"])).collect();
    assert!(ids.is_sorted() && ids.len() == 2, "{found:?}");
    let of = async |token: &str| {
        let id = viewer(&server, token).await["id"].clone();
        found.iter().find(|user| user["id"] == id).cloned().unwrap_or_else(|| panic!("{id} is missing"))
    };
    let (of_anna, of_boris) = (of(&anna).await, of(&boris).await);
    assert_eq!(
        [&of_anna["sessions"], &of_anna["messages"], &of_anna["facts"], &of_anna["documents"]],
        [&json!(1), &json!(1), &json!(1), &json!(0)]
    );
    assert_eq!([&of_boris["sessions"], &of_boris["messages"], &of_boris["facts"]], [&json!(1), &json!(0), &json!(0)]);
    assert!(of_anna["kind"] == "ACCOUNT" && of_anna["lastActiveAt"].is_string() && of_anna["tokens"]["inputTokens"] == 0, "{of_anna}");
    assert!(!Value::from(found).to_string().contains("Oakwood"));

    assert_eq!(audited(&server, &root, false).await[0].1, "admin.read", "reading the users is not in the audit log");
    let refused = graphql(&server, &anna, USERS, json!({})).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "INSUFFICIENT_SCOPE");
    let scoped = issuer.token("anna", json!({ "scope": "recall.read recall.admin" }));
    let refused = graphql(&server, &scoped, USERS, json!({})).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN");
    let lost = graphql(&server, &root, USERS, json!({ "after": "bm90aGluZw" })).await;
    assert_eq!(lost["errors"][0]["extensions"]["code"], "BAD_CURSOR", "{lost}");
}

#[tokio::test]
async fn retention_is_shown_to_the_viewer() {
    let (issuer, server) = world().await;
    let asked = "{ viewer { retention { sessionDays visitHours forgetUndoMinutes auditDays } } }";
    let shown = graphql(&server, &issuer.token("anna", json!({})), asked, json!({})).await;
    let expected = json!({ "sessionDays": null, "visitHours": null, "forgetUndoMinutes": 10, "auditDays": 365 });
    assert_eq!(shown["data"]["viewer"]["retention"], expected, "{shown}");
}

#[tokio::test]
async fn role_change_is_audited_but_not_for_access_tokens() {
    let (issuer, server) = world().await;
    let plain = issuer.token("root", json!({}));
    let admin = issuer.token("root", json!({ "roles": ["recall-admin"], "jti": "2" }));
    let roles = async |token: &str| {
        let all = audited(&server, token, false).await;
        all.into_iter().map(|(_, action)| action).filter(|action| action.starts_with("role.")).collect::<Vec<_>>()
    };
    assert_eq!(roles(&admin).await, ["role.admin"], "the first login with the role is not in the log");
    let secret = text(&create(&server, &admin, json!({})).await["secret"]);
    assert_eq!(roles(&secret).await, ["role.admin"], "the token changed the role");
    assert_eq!(roles(&admin).await, ["role.admin"]);
    assert_eq!(roles(&plain).await, ["role.admin"], "alternating logins fill the log");
}

#[tokio::test]
async fn role_over_websocket_is_audited() {
    let (issuer, server) = world().await;
    let admin = issuer.token("root", json!({ "roles": ["recall-admin"] }));
    let mut socket = streams::open(&server, &[]).await.unwrap();
    streams::send(&mut socket, streams::init(&admin)).await;
    assert_eq!(streams::hear(&mut socket).await["type"], "connection_ack");
    let plain = issuer.token("root", json!({ "jti": "2" }));
    assert_eq!(audited(&server, &plain, false).await.last().unwrap().1, "role.admin");
}
