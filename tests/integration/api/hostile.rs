//! Bad input gets an error with a stable code, and the server keeps running without data loss.

use serde_json::{Value, json};

use recall_api::{Limits, RateLimit};

use super::{
    harness::{ANNA, BORIS, Server, text},
    streams::OFFER,
};

const VIEWER: &str = "{ viewer { id } }";

async fn problem(request: reqwest::RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    (status, problem["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn invalid_texts_are_refused_with_code() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    for (words, code) in [
        (String::new(), "TEXT_EMPTY"),
        (" \n\t ".to_owned(), "TEXT_EMPTY"),
        ("x".repeat(64 * 1024 + 1), "TEXT_TOO_LONG"),
        ("a\u{0}b".to_owned(), "TEXT_CONTROL_CHARACTERS"),
        ("\u{1b}[31m".to_owned(), "TEXT_CONTROL_CHARACTERS"),
    ] {
        let payload = server.send(ANNA, json!({ "sessionId": session, "text": words })).await;
        assert_eq!(payload["message"], Value::Null);
        assert_eq!(payload["status"], Value::Null);
        assert_eq!(payload["errors"][0]["code"], code);
        assert_eq!(payload["errors"][0]["path"], json!(["input", "text"]));
    }
    let longest = server.send(ANNA, json!({ "sessionId": session, "text": "x".repeat(64 * 1024) })).await;
    assert_eq!(longest["errors"], json!([]));
    let data = server.data(ANNA, "query($id: ID!) { session(id: $id) { messages { totalCount } } }", json!({ "id": session })).await;
    assert_eq!(data["session"]["messages"]["totalCount"], 1);
}

#[tokio::test]
async fn client_that_still_sends_gets_the_refusal() {
    let server = Server::start().await;
    for path in ["/documents", "/graphql"] {
        for _ in 0..5 {
            let body = vec![b'x'; 8 * 1024 * 1024];
            let request = server.http.post(server.url(path)).header("content-type", "multipart/form-data; boundary=b").body(body);
            // Without a user for `/documents`, and with a wrong type for `/graphql`: neither handler reads the body.
            assert!(request.send().await.unwrap().status().is_client_error(), "{path}");
        }
    }
}

#[tokio::test]
async fn unreadable_bodies_are_refused() {
    let server = Server::start().await;
    let post = |body: Vec<u8>| server.post(ANNA, "/graphql").header("content-type", "application/json").body(body);
    let megabyte = json!({ "query": VIEWER, "variables": { "text": "x".repeat(1024 * 1024) } }).to_string();
    assert_eq!(problem(post(megabyte.into_bytes())).await, (413, "BODY_TOO_LARGE".to_owned()));
    for bad in [
        &b""[..],
        b"{",
        b"[]",
        b"null",
        b"{\"query\":\"\xff\xfe\"}",
        b"{\"query\":\"\\ud800\"}",
        b"{\"query\":7}",
        b"[{\"query\":\"{x}\"}]",
        b"[\"{viewer{id}}\"]",
    ] {
        assert_eq!(problem(post(bad.to_vec())).await, (400, "BAD_JSON".to_owned()), "{:?}", String::from_utf8_lossy(bad));
    }
    let deep = format!("{{\"query\":\"{{a}}\",\"variables\":{}1{}}}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    assert_eq!(problem(post(deep.into_bytes())).await, (400, "BAD_JSON".to_owned()));
    server.data(ANNA, VIEWER, json!({})).await;
}

#[tokio::test]
async fn too_deep_or_too_complex_queries_are_refused() {
    let server = Server::start().await;
    let code = async |query: String| server.code(ANNA, &query, json!({})).await;
    assert_eq!(code(format!("{}{}", "{a".repeat(10_000), "}".repeat(10_000))).await, "QUERY_TOO_DEEP");
    let aliases: String = (0..10_000).map(|n| format!("a{n}:viewer{{id}} ")).collect();
    assert_eq!(code(format!("{{{aliases}}}")).await, "QUERY_TOO_LARGE");
    let directives = "@include(if:true) ".repeat(100);
    assert!(["GRAPHQL_VALIDATION_FAILED", "QUERY_TOO_LARGE"].contains(&code(format!("{{ viewer {directives} {{ id }} }}")).await.as_str()));
    let nested = "answerTo{".repeat(16);
    assert_eq!(code(format!("{{message(id:\"{}\"){{{nested} id {}}}}}", uuid::Uuid::nil(), "}".repeat(16))).await, "QUERY_TOO_DEEP");
    let product = "{ sessions(first: 100) { nodes { messages(first: 100) { nodes { facts { id } } } } } }";
    assert_eq!(code(product.to_owned()).await, "QUERY_TOO_COMPLEX");
    let laughs: String = (0..25).map(|n| format!("fragment F{n} on Viewer {{ ...F{} ...F{} }} ", n + 1, n + 1)).collect();
    assert_eq!(code(format!("{{ viewer {{ ...F0 }} }} {laughs} fragment F25 on Viewer {{ id }}")).await, "QUERY_TOO_LARGE");
    for cycle in ["...A } } fragment A on Viewer { ...A }", "...A } } fragment A on Viewer { ...B } fragment B on Viewer { id ...A }"] {
        assert_eq!(code(format!("{{ viewer {{ {cycle}")).await, "GRAPHQL_VALIDATION_FAILED", "{cycle}");
    }
    let same: String =
        (0..60).map(|n| format!("a{n}: sessions(first: 100) {{ nodes {{ messages(first: 100) {{ totalCount }} }} }} ")).collect();
    assert_eq!(code(format!("{{ {same} }}")).await, "QUERY_TOO_COMPLEX", "aliases of one field");
    let schema = format!("{{ __schema {{ types {{ {} name {} }} }} }}", "fields { type { ".repeat(20), "} }".repeat(20));
    assert_eq!(code(schema).await, "QUERY_TOO_DEEP");
    let variables: String = (0..5_000).map(|n| format!("$v{n}: Int ")).collect();
    assert_eq!(code(format!("query({variables}) {{ viewer {{ id }} }}")).await, "QUERY_TOO_LARGE");
    let list = format!("{{ sessions(first: {}1{}) {{ totalCount }} }}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(["QUERY_TOO_DEEP", "QUERY_TOO_LARGE", "GRAPHQL_PARSE_FAILED"].contains(&code(list).await.as_str()));
    server.data(ANNA, VIEWER, json!({})).await;
}

#[tokio::test]
async fn every_graphql_error_has_a_code() {
    let server = Server::start().await;
    let nowhere = uuid::Uuid::nil().to_string();
    for (query, code) in [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("", "QUERY_REQUIRED"),
        ("{ a(x: \"\\uD800\") }", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("query($x: Int!) { sessions(first: $x) { totalCount } }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { sessionEvents(sessionId: \"x\") { seq } }", "SUBSCRIPTION_NEEDS_WEBSOCKET"),
        ("{ session(id: \"not-an-id\") { id } }", "INVALID_ID"),
        ("{ fact(id: \"\") { id } }", "INVALID_ID"),
        ("{ sessions(first: 0) { totalCount } }", "INVALID_PAGE_SIZE"),
        ("{ sessions(first: 101) { totalCount } }", "INVALID_PAGE_SIZE"),
        ("{ sessions(after: \"zzz\") { totalCount edges { cursor } } }", "BAD_CURSOR"),
        ("{ facts(filter: { minBelief: 2 }) { totalCount } }", "INVALID_BELIEF"),
        ("{ facts(filter: { subjectId: \"x\" }) { totalCount } }", "INVALID_ID"),
        ("{ context(input: { query: \"\" }) { methodsUsed } }", "QUERY_EMPTY"),
        ("{ context(input: { query: \"a\", scope: SESSION }) { methodsUsed } }", "SESSION_REQUIRED"),
        ("{ context(input: { query: \"a\", first: 0 }) { methodsUsed } }", "INVALID_PAGE_SIZE"),
    ] {
        assert_eq!(server.code(ANNA, query, json!({})).await, code, "{query}");
    }
    let unknown = server
        .data(
            ANNA,
            "query($id: ID!) { session(id: $id) { id } message(id: $id) { id } entity(id: $id) { id } fact(id: $id) { id } }",
            json!({ "id": nowhere }),
        )
        .await;
    assert_eq!(unknown, json!({ "session": null, "message": null, "entity": null, "fact": null }));
    let payload = server.send(ANNA, json!({ "sessionId": nowhere, "text": "Hello" })).await;
    assert_eq!(payload["errors"][0]["code"], "NOT_FOUND");
    let payload = server.send(ANNA, json!({ "sessionId": "7", "text": "Hello" })).await;
    assert_eq!(
        payload["errors"][0],
        json!({ "code": "INVALID_ID", "message": "An id is a UUID, as this server returned it.", "path": ["input", "sessionId"] })
    );
}

#[tokio::test]
async fn message_with_known_client_id_is_stored_once() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let input = json!({ "sessionId": session, "text": "Once.", "clientMessageId": "c-1" });
    let first = server.send(ANNA, input.clone()).await;
    let again = server.send(ANNA, json!({ "sessionId": session, "text": "Something else.", "clientMessageId": "c-1" })).await;
    assert_eq!(first["status"], "PROCESSING");
    assert_eq!(again["message"], first["message"]);
    let import = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { messages { id text } errors { code } } }";
    let messages = json!([{ "text": "New." }, { "text": "Ignored.", "externalId": "c-1" }, { "text": "New too.", "role": "ASSISTANT" }]);
    let data = server.data(ANNA, import, json!({ "input": { "sessionId": session, "messages": messages } })).await;
    let texts: Vec<_> = data["importMessages"]["messages"].as_array().unwrap().iter().map(|m| text(&m["text"])).collect();
    assert_eq!(texts, ["New.", "Once.", "New too."]);
    let too_many: Vec<_> = (0..501).map(|_| json!({ "text": "x" })).collect();
    let data = server.data(ANNA, import, json!({ "input": { "sessionId": session, "messages": too_many } })).await;
    assert_eq!(data["importMessages"], json!({ "messages": [], "errors": [{ "code": "IMPORT_SIZE" }] }));
}

/// A bucket that does not refill while a test runs.
fn limits_with_burst(burst: u32) -> Limits {
    Limits { requests: Some(RateLimit { per_second: 1e-3, burst }), ..Limits::default() }
}

#[tokio::test]
async fn expensive_query_counts_as_several_requests() {
    let server = Server::start_within(limits_with_burst(20)).await;
    let much = "{ sessions(first: 100) { nodes { messages(first: 50) { nodes { id text } } } } }";
    let answer = server.graphql(ANNA, much, json!({})).await;
    let cost = answer["extensions"]["cost"]["requested"].as_u64().unwrap();
    assert!(cost > 8_000, "{answer}");
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(server.graphql(ANNA, much, json!({})).await);
    }
    let limited = answers.iter().find(|a| a["code"] == "RATE_LIMITED" || a["errors"][0]["extensions"]["code"] == "RATE_LIMITED");
    assert!(limited.is_some(), "{answers:?}");
    for _ in 0..20 {
        server.data(BORIS, VIEWER, json!({})).await;
    }
}

#[tokio::test]
async fn flood_of_offers_is_rate_limited() {
    let server = Server::start_within(limits_with_burst(40)).await;
    let session = server.session(ANNA).await;
    let path = format!("/signaling/{session}");
    let offer = |sdp: &'static str| server.post(ANNA, &path).header("content-type", "application/sdp").body(sdp);
    let mut seen = Vec::new();
    for sdp in [OFFER, "nonsense", OFFER, OFFER, "nonsense", OFFER, OFFER] {
        seen.push(problem_status(offer(sdp)).await);
    }
    assert_eq!(seen[..2], [201, 400]);
    assert!(seen.iter().filter(|status| **status == 201).count() <= 3 && seen[6] == 429, "{seen:?}");
    let others = server.session(BORIS).await;
    let theirs = server.post(BORIS, &format!("/signaling/{others}")).header("content-type", "application/sdp").body(OFFER);
    assert_eq!(theirs.send().await.unwrap().status(), 201, "other users are limited");
}

async fn problem_status(request: reqwest::RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}
