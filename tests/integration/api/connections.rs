//! Connections return each item once, in order, from both ends, with correct page information.

use serde_json::{Value, json};

use super::harness::{ANNA, Server, text};

fn nodes(connection: &Value) -> Vec<String> {
    connection["nodes"].as_array().unwrap().iter().map(|n| text(&n["id"])).collect()
}

/// Reads a whole list page by page; `path` leads to the connection.
async fn walk(server: &Server, query: &str, mut variables: Value, path: &[&str], backwards: bool) -> Vec<String> {
    let (cursor, more, argument) =
        if backwards { ("startCursor", "hasPreviousPage", "before") } else { ("endCursor", "hasNextPage", "after") };
    let mut all = Vec::new();
    loop {
        let data = server.data(ANNA, query, variables.clone()).await;
        let connection = path.iter().fold(&data, |value, key| &value[key]);
        let page = nodes(connection);
        assert!(!page.is_empty() || all.is_empty(), "an empty page follows a full one");
        if backwards {
            all.splice(0..0, page);
        } else {
            all.extend(page);
        }
        if connection["pageInfo"][more] == json!(false) {
            return all;
        }
        variables[argument] = connection["pageInfo"][cursor].clone();
    }
}

#[tokio::test]
async fn messages_are_paged_from_both_ends() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let mut sent = Vec::new();
    for n in 0..25 {
        sent.push(server.say(ANNA, &session, &format!("Message number {n}.")).await);
    }
    let forwards = "query($id: ID!, $after: String) { session(id: $id) { messages(first: 7, after: $after) {
        nodes { id } edges { cursor node { id } } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
    let path = ["session", "messages"];
    assert_eq!(walk(&server, forwards, json!({ "id": session }), &path, false).await, sent);
    let backwards = "query($id: ID!, $before: String) { session(id: $id) { messages(last: 7, before: $before) {
        nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
    assert_eq!(walk(&server, backwards, json!({ "id": session }), &path, true).await, sent);

    let data = server.data(ANNA, forwards, json!({ "id": session })).await;
    let first = &data["session"]["messages"];
    assert_eq!(first["totalCount"], 25);
    assert_eq!(first["pageInfo"]["hasPreviousPage"], false);
    assert_eq!(first["edges"][6]["cursor"], first["pageInfo"]["endCursor"]);
    assert_eq!(first["edges"][0]["node"]["id"], sent[0]);
    let data = server.data(ANNA, backwards, json!({ "id": session })).await;
    assert_eq!(nodes(&data["session"]["messages"]), sent[18..]);

    let place = format!("{{ message(id: \"{}\") {{ cursor }} }}", sent[9]);
    let cursor = text(&server.data(ANNA, &place, json!({})).await["message"]["cursor"]);
    let data = server.data(ANNA, forwards, json!({ "id": session, "after": cursor })).await;
    assert_eq!(nodes(&data["session"]["messages"]), sent[10..17], "the messages after the cursor");
    let data = server.data(ANNA, backwards, json!({ "id": session, "before": cursor })).await;
    assert_eq!(nodes(&data["session"]["messages"]), sent[2..9], "the messages before the cursor");
    let both = format!("{{ session(id: \"{session}\") {{ messages(first: 1, last: 1) {{ totalCount }} }} }}");
    assert_eq!(server.code(ANNA, &both, json!({})).await, "INVALID_PAGE");
}

#[tokio::test]
async fn paged_lists_return_every_item_once() {
    let server = Server::start().await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(server.session(ANNA).await);
    }
    let mut facts = Vec::new();
    for n in 0..6 {
        facts.push(server.fact(ANNA, &sessions[n % 5], ["Mary", "LIKES", &format!("Thing {n}")]).await);
    }
    let page = "nodes { id } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }";
    let all = |field: &str| format!("query($after: String) {{ {field}(first: 2, after: $after) {{ {page} }} }}");
    for (field, mut expected) in [("sessions", sessions.clone()), ("facts", facts.clone())] {
        let mut found = walk(&server, &all(field), json!({}), &[field], false).await;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{field}");
    }
    assert_eq!(walk(&server, &all("entities"), json!({}), &["entities"], false).await.len(), 7);
    let counts = server.data(ANNA, "{ sessions { totalCount } facts { totalCount } entities { totalCount } }", json!({})).await;
    assert_eq!(counts, json!({ "sessions": { "totalCount": 5 }, "facts": { "totalCount": 6 }, "entities": { "totalCount": 7 } }));

    for n in 0..9 {
        assert_eq!(server.fact(ANNA, &sessions[n % 5], ["Mary", "LIKES", "Thing 0"]).await, facts[0]);
    }
    let query = "query($id: ID!, $after: String) { fact(id: $id) { evidence(first: 3, after: $after) {
        nodes { stance confidence excerpt createdAt message { id } } edges { cursor } pageInfo { hasNextPage hasPreviousPage endCursor } } } }";
    let (mut after, mut messages, mut pages) = (Value::Null, Vec::new(), 0);
    loop {
        let data = server.data(ANNA, query, json!({ "id": facts[0], "after": after })).await;
        let evidence = &data["fact"]["evidence"];
        messages.extend(evidence["nodes"].as_array().unwrap().iter().map(|e| text(&e["message"]["id"])));
        assert!(evidence["nodes"].as_array().unwrap().iter().all(|e| e["stance"] == "SUPPORTS" && e["confidence"] == json!(1.0)));
        pages += 1;
        if evidence["pageInfo"]["hasNextPage"] == json!(false) {
            break;
        }
        after = evidence["pageInfo"]["endCursor"].clone();
    }
    let distinct: std::collections::BTreeSet<_> = messages.iter().collect();
    assert_eq!((messages.len(), distinct.len(), pages), (10, 10, 4));
    let foreign = server.data(ANNA, query, json!({ "id": facts[1] })).await["fact"]["evidence"]["pageInfo"]["endCursor"].clone();
    assert_eq!(server.code(ANNA, query, json!({ "id": facts[0], "after": foreign })).await, "BAD_CURSOR");
}

#[tokio::test]
async fn rival_facts_share_relative_weight() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let lyon = server.fact(ANNA, &session, ["Mary", "LIVES_IN", "Lyon"]).await;
    let ghent = server.fact(ANNA, &session, ["Mary", "LIVES_IN", "Ghent"]).await;
    let query = "query($a: ID!, $b: ID!) { a: fact(id: $a) { ...F } b: fact(id: $b) { ...F } }
        fragment F on Fact { phrase relation weight belief uncertainty relativeWeight rivals { id } subject { name facts { totalCount } mentions { nodes { text } } } }";
    let data = server.data(ANNA, query, json!({ "a": lyon, "b": ghent })).await;
    assert_eq!(data["a"]["rivals"], json!([{ "id": ghent }]));
    assert_eq!(data["b"]["rivals"], json!([{ "id": lyon }]));
    let shares = data["a"]["relativeWeight"].as_f64().unwrap() + data["b"]["relativeWeight"].as_f64().unwrap();
    assert!((shares - 1.0).abs() < 1e-5, "{shares}");
    assert_eq!(data["a"]["phrase"], "lives in");
    assert_eq!(data["a"]["subject"]["facts"]["totalCount"], 2);
    assert_eq!(data["a"]["subject"]["mentions"]["nodes"].as_array().unwrap().len(), 2);

    let retract = "mutation($id: ID!) { retractFact(input: { id: $id }) { fact { id status } errors { code } } }";
    let data = server.data(ANNA, retract, json!({ "id": lyon })).await;
    assert_eq!(data["retractFact"]["fact"]["status"], "RETRACTED");
    let data = server.data(ANNA, query, json!({ "a": lyon, "b": ghent })).await;
    assert_eq!((&data["b"]["rivals"], &data["b"]["relativeWeight"]), (&json!([]), &json!(1.0)));
}

#[tokio::test]
async fn message_lists_its_stance_on_fact() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let fact = server.fact(ANNA, &session, ["Mary", "LIKES", "sushi"]).await;
    let query = "query($id: ID!) { session(id: $id) { messages(last: 1) { nodes { evidence { stance fact { id } } } } } }";
    let data = server.data(ANNA, query, json!({ "id": session })).await;
    let evidence = &data["session"]["messages"]["nodes"][0]["evidence"];
    assert_eq!(evidence, &json!([{ "stance": "SUPPORTS", "fact": { "id": fact } }]));
}
