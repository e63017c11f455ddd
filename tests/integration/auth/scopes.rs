//! The scopes of tokens, on every interface.

use std::collections::BTreeSet;

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::issuer::{FIXED_TOKEN, Issuer, Key, server};
use crate::api::harness::{Server, text};

async fn graphql(server: &Server, token: &str, query: &str, variables: Value) -> Value {
    let request = server.http.post(server.url("/graphql")).bearer_auth(token);
    request.json(&json!({ "query": query, "variables": variables })).send().await.unwrap().json().await.unwrap()
}

fn codes(response: &Value) -> BTreeSet<String> {
    let errors = response["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().map(|e| text(&e["extensions"]["code"])).collect()
}

fn denied(response: &Value) -> bool {
    codes(response) == BTreeSet::from(["INSUFFICIENT_SCOPE".to_owned()])
}

async fn world() -> (std::sync::Arc<Issuer>, Server) {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = server(&[&issuer]).await;
    (issuer, server)
}

const SEND: &str = "mutation($s: ID!) { sendMessage(input: { sessionId: $s, text: \"John likes Mary.\" }) {
    status message { id status } errors { code } } }";

#[tokio::test]
async fn read_and_write_scopes_are_separate() {
    let (issuer, server) = world().await;
    let token = |scope: &str| issuer.token("anna", json!({ "scope": scope }));
    let (read, write) = (token("openid recall.read"), token("recall.write"));
    let created = graphql(&server, &write, "mutation { createSession(input: {}) { session { id } errors { code } } }", json!({})).await;
    let session = text(&created["data"]["createSession"]["session"]["id"]);

    let sent = graphql(&server, &write, SEND, json!({ "s": session })).await;
    assert_eq!(codes(&sent), BTreeSet::new(), "{sent}");
    assert!(denied(&graphql(&server, &read, SEND, json!({ "s": session })).await));
    let query = "query($s: ID!) { session(id: $s) { messages { nodes { text } } } }";
    let seen = graphql(&server, &read, query, json!({ "s": session })).await;
    assert_eq!(seen["data"]["session"]["messages"]["nodes"][0]["text"], "John likes Mary.");
    let hidden = graphql(&server, &write, query, json!({ "s": session })).await;
    assert!(denied(&hidden) && hidden["data"]["session"].is_null(), "{hidden}");

    // A mutation's result does not bypass the read scope.
    for field in ["text", "session { id title }", "facts { id }", "entities { name }", "answer { id }", "createdAt"] {
        let query = SEND.replace("message { id status }", &format!("message {{ {field} }}"));
        let answer = graphql(&server, &write, &query, json!({ "s": session })).await;
        assert!(denied(&answer) && !answer.to_string().contains("John"), "{field}: {answer}");
    }
}

#[tokio::test]
async fn every_root_field_requires_a_scope() {
    let (issuer, server) = world().await;
    let nothing = issuer.token("anna", json!({ "scope": "openid profile" }));
    let introspection = "{ __schema { queryType { fields { name args { name type { kind ofType { name kind } } } type { kind ofType { kind ofType { kind } } } } }
        mutationType { fields { name } } } }";
    let schema = graphql(&server, FIXED_TOKEN, introspection, json!({})).await["data"]["__schema"].clone();
    let id = uuid::Uuid::from_u128(7).to_string();
    let queries = [
        ("viewer", "viewer { id }"),
        ("accessTokens", "accessTokens { id }"),
        ("auditLog", "auditLog { nodes { id } }"),
        ("users", "users { nodes { id } }"),
        ("session", "session(id: $id) { id }"),
        ("sessions", "sessions { totalCount }"),
        ("message", "message(id: $id) { id }"),
        ("context", "context(input: { query: \"x\" }) { methodsUsed }"),
        ("resolveEntity", "resolveEntity(input: { mention: \"x\" }) { confidence }"),
        ("entity", "entity(id: $id) { id }"),
        ("entities", "entities { totalCount }"),
        ("fact", "fact(id: $id) { id }"),
        ("facts", "facts { totalCount }"),
        ("document", "document(id: $id) { id }"),
        ("documents", "documents { totalCount }"),
        ("comparison", "comparison(id: $id) { id }"),
        ("comparisons", "comparisons { totalCount }"),
        ("messagesLinkingTo", "messagesLinkingTo(uri: \"https://example.org\") { totalCount }"),
        ("topic", "topic(id: $id) { id }"),
        ("topics", "topics { totalCount }"),
        ("node", "node(id: $id) { id }"),
        ("relations", "relations { name }"),
        ("paths", "paths(fromId: $id, toId: $id) { entities { id } }"),
        ("commonNeighbours", "commonNeighbours(oneId: $id, otherId: $id) { entity { id } }"),
    ];
    let mutations = [
        ("createSession", "createSession(input: {})"),
        ("deleteSession", "deleteSession(input: { id: $id })"),
        ("deleteMyData", "deleteMyData(input: { confirm: \"DELETE\" })"),
        ("updateSession", "updateSession(input: { sessionId: $id, title: \"x\" })"),
        ("forget", "forget(input: { query: \"x\" })"),
        ("undoForget", "undoForget(input: { token: $id })"),
        ("addDocument", "addDocument(input: { text: \"x\" })"),
        ("markDocumentViewed", "markDocumentViewed(input: { documentId: $id })"),
        ("deleteDocument", "deleteDocument(input: { id: $id })"),
        ("compareDocuments", "compareDocuments(input: { documentIds: [$id] })"),
        ("deleteComparison", "deleteComparison(input: { id: $id })"),
        ("deleteMessage", "deleteMessage(input: { messageId: $id })"),
        (
            "sendMessage",
            "sendMessage(input: { sessionId: $id, text: \"x\", sources: [DOCUMENTS], collections: [\"a\"], documentIds: [$id] })",
        ),
        ("importMessages", "importMessages(input: { sessionId: $id, messages: [] })"),
        ("cancelAnswer", "cancelAnswer(input: { messageId: $id })"),
        ("assertFact", "assertFact(input: { sessionId: $id, subject: \"a\", relation: \"LIKES\", object: \"b\" })"),
        ("retractFact", "retractFact(input: { id: $id })"),
        ("restoreFact", "restoreFact(input: { id: $id })"),
        ("renameEntity", "renameEntity(input: { id: $id, name: \"x\" })"),
        ("retypeEntity", "retypeEntity(input: { id: $id, type: PLACE })"),
        ("updateViewer", "updateViewer(input: { paused: true })"),
        ("mergeEntities", "mergeEntities(input: { intoId: $id, fromId: $id })"),
        ("unmergeEntities", "unmergeEntities(input: { entityId: $id })"),
        ("createAccessToken", "createAccessToken(input: { name: \"x\", scopes: [] })"),
        ("revokeToken", "revokeToken(input: { issuer: \"x\", tokenId: \"x\" })"),
        ("revokeAccessToken", "revokeAccessToken(input: { id: $id })"),
        ("openEventStream", "openEventStream(input: { sessionId: $id, offer: \"x\" })"),
    ];
    let names = |kind: &str| schema[kind]["fields"].as_array().unwrap().iter().map(|f| text(&f["name"])).collect::<BTreeSet<_>>();
    assert_eq!(names("queryType"), queries.iter().map(|q| q.0.to_owned()).collect(), "a new query needs a case here");
    assert_eq!(names("mutationType"), mutations.iter().map(|m| m.0.to_owned()).collect(), "a new mutation needs a case here");
    for (name, field) in queries {
        let head = if field.contains("$id") { "query($id: ID!)" } else { "query" };
        let answer = graphql(&server, &nothing, &format!("{head} {{ {field} }}"), json!({ "id": id })).await;
        assert!(denied(&answer) && answer["data"].get(name).is_none_or(Value::is_null), "{name}: {answer}");
    }
    for (name, field) in mutations {
        let head = if field.contains("$id") { "mutation($id: ID!)" } else { "mutation" };
        let answer = graphql(&server, &nothing, &format!("{head} {{ {field} {{ errors {{ code }} }} }}"), json!({ "id": id })).await;
        assert!(denied(&answer), "{name}: {answer}");
    }
}

#[tokio::test]
async fn rest_signaling_and_metrics_require_scopes() {
    let (issuer, server) = world().await;
    let token = |scope: &str| issuer.token("anna", json!({ "scope": scope }));
    let (read, write, admin) = (token("recall.read"), token("recall.write"), token("recall.admin"));
    let get = |token: &str, path: &str| server.http.get(server.url(path)).bearer_auth(token).send();
    let post = |token: &str, path: &str, body: Value| server.http.post(server.url(path)).bearer_auth(token).json(&body).send();
    let delete = |token: &str, path: &str| server.http.delete(server.url(path)).bearer_auth(token).send();
    let id = uuid::Uuid::from_u128(7);
    for (answer, scope) in [
        (post(&read, "/chat", json!({ "message": "Hi" })).await.unwrap(), "recall.write"),
        (post(&write, "/entity/resolve", json!({ "mention": "x" })).await.unwrap(), "recall.read"),
        (get(&write, &format!("/context/{id}?q=x")).await.unwrap(), "recall.read"),
        (get(&write, "/sessions").await.unwrap(), "recall.read"),
        (get(&write, &format!("/sessions/{id}/messages")).await.unwrap(), "recall.read"),
        (get(&write, "/facts").await.unwrap(), "recall.read"),
        (get(&write, "/entities").await.unwrap(), "recall.read"),
        (get(&write, "/documents").await.unwrap(), "recall.read"),
        (get(&write, &format!("/documents/{id}")).await.unwrap(), "recall.read"),
        (get(&write, &format!("/documents/{id}/original")).await.unwrap(), "recall.read"),
        (get(&write, &format!("/documents/{id}/chunks")).await.unwrap(), "recall.read"),
        (post(&read, "/documents", json!({})).await.unwrap(), "recall.write"),
        (delete(&read, &format!("/documents/{id}")).await.unwrap(), "recall.write"),
        (delete(&read, &format!("/documents/{id}/original")).await.unwrap(), "recall.write"),
        (get(&write, "/export").await.unwrap(), "recall.read"),
        (get(&write, &format!("/sessions/{id}/events")).await.unwrap(), "recall.read"),
        (get(&write, "/events").await.unwrap(), "recall.read"),
        (post(&write, &format!("/signaling/{id}"), json!({})).await.unwrap(), "recall.read"),
        (get(&read, "/metrics").await.unwrap(), "recall.admin"),
    ] {
        assert_eq!(answer.status(), 403, "{}", answer.url());
        let challenge = answer.headers()["www-authenticate"].to_str().unwrap().to_owned();
        assert!(
            challenge.starts_with(&format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", resource_metadata=")),
            "{challenge}"
        );
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "INSUFFICIENT_SCOPE");
    }
    assert_eq!(post(&write, "/chat", json!({ "message": "Hi" })).await.unwrap().status(), 202);
    // A caller who may not read gets no answer, whatever it prefers.
    let waiting = server.http.post(server.url("/chat")).bearer_auth(&write).header("prefer", "wait=60");
    let waiting = waiting.json(&json!({ "message": "Who are you?" })).send().await.unwrap();
    assert_eq!((waiting.status().as_u16(), waiting.headers().get("preference-applied")), (202, None));
    assert_eq!(post(&read, "/entity/resolve", json!({ "mention": "x" })).await.unwrap().status(), 200);
    let forbidden = get(&admin, "/metrics").await.unwrap();
    assert_eq!((forbidden.status().as_u16(), forbidden.json::<Value>().await.unwrap()["code"].clone()), (403, json!("FORBIDDEN")));
    let administrator = issuer.token("root", json!({ "scope": "recall.admin", "roles": ["recall-admin"] }));
    for (token, status) in [(administrator.as_str(), 200), (FIXED_TOKEN, 200), ("x", 401)] {
        assert_eq!(get(token, "/metrics").await.unwrap().status(), status);
    }
    assert_eq!(server.http.get(server.url("/metrics")).send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn shared_memory_requires_admin_scope_and_role() {
    let (issuer, server) = world().await;
    let token =
        |who: &str, scope: &str| issuer.token(who, json!({ "scope": scope, "roles": [if who == "root" { "recall-admin" } else { "" }] }));
    let create = "mutation { createSession(input: { shared: true }) { session { id } errors { code } } }";
    let code = |answer: &Value| answer["data"].as_object().unwrap().values().next().unwrap()["errors"][0]["code"].clone();
    let root = token("root", "recall.read recall.write recall.admin");
    let made = graphql(&server, &root, create, json!({})).await;
    let session = text(&made["data"]["createSession"]["session"]["id"]);
    let personal = "mutation { createAccessToken(input: { name: \"script\", scopes: [\"recall.read\", \"recall.write\"] }) { secret } }";
    let personal = text(&graphql(&server, &root, personal, json!({})).await["data"]["createAccessToken"]["secret"]);
    for (token, refused) in [
        (&token("root", "recall.read recall.write"), "INSUFFICIENT_SCOPE"),
        (&token("anna", "recall.read recall.write recall.admin"), "FORBIDDEN"),
        (&token("anna", "recall.read recall.write"), "FORBIDDEN"),
        (&personal, "FORBIDDEN"),
    ] {
        assert_eq!(code(&graphql(&server, token, create, json!({})).await), refused);
        assert_eq!(code(&graphql(&server, token, SEND, json!({ "s": session })).await), refused);
        let seen = graphql(&server, token, "query($s: ID!) { session(id: $s) { shared } }", json!({ "s": session })).await;
        assert_eq!(seen["data"]["session"]["shared"], true, "an authenticated user cannot read it");
    }
    assert_eq!(code(&graphql(&server, &root, SEND, json!({ "s": session })).await), Value::Null);
}

#[tokio::test]
async fn mcp_tools_require_scopes() {
    use crate::mcp::{refusal, request};
    let (issuer, server) = world().await;
    let _work = server.work();
    let token = |scope: &str| issuer.token("anna", json!({ "scope": scope }));
    let (read, write, nothing) = (token("recall.read"), token("recall.write"), token("openid"));
    let call = async |token: &str, name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        let sent = request(server.http.post(server.url("/mcp")).bearer_auth(token), "tools/call", params).send().await.unwrap();
        sent.json::<Value>().await.unwrap()["result"].clone()
    };
    let remember = json!({ "text": "John likes Mary." });
    for token in [&read, &nothing] {
        assert_eq!(refusal(&call(token, "remember", remember.clone()).await), "INSUFFICIENT_SCOPE");
    }
    let stored = call(&write, "remember", remember).await;
    assert_eq!((&stored["isError"], &stored["structuredContent"]["facts"]), (&json!(false), &json!([])), "facts need the scope to read");
    let tools = ["recall", "query_graph", "how_do_you_know", "forget", "list_entities", "timeline"];
    for (name, arguments) in
        tools.into_iter().zip([json!({ "query": "x" }), json!({ "query": "x" }), json!({ "question": "x" })].iter().cycle())
    {
        for token in [&write, &nothing] {
            assert_eq!(refusal(&call(token, name, arguments.clone()).await), "INSUFFICIENT_SCOPE", "{name}");
        }
    }
    assert_eq!(refusal(&call(&read, "forget", json!({ "query": "John" })).await), "INSUFFICIENT_SCOPE");
    assert_eq!(call(&read, "recall", json!({ "query": "John" })).await["isError"], false);
    for method in ["resources/list", "prompts/get"] {
        let params = json!({ "name": "what_do_you_know", "arguments": { "about": "John" } });
        let sent = request(server.http.post(server.url("/mcp")).bearer_auth(&write), method, params).send().await.unwrap();
        assert_eq!(sent.json::<Value>().await.unwrap()["error"]["data"]["code"], "INSUFFICIENT_SCOPE", "{method}");
    }
}

#[tokio::test]
async fn mcp_refusal_names_metadata_of_endpoint() {
    let (_issuer, server) = world().await;
    let refused = crate::mcp::request(server.http.post(server.url("/mcp")), "tools/list", json!({})).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap();
    assert!(challenge.contains("resource_metadata=\"https://recall.example.org/.well-known/oauth-protected-resource/mcp\""), "{challenge}");
    let metadata = async |path: &str| server.http.get(server.url(path)).send().await.unwrap().json::<Value>().await.unwrap();
    let [of_server, of_endpoint] =
        [metadata("/.well-known/oauth-protected-resource").await, metadata("/.well-known/oauth-protected-resource/mcp").await];
    assert_eq!(
        (&of_server["resource"], &of_endpoint["resource"]),
        (&json!("https://recall.example.org"), &json!("https://recall.example.org/mcp"))
    );
    assert_eq!(of_server["authorization_servers"], of_endpoint["authorization_servers"]);
    assert_eq!(of_endpoint["scopes_supported"], json!(["recall.read", "recall.write"]), "agents ask for all of them");
}
