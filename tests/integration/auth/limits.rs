//! Rate limits of a caller, on the built binary with an administrator's settings.

use std::time::Instant;

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::issuer::{AUDIENCE, Issuer, Key};
use crate::{postgres::Schema, server::Server};

#[tokio::test]
async fn flooding_caller_is_limited_and_others_are_served() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let folder = tempfile::tempdir().unwrap();
    let env = [("RECALL_OIDC_ISSUER", issuer.url.as_str()), ("RECALL_OIDC_AUDIENCE", AUDIENCE), ("RECALL_REQUESTS_PER_MINUTE", "20")];
    let server = Server::start_with(folder.path(), &env);
    let (anna, boris) = (issuer.token("anna", json!({})), issuer.token("boris", json!({})));
    let ask = |token: &str| {
        let body = json!({ "query": "{ viewer { id } }" });
        server.http.post(server.url("/graphql")).bearer_auth(token).json(&body).send()
    };
    let mut refused = None;
    for _ in 0..60 {
        let answer = ask(&anna).await.unwrap();
        if answer.status() == 429 {
            refused = Some(answer);
            break;
        }
        assert_eq!(answer.status(), 200);
    }
    let refused = refused.expect("a flood is not limited");
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "RATE_LIMITED");
    assert_eq!(ask(&boris).await.unwrap().status(), 200, "another caller is limited");
    let rest = server.http.get(server.url("/context/x?q=a")).bearer_auth(&boris).send().await.unwrap();
    assert_eq!(rest.status(), 404, "another caller is limited, or the route is not counted");
}

async fn ask(server: &Server, token: &str, query: &str, variables: Value) -> reqwest::Response {
    let body = json!({ "query": query, "variables": variables });
    server.http.post(server.url("/graphql")).bearer_auth(token).json(&body).send().await.unwrap()
}

/// Returns how often a server could not read a shared limit.
async fn missed(server: &Server, admin: &str) -> f64 {
    let metrics = server.http.get(server.url("/metrics")).bearer_auth(admin).send().await.unwrap();
    let metrics = metrics.error_for_status().unwrap().text().await.unwrap();
    let line = metrics.lines().find_map(|line| line.strip_prefix("recall_shared_limits_missed_total "));
    line.map_or(0.0, |count| count.parse().unwrap())
}

/// Starts two servers with one database and one login.
async fn two_servers(issuer: &Issuer, schema: &Schema, limits: &[(&str, &str)]) -> (tempfile::TempDir, [Server; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let mut env = vec![
        ("RECALL_OIDC_ISSUER", issuer.url.as_str()),
        ("RECALL_OIDC_AUDIENCE", AUDIENCE),
        ("RECALL_DATABASE_URL", &schema.url),
        ("RECALL_DATABASE_REQUIRE_ROW_SECURITY", "true"),
    ];
    env.extend(limits);
    let servers = ["a", "b"].map(|name| Server::start_with(&folder.path().join(name), &env));
    (folder, servers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit_is_shared_between_servers() {
    let Some(schema) = Schema::new().await else { return };
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let (_folder, servers) = two_servers(&issuer, &schema, &[("RECALL_REQUESTS_PER_MINUTE", "60")]).await;
    let (anna, boris) = (issuer.token("anna", json!({})), issuer.token("boris", json!({})));
    let begun = Instant::now();
    let mut served = 0;
    for i in 0..60 {
        let answer = ask(&servers[i % 2], &anna, "{ viewer { id } }", json!({})).await;
        match answer.status().as_u16() {
            200 => served += 1,
            429 => assert!(answer.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1),
            other => panic!("{other}"),
        }
    }
    // The limit is one a second and a burst of six; with separate buckets it would be twelve. Each time that a server did not reach the
    // database in time, it decided alone for a while, with as many requests in its own bucket.
    let admin = issuer.token("root", json!({ "roles": ["recall-admin"], "scope": "recall.read recall.admin" }));
    let alone = missed(&servers[0], &admin).await + missed(&servers[1], &admin).await;
    let most = (1.0 + alone) * (6.0 + begun.elapsed().as_secs_f64());
    assert!((1.0..=most).contains(&f64::from(served)), "{served} served of {most}");
    for server in &servers {
        assert_eq!(ask(server, &boris, "{ viewer { id } }", json!({})).await.status(), 200, "another caller is limited");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daily_message_limit_counts_every_way_to_send() {
    const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { message { id } errors { code } } }";
    const IMPORT: &str = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { messages { id } errors { code } } }";
    let Some(schema) = Schema::new().await else { return };
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let limits = [("RECALL_MESSAGES_PER_MINUTE", "0"), ("RECALL_MESSAGES_PER_DAY", "3")];
    let (_folder, [here, there]) = two_servers(&issuer, &schema, &limits).await;
    let anna = issuer.token("anna", json!({}));
    let made =
        ask(&here, &anna, "mutation { createSession(input: {}) { session { id } } }", json!({})).await.json::<Value>().await.unwrap();
    let session = made["data"]["createSession"]["session"]["id"].as_str().unwrap();
    let input = json!({ "input": { "sessionId": session, "text": "I like tea." } });
    for server in [&here, &there] {
        let sent = ask(server, &anna, SEND, input.clone()).await.json::<Value>().await.unwrap();
        assert!(sent["data"]["sendMessage"]["message"]["id"].is_string(), "{sent}");
    }
    // One message is left, so the import is accepted as a whole and the rest is charged afterwards.
    let several = json!({ "input": { "sessionId": session, "messages": [{ "text": "a" }, { "text": "b" }, { "text": "c" }] } });
    let sent = ask(&here, &anna, IMPORT, several.clone()).await.json::<Value>().await.unwrap();
    assert_eq!(sent["data"]["importMessages"]["messages"].as_array().unwrap().len(), 3, "{sent}");
    for (query, input) in [(SEND, &input), (IMPORT, &several)] {
        let refused = ask(&there, &anna, query, input.clone()).await.json::<Value>().await.unwrap();
        let error = &refused["errors"][0]["extensions"];
        assert_eq!(error["code"], "RATE_LIMITED", "{refused}");
        assert!(error["retryAfterMs"].as_u64().unwrap() > 60_000, "{refused}");
    }
    let chat = json!({ "session_id": session, "message": "hello" });
    let refused = here.http.post(here.url("/chat")).bearer_auth(&anna).json(&chat).send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "RATE_LIMITED");
    // Queries still work.
    assert_eq!(ask(&here, &anna, "{ viewer { id } }", json!({})).await.json::<Value>().await.unwrap()["errors"], Value::Null);
}

#[tokio::test]
async fn event_streams_per_caller_are_limited() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let folder = tempfile::tempdir().unwrap();
    let env = [("RECALL_OIDC_ISSUER", issuer.url.as_str()), ("RECALL_OIDC_AUDIENCE", AUDIENCE), ("RECALL_STREAMS_PER_CALLER", "2")];
    let server = Server::start_with(folder.path(), &env);
    let mut open = Vec::new();
    for who in ["anna", "anna", "boris"] {
        let token = issuer.token(who, json!({}));
        let made = ask(&server, &token, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
        let made = made.json::<Value>().await.unwrap();
        let path = format!("/sessions/{}/events", made["data"]["createSession"]["session"]["id"].as_str().unwrap());
        let stream = server.http.get(server.url(&path)).bearer_auth(&token).send().await.unwrap();
        assert_eq!(stream.status(), 200, "{who}");
        open.push((path, token, stream));
    }
    let (path, token, stream) = open.remove(0);
    let again = || server.http.get(server.url(&path)).bearer_auth(&token).send();
    let refused = again().await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers().contains_key("retry-after")), (429, true));
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "TOO_MANY_STREAMS");
    let all = server.http.get(server.url("/events")).bearer_auth(&token).send().await.unwrap();
    assert_eq!(all.status(), 429, "the stream of all events does not count");
    drop(stream);
    let begun = Instant::now();
    while again().await.unwrap().status() != 200 {
        assert!(begun.elapsed() < crate::server::TIMEOUT, "a closed stream still counts");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn entities_and_facts_per_session_are_limited() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let folder = tempfile::tempdir().unwrap();
    let env = [
        ("RECALL_OIDC_ISSUER", issuer.url.as_str()),
        ("RECALL_OIDC_AUDIENCE", AUDIENCE),
        ("RECALL_ENTITIES_PER_SESSION", "3"),
        ("RECALL_FACTS_PER_SESSION", "2"),
    ];
    let server = Server::start_with(folder.path(), &env);
    let anna = issuer.token("anna", json!({}));
    for _ in 0..2 {
        assert_eq!(known_after_four_messages(&server, &anna).await, (vec!["Mary".to_owned(), "Vera".to_owned()], 3));
    }
}

#[tokio::test]
async fn session_limits_do_not_apply_to_static_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = "a-token-that-only-one-user-of-one-machine-knows";
    let env = [("RECALL_TOKEN", token), ("RECALL_ENTITIES_PER_SESSION", "3"), ("RECALL_FACTS_PER_SESSION", "2")];
    let server = Server::start_with(folder.path(), &env);
    let likes = ["Mary", "Nora", "Vera"].map(str::to_owned).to_vec();
    assert_eq!(known_after_four_messages(&server, token).await, (likes, 4));
}

/// Sends four messages about four entities; returns the objects of John's likes and the number of entities.
async fn known_after_four_messages(server: &Server, token: &str) -> (Vec<String>, usize) {
    let say = "mutation($s: ID!, $t: String!) { sendMessage(input: { sessionId: $s, text: $t }) { errors { code } message { id } } }";
    let made = ask(server, token, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
    let session = made.json::<Value>().await.unwrap()["data"]["createSession"]["session"]["id"].clone();
    for text in ["John likes Mary.", "John likes Vera.", "John likes Nora.", "John likes Mary."] {
        ask(server, token, say, json!({ "s": session, "t": text })).await;
    }
    let query = "query($s: ID!) { session(id: $s) { messages(first: 9) { nodes { status } } }
        entities(first: 50) { nodes { name } } facts(first: 50) { nodes { object { name } } } }";
    let begun = Instant::now();
    let found = loop {
        let found = ask(server, token, query, json!({ "s": session })).await.json::<Value>().await.unwrap()["data"].clone();
        if found["session"]["messages"]["nodes"].as_array().unwrap().iter().all(|m| m["status"] == "PROCESSED") {
            // Read again: the fields of one query are read side by side, and the facts may have been read first.
            break ask(server, token, query, json!({ "s": session })).await.json::<Value>().await.unwrap()["data"].clone();
        }
        assert!(begun.elapsed() < crate::server::TIMEOUT, "{found}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let facts = found["facts"]["nodes"].as_array().unwrap();
    let mut likes: Vec<_> = facts.iter().map(|f| f["object"]["name"].as_str().unwrap().to_owned()).collect();
    likes.sort_unstable();
    (likes, found["entities"]["nodes"].as_array().unwrap().len())
}
