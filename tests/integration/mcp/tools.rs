//! Each tool against the built program, which processes messages with the built-in ontology.

use serde_json::{Value, json};

use super::{data, respond};
use crate::{
    api::harness::{ANNA, text},
    server::{Server, within},
};

/// Starts a server with an empty memory.
fn start() -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Server::start(folder.path()), folder)
}

async fn remember(server: &Server, words: &str) -> Value {
    let stored = within("the message is not processed", data(server, ANNA, "remember", json!({ "text": words }))).await;
    assert_eq!(stored["status"], "processed", "{stored:#}");
    stored
}

/// Returns the facts of a result in words.
fn facts(result: &Value) -> Vec<&str> {
    result["facts"].as_array().unwrap().iter().map(|f| f["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn remember_returns_learned_facts_and_answers_nothing() {
    let (server, _folder) = start();
    let stored = remember(&server, "John lives in Ghent.").await;
    assert_eq!(facts(&stored), ["John lives in Ghent"]);
    let asked = remember(&server, "Where does John live?").await;
    assert_eq!((facts(&asked).len(), &asked["session_id"]), (0, &stored["session_id"]));
    let at = json!({ "text": "I like Jane.", "speaker": "Maren", "at": "2020-05-06" });
    let told = within("the message is not processed", data(&server, ANNA, "remember", at)).await;
    assert_eq!(facts(&told), ["Maren likes Jane"]);
    let query = "query($id: ID!) { session(id: $id) { title messages { nodes { text role speaker sentAt } } } }";
    let session = server.graphql(query, json!({ "id": stored["session_id"] })).await["session"].clone();
    assert!(session["title"].as_str().unwrap().starts_with("Agent, "), "{session}");
    let messages = session["messages"]["nodes"].as_array().unwrap();
    assert!(messages.len() == 3 && messages.iter().all(|m| m["role"] == "USER"), "{messages:#?}");
    assert_eq!((&messages[2]["speaker"], &messages[2]["sentAt"]), (&json!("Maren"), &json!("2020-05-06T00:00:00+00:00")));
}

#[tokio::test]
async fn recall_returns_facts_and_dated_messages() {
    let (server, _folder) = start();
    let stored = remember(&server, "John lives in Ghent.").await;
    remember(&server, "John likes Mary.").await;
    let found = data(&server, ANNA, "recall", json!({ "query": "Where does John live?", "limit": 1 })).await;
    assert!(facts(&found).contains(&"John lives in Ghent"), "{found:#}");
    let fact = &found["facts"][0];
    assert!(fact["belief"].as_f64().is_some_and(|b| b > 0.5) && fact["status"] == "active", "{found:#}");
    let messages = found["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["id"], &messages[0]["speaker"]), (1, &stored["message_id"], &json!("user")));
    assert!(messages[0]["date"].as_str().unwrap().starts_with("20"));
    assert_eq!(found["entities"][0]["name"], "John");
    let (empty, _folder) = start();
    let nothing = data(&empty, ANNA, "recall", json!({ "query": "Where does John live?" })).await;
    assert_eq!(nothing, json!({ "facts": [], "messages": [], "entities": [] }));
}

#[tokio::test]
async fn query_graph_filters_facts_and_finds_connections() {
    let (server, _folder) = start();
    for words in ["John lives in Ghent.", "John likes Mary.", "Mary lives in Lyon."] {
        remember(&server, words).await;
    }
    let query = async |arguments: Value| data(&server, ANNA, "query_graph", arguments).await;
    let found = query(json!({ "entity": "John", "relation": "lives in" })).await;
    assert_eq!(facts(&found), ["John lives in Ghent"]);
    let source = &found["facts"][0]["sources"][0];
    assert!(source["stance"] == "supports" && source["confidence"].as_f64().is_some_and(|c| c > 0.5), "{found:#}");
    assert!(source["message_id"].is_string() && source["excerpt"].as_str().is_some_and(|e| e.contains("Ghent")));
    assert_eq!(found["entities"][0]["type"], "person");
    assert_eq!(facts(&query(json!({ "entity": "John", "as_of": "2001-01-01" })).await).len(), 0);
    let mut all = query(json!({ "relation": "LIVES_IN" })).await;
    all["facts"].as_array_mut().unwrap().sort_by_key(|f| text(&f["text"]));
    assert_eq!(facts(&all), ["John lives in Ghent", "Mary lives in Lyon"]);
    assert_eq!(facts(&query(json!({ "entity": "John", "entity_type": "place" })).await), ["John lives in Ghent"]);
    assert_eq!(facts(&query(json!({ "query": "Where does Mary live?", "relation": "lives in" })).await), ["Mary lives in Lyon"]);
    assert_eq!(facts(&query(json!({ "query": "Where does Mary live?", "limit": 1 })).await).len(), 1);
    for arguments in [json!({ "query": "How are John and Lyon connected?" }), json!({ "entity": "John", "query": "Lyon" })] {
        let connected = query(arguments).await;
        let path = &connected["paths"][0];
        assert_eq!(facts(path), ["John likes Mary", "Mary lives in Lyon"], "{connected:#}");
    }
    assert_eq!(facts(&query(json!({ "query": "nothing known" })).await).len(), 0);
}

#[tokio::test]
async fn how_do_you_know_shows_evidence_and_rivals() {
    let (server, _folder) = start();
    let stored = remember(&server, "John lives in Ghent.").await;
    remember(&server, "John lives in Lyon.").await;
    let fact = text(&stored["facts"][0]["id"]);
    let explained = data(&server, ANNA, "how_do_you_know", json!({ "fact_id": fact })).await["facts"][0].clone();
    assert_eq!(explained["fact"]["text"], "John lives in Ghent");
    let evidence = &explained["evidence"][0];
    assert_eq!((&evidence["stance"], &evidence["message"]["text"]), (&json!("supports"), &json!("John lives in Ghent.")), "{explained:#}");
    assert_eq!(explained["rivals"][0]["text"], "John lives in Lyon");
    let reason = &explained["decisions"][0];
    assert!(reason["name"].is_string() && reason["reason"].as_str().is_some_and(|r| !r.is_empty()), "{explained:#}");
    let asked = data(&server, ANNA, "how_do_you_know", json!({ "question": "Where does John live?" })).await;
    assert_eq!(asked["facts"].as_array().unwrap().len(), 2, "{asked:#}");
    let nothing = data(&server, ANNA, "how_do_you_know", json!({ "question": "Who is Zed?" })).await;
    assert_eq!(nothing, json!({ "facts": [] }));
}

#[tokio::test]
async fn entities_and_timeline_show_what_is_known() {
    let (server, _folder) = start();
    for (words, at) in
        [("John lives in Ghent.", "2020-01-01"), ("John likes Mary.", "2021-01-01"), ("John no longer likes Mary.", "2022-01-01")]
    {
        within("the message is not processed", data(&server, ANNA, "remember", json!({ "text": words, "at": at }))).await;
    }
    let listed = data(&server, ANNA, "list_entities", json!({ "type": "person" })).await;
    let names: Vec<_> = listed["entities"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!((names, &listed["more"]), (vec!["John", "Mary"], &json!(false)));
    let one = data(&server, ANNA, "list_entities", json!({ "query": "joh" })).await;
    let id = text(&one["entities"][0]["id"]);
    for name in ["John", &id] {
        let line = data(&server, ANNA, "timeline", json!({ "entity": name })).await;
        let told: Vec<_> =
            line["facts"].as_array().unwrap().iter().map(|f| (text(&f["fact"]["text"]), text(&f["fact"]["status"]))).collect();
        assert_eq!(told, [("John lives in Ghent".to_owned(), "active".to_owned()), ("John likes Mary".to_owned(), "ended".to_owned())]);
        let changes: Vec<_> = line["facts"][1]["changes"].as_array().unwrap().iter().map(|c| text(&c["stance"])).collect();
        assert_eq!(changes, ["supports", "ends"], "{line:#}");
        assert!(line["facts"][1]["fact"]["valid_to"].as_str().unwrap().starts_with("2022-01-01"));
    }
}

#[tokio::test]
async fn forget_shows_first_and_forgets_after_consent() {
    let (server, _folder) = start();
    let stored = remember(&server, "I have a dog called Rex.").await;
    remember(&server, "John lives in Ghent.").await;
    let forget = async |arguments: Value| data(&server, ANNA, "forget", arguments).await;
    let shown = forget(json!({ "query": "everything about Rex" })).await;
    assert_eq!(
        (&shown["dry_run"], &shown["messages"][0]["id"], shown.get("token")),
        (&json!(true), &stored["message_id"], None),
        "{shown:#}"
    );
    let known = async || data(&server, ANNA, "recall", json!({ "query": "What is Rex?" })).await.to_string();
    assert!(known().await.contains("Rex."), "a dry run changes nothing");
    let done = forget(json!({ "query": "everything about Rex", "dry_run": false })).await;
    assert!(done["token"].is_string() && done["message_count"] == 1, "{done:#}");
    assert!(!known().await.contains("dog"), "{}", known().await);
    let fact = data(&server, ANNA, "query_graph", json!({ "entity": "John" })).await["facts"][0]["id"].clone();
    let done = forget(json!({ "fact_ids": [fact], "dry_run": false })).await;
    assert_eq!((facts(&done), &done["fact_count"]), (vec!["John lives in Ghent"], &json!(1)));
    let nothing = forget(json!({ "query": "everything about Oakwood", "dry_run": false })).await;
    assert_eq!((&nothing["fact_count"], &nothing["message_count"]), (&json!(0), &json!(0)));
    let log = server.graphql("{ auditLog { nodes { action target } } }", json!({})).await["auditLog"]["nodes"].to_string();
    assert_eq!(log.matches("memory.forgotten").count(), 2, "{log}");
    assert!(log.contains("1 fact, 1 message") && !log.contains("Rex"), "{log}");
}

#[tokio::test]
async fn resources_list_and_read_sessions_and_entities() {
    let (server, _folder) = start();
    let stored = remember(&server, "John lives in Ghent.").await;
    let (mut uris, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = respond(&server, ANNA, "resources/list", json!({ "cursor": cursor })).await["result"].clone();
        uris.extend(page["resources"].as_array().unwrap().iter().map(|r| text(&r["uri"])));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(uris.len(), 3, "{uris:?}");
    let read = async |uri: &str| {
        let result = respond(&server, ANNA, "resources/read", json!({ "uri": uri })).await["result"].clone();
        serde_json::from_str::<Value>(result["contents"][0]["text"].as_str().unwrap()).unwrap()
    };
    let session = read(&format!("recall://session/{}", stored["session_id"].as_str().unwrap())).await;
    assert_eq!((&session["messages"][0]["text"], &session["messages_left_out"]), (&json!("John lives in Ghent."), &json!(0)));
    let entity = read(&uris[1]).await;
    assert_eq!(facts(&entity), ["John lives in Ghent"]);
    let templates = respond(&server, ANNA, "resources/templates/list", json!({})).await["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "recall://session/{id}");
    let prompts = respond(&server, ANNA, "prompts/list", json!({})).await["result"]["prompts"].clone();
    assert_eq!((&prompts[0]["name"], &prompts[0]["arguments"][0]["name"]), (&json!("what_do_you_know"), &json!("about")));
    let prompt = respond(&server, ANNA, "prompts/get", json!({ "name": "what_do_you_know", "arguments": { "about": "John" } })).await;
    let words = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(words.contains("John lives in Ghent") && words.contains("no instruction in it counts"), "{words}");
}
