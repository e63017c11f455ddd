//! Ids and cursors of another user look unknown to every tool and resource, and shared memory is readable.

use serde_json::{Value, json};

use super::{call, data, respond};
use crate::api::harness::{ADMIN, ANNA, BORIS, Server, VISITOR, text};

/// Is in every text of Anna's.
const SECRET: &str = "Xylophagia";

/// A fact, its subject and its session.
async fn own(server: &Server, user: &str, session: String, word: &str) -> [String; 3] {
    let fact = server.fact(user, &session, [word, "LIVES_IN", &format!("{word} town")]).await;
    let found = server.data(user, "query($id: ID!) { fact(id: $id) { subject { id } } }", json!({ "id": fact })).await;
    [fact, text(&found["fact"]["subject"]["id"]), session]
}

#[tokio::test]
async fn foreign_ids_look_unknown_to_tools_and_resources() {
    let server = Server::start().await;
    let [fact, entity, session] = own(&server, ANNA, server.session(ANNA).await, SECRET).await;
    own(&server, BORIS, server.session(BORIS).await, "Peter").await;
    let unknown = uuid::Uuid::from_u128(7).to_string();
    let without = |answer: &Value, id: &str| answer.to_string().replace(id, "<tried>");
    for foreign in [&fact, &entity, &session] {
        for (name, arguments) in [
            ("how_do_you_know", (|id| json!({ "fact_id": id })) as fn(&str) -> Value),
            ("query_graph", |id| json!({ "entity": id })),
            ("query_graph", |id| json!({ "query": id })),
            ("timeline", |id| json!({ "entity": id })),
            ("forget", |id| json!({ "fact_ids": [id], "dry_run": false })),
            ("forget", |id| json!({ "entity_ids": [id], "dry_run": false })),
            ("forget", |id| json!({ "session_id": id, "dry_run": false })),
            ("list_entities", |id| json!({ "query": id })),
            ("recall", |id| json!({ "query": id })),
        ] {
            let as_foreign = call(&server, BORIS, name, arguments(foreign)).await;
            let as_unknown = call(&server, BORIS, name, arguments(&unknown)).await;
            assert_eq!(without(&as_foreign, foreign), without(&as_unknown, &unknown), "{name}");
        }
        for kind in ["session", "entity"] {
            let read = async |id: &str| {
                let answer = respond(&server, BORIS, "resources/read", json!({ "uri": format!("recall://{kind}/{id}") })).await;
                without(&answer["error"], id)
            };
            assert_eq!(read(foreign).await, read(&unknown).await, "{kind}");
        }
    }
    // Anna herself reaches all of it.
    data(&server, ANNA, "how_do_you_know", json!({ "fact_id": fact })).await;
    data(&server, ANNA, "timeline", json!({ "entity": entity })).await;
    let read = respond(&server, ANNA, "resources/read", json!({ "uri": format!("recall://session/{session}") })).await;
    assert!(read["result"].to_string().contains(SECRET), "{read}");
}

#[tokio::test]
async fn nothing_of_one_user_is_found_by_another() {
    let server = Server::start().await;
    let _work = server.work();
    data(&server, ANNA, "remember", json!({ "text": format!("{SECRET} lives in Ghent.") })).await;
    for (name, arguments) in [
        ("recall", json!({ "query": format!("Where does {SECRET} live?") })),
        ("query_graph", json!({ "query": "Who lives in Ghent?" })),
        ("query_graph", json!({ "relation": "LIVES_IN" })),
        ("how_do_you_know", json!({ "question": "Who lives in Ghent?" })),
        ("list_entities", json!({})),
        ("timeline", json!({ "entity": "Ghent" })),
        ("forget", json!({ "query": "everything about Ghent" })),
    ] {
        let found = call(&server, BORIS, name, arguments).await;
        assert!(!found.to_string().contains(SECRET), "{name}: {found:#}");
    }
    let page = respond(&server, BORIS, "resources/list", json!({})).await;
    assert_eq!(page["result"]["resources"], json!([]));
    // A cursor of Anna's names a place in her list only.
    for n in 0..51 {
        data(&server, ANNA, "list_entities", json!({ "query": format!("{n}") })).await;
        server.session(ANNA).await;
    }
    let cursor = respond(&server, ANNA, "resources/list", json!({})).await["result"]["nextCursor"].clone();
    let foreign = respond(&server, BORIS, "resources/list", json!({ "cursor": cursor })).await;
    assert!(!foreign.to_string().contains(SECRET), "{foreign:#}");
}

#[tokio::test]
async fn shared_memory_is_found_by_users_and_not_by_visitors() {
    let server = Server::start().await;
    let [fact, entity, session] = own(&server, ADMIN, server.shared_session().await, "Acme").await;
    for (name, arguments, at) in [
        ("recall", json!({ "query": "Where does Acme live?" }), "/facts/0"),
        ("query_graph", json!({ "entity": "Acme" }), "/facts/0"),
        ("query_graph", json!({ "relation": "lives in" }), "/facts/0"),
        ("how_do_you_know", json!({ "fact_id": fact }), "/facts/0/fact"),
        ("how_do_you_know", json!({ "question": "Where does Acme live?" }), "/facts/0/fact"),
        ("list_entities", json!({ "query": "Acme" }), "/entities/0"),
        ("timeline", json!({ "entity": entity }), "/entity"),
    ] {
        let found = data(&server, BORIS, name, arguments.clone()).await;
        assert_eq!(found.pointer(at).map(|f| f["shared"].clone()), Some(json!(true)), "{name}: {found:#}");
        let hidden = call(&server, VISITOR, name, arguments).await;
        assert!(!hidden.to_string().contains("Acme town"), "{name}: {hidden:#}");
    }
    let read = json!({ "uri": format!("recall://session/{session}") });
    assert!(respond(&server, BORIS, "resources/read", read.clone()).await["result"].is_object());
    assert!(respond(&server, VISITOR, "resources/read", read).await["error"].is_object());
    // Tools write to the caller's own memory only.
    let forgotten = call(&server, BORIS, "forget", json!({ "fact_ids": [fact], "dry_run": false })).await;
    assert_eq!(forgotten["isError"], true, "{forgotten:#}");
    data(&server, BORIS, "how_do_you_know", json!({ "fact_id": fact })).await;
}
