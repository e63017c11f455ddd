//! Small requests with a high cost are refused over every transport, and other clients are served.

use serde_json::{Value, json};

use super::{
    harness::{ANNA, BORIS, Server},
    streams::{connect, hear, say},
};

const VIEWER: &str = "{ viewer { id } }";

fn many(one: &str, count: usize) -> String {
    (0..count).map(|n| one.replace('#', &n.to_string())).collect()
}

fn error(response: &Value) -> (&str, &str) {
    let error = &response["errors"][0];
    (error["extensions"]["code"].as_str().unwrap_or_default(), error["message"].as_str().unwrap_or_default())
}

/// Expensive documents with their variables, error code and part of the message.
fn shapes() -> Vec<(&'static str, String, Value, &'static str, &'static str)> {
    let laughs: String = (0..27).map(|n| format!("fragment F{n} on Viewer {{ ...F{0} ...F{0} }} ", n + 1)).collect();
    let uses: String = many("$v# ", 600);
    vec![
        (
            "fragments that spread the next one twice",
            format!("{{ viewer {{ ...F0 }} }} {laughs} fragment F27 on Viewer {{ ...Unknown }}"),
            json!({}),
            "QUERY_TOO_LARGE",
            "once fragments are spread; the limit is 3000",
        ),
        (
            "lists of rivals within each other",
            format!("{{ fact(id: \"{ANNA}\") {{ {} id {} }} }}", "rivals { ".repeat(5), "} ".repeat(5)),
            json!({}),
            "QUERY_TOO_COMPLEX",
            "the limit is 50000",
        ),
        (
            "lists of a message within each other",
            format!(
                "{{ message(id: \"{ANNA}\") {{ facts(first: 100) {{ rivals(first: 100) {{ evidence(first: 100) {{ nodes {{ confidence }} }} }} }} }} }}"
            ),
            json!({}),
            "QUERY_TOO_COMPLEX",
            "the limit is 50000",
        ),
        (
            "one variable at many places",
            format!("query($x: [ID!]) {{ entity(id: [{}]) {{ id }} }}", "$x ".repeat(3_000)),
            json!({ "x": vec!["0"; 20_000] }),
            "QUERY_TOO_LARGE",
            "bytes of arguments once variables are put in; the limit is 8388608",
        ),
        (
            "a large variable on a nested field",
            "query($x: String) { sessions(first: 100) { nodes { messages(after: $x) { totalCount } } } }".to_owned(),
            json!({ "x": "x".repeat(100_000) }),
            "QUERY_TOO_LARGE",
            "bytes of arguments on a nested field; the limit is 4096",
        ),
        (
            "operations by undefined variables",
            format!(
                "{} fragment F on Query {{ facts(filter: {{ text: [{uses}] }}) {{ totalCount }} }}",
                many("query Q#($a: Int $b: Int) { ...F } ", 49)
            ),
            json!({}),
            "QUERY_TOO_LARGE",
            "steps of validation; the limit is 50000",
        ),
        (
            "operations without end",
            many("query Q# { viewer { id } } ", 600),
            json!({}),
            "QUERY_TOO_LARGE",
            "600 operations; the limit is 50",
        ),
        (
            "counted lists under many names",
            format!("{{ {} }}", many("a#: facts(first: 1) { totalCount } ", 1_300)),
            json!({}),
            "QUERY_TOO_COMPLEX",
            "the limit is 50000",
        ),
        (
            "names resolved under many names",
            format!("{{ {} }}", many("a#: resolveEntity(input: { mention: \"Anna\" }) { confidence } ", 700)),
            json!({}),
            "QUERY_TOO_COMPLEX",
            "the limit is 50000",
        ),
        (
            "searches under many names",
            format!("{{ {} }}", many("a#: context(input: { query: \"Anna\" }) { methodsUsed } ", 300)),
            json!({}),
            "QUERY_TOO_COMPLEX",
            "the limit is 50000",
        ),
        (
            "changes under many names",
            format!("mutation {{ {} }}", many("a#: createSession(input: {}) { session { id } } ", 500)),
            json!({}),
            "QUERY_TOO_COMPLEX",
            "the limit is 50000",
        ),
        ("a name of 200 kB", format!("{{ {} }}", "n".repeat(200_000)), json!({}), "QUERY_TOO_LARGE", "200000 bytes in one name or number"),
    ]
}

#[tokio::test]
async fn expensive_documents_are_refused_over_every_transport() {
    let server = Server::start().await;
    for (name, query, variables, code, figure) in shapes() {
        let posted = server.graphql(ANNA, &query, variables.clone()).await;
        let (got, message) = error(&posted);
        assert!(got == code && message.contains(figure), "{name}: {posted}");
        assert!(posted.to_string().len() < 2_000, "{name}: the answer is long");

        let mut socket = connect(&server, ANNA).await;
        say(&mut socket, json!({ "id": "1", "type": "subscribe", "payload": { "query": query, "variables": variables } })).await;
        let heard = hear(&mut socket).await;
        let errors = if heard["type"] == "error" { json!({ "errors": heard["payload"] }) } else { heard["payload"].clone() };
        assert_eq!(error(&errors).0, code, "{name}, over WebSocket: {heard}");

        if query.len() < 8_000 && variables == json!({}) && !query.starts_with("mutation") {
            let got: Value = server.get(ANNA, "/graphql").query(&[("query", &query)]).send().await.unwrap().json().await.unwrap();
            assert_eq!(error(&got).0, code, "{name}, by GET: {got}");
        }
    }
    server.data(BORIS, VIEWER, json!({})).await;
}

#[tokio::test]
async fn oversized_operation_name_is_refused() {
    let server = Server::start().await;
    let body = json!({ "query": VIEWER, "operationName": "x".repeat(500_000) });
    let answer: Value = server.post(ANNA, "/graphql").json(&body).send().await.unwrap().json().await.unwrap();
    assert_eq!(error(&answer).0, "QUERY_TOO_LARGE");
}

#[tokio::test]
async fn error_count_and_length_are_bounded() {
    let server = Server::start().await;
    let unknown = server.graphql(ANNA, &format!("{{ {} }}", many("unknown# ", 2_500)), json!({})).await;
    assert_eq!(unknown["errors"].as_array().unwrap().len(), 21);
    assert_eq!(unknown["errors"][20]["extensions"]["code"], "MORE_ERRORS");
    let failed = server.graphql(ANNA, &format!("{{ {} }}", many("a#: fact(id: \"x\") { id } ", 400)), json!({})).await;
    assert_eq!(failed["errors"].as_array().unwrap().len(), 21);
    let long = server
        .graphql(ANNA, "query($s: EntityType) { entities(filter: { type: $s }) { totalCount } }", json!({ "s": "x".repeat(500_000) }))
        .await;
    assert!(long.to_string().len() < 1_500, "the answer repeats the whole input");
}

#[tokio::test]
async fn oversized_answer_ends_operation() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    for _ in 0..40 {
        server.say(ANNA, &session, &"long words ".repeat(5_900)).await;
    }
    let page = "query($id: ID!, $n: Int!) { session(id: $id) { messages(first: $n) { nodes { text } } } }";
    let whole = server.graphql(ANNA, page, json!({ "id": session, "n": 40 })).await;
    assert_eq!(error(&whole).0, "RESPONSE_TOO_LARGE");
    assert!(whole.to_string().len() < 1_000 && whole.get("data").is_none_or(Value::is_null), "part of the answer is sent");
    assert!(error(&whole).1.contains("Ask for smaller pages"));
    server.data(ANNA, page, json!({ "id": session, "n": 20 })).await;

    // Introspection costs only its nodes.
    let deep = format!("types {{ {} name {} }}", "fields { type { ofType { ".repeat(4), "} } }".repeat(4));
    let types = format!("{{ __schema {{ {} }} }}", many(&format!("a#: {deep} "), 100));
    assert_eq!(server.code(ANNA, &types, json!({})).await, "RESPONSE_TOO_LARGE");
    let rest = server.get(ANNA, &format!("/context/{session}?q=long+words&first=40")).send().await.unwrap();
    assert_eq!(rest.json::<Value>().await.unwrap()["code"], "RESPONSE_TOO_LARGE");
    // The connection survives the error.
    let mut socket = connect(&server, ANNA).await;
    for (id, n, kind) in [("1", 40, "RESPONSE_TOO_LARGE"), ("2", 1, "")] {
        say(&mut socket, json!({ "id": id, "type": "subscribe", "payload": { "query": page, "variables": { "id": session, "n": n } } }))
            .await;
        let heard = hear(&mut socket).await;
        let errors = if heard["type"] == "error" { json!({ "errors": heard["payload"] }) } else { heard["payload"].clone() };
        assert_eq!(error(&errors).0, kind, "{id}");
        assert_eq!(hear(&mut socket).await["type"], "complete");
    }
    server.data(BORIS, VIEWER, json!({})).await;
}

#[tokio::test]
async fn rivals_are_listed_up_to_limit_and_all_weighed() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let mut id = String::new();
    for n in 0..50 {
        id = server.fact(ANNA, &session, ["Anna", "LIVES_IN", &format!("Town {n}")]).await;
    }
    let query = "query($id: ID!, $n: Int) { fact(id: $id) { relativeWeight rivals(first: $n) { id relativeWeight } } }";
    for (first, expected) in [(Value::Null, 20), (json!(5), 5), (json!(100), 49)] {
        let data = server.data(ANNA, query, json!({ "id": id, "n": first })).await;
        let rivals = data["fact"]["rivals"].as_array().unwrap();
        assert_eq!(rivals.len(), expected);
        let share = data["fact"]["relativeWeight"].as_f64().unwrap();
        assert!((share - 0.02).abs() < 0.001, "not one of fifty: {share}");
    }
    let code = server.code(ANNA, query, json!({ "id": id, "n": 101 })).await;
    assert_eq!(code, "INVALID_PAGE_SIZE");
}

#[tokio::test]
async fn bundled_page_documents_cost_under_half_the_limit() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let bundled: std::collections::HashMap<String, String> =
        serde_json::from_str(include_str!("../../../web-demo/documents.json")).unwrap();
    for text in bundled.values().filter(|text| text.starts_with("query")) {
        let variables = json!({ "id": session, "sessionId": session, "first": 50, "shared": false, "before": null, "after": null });
        let answer = server.graphql(ANNA, text, variables).await;
        let cost = &answer["extensions"]["cost"];
        let (requested, limit) = (cost["requested"].as_f64().unwrap_or(0.0), cost["limit"].as_f64().unwrap_or(50_000.0));
        println!("{requested} of {limit}: {}", text.get(..40).unwrap_or(text));
        assert!(requested * 2.0 < limit, "{cost}: {text}");
    }
}
