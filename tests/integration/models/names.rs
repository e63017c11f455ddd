//! Names in a session with a model: references, aliases, renames, plans and hearsay, through the whole server.

use serde_json::{Value, json};

use super::server::{KEY, MODEL, ModelServer, Reaction};
use crate::server::Server;

/// What the model reads in a message: entities, facts and names. A fact is "subject relation object polarity mark quote".
struct Script(&'static str, Value, Vec<[&'static str; 6]>, Value);

fn scripts() -> Vec<Script> {
    let person = |name: &str, words: &str| json!({ "name": name, "words": words, "type": "person" });
    let named = |name: &str, entity_type: &str| json!({ "name": name, "words": "", "type": entity_type });
    let name = |name: &str, of: &str, change: &str| json!([{ "name": name, "of": of, "change": change }]);
    let none = || json!([]);
    vec![
        Script(
            "I work with Ottoline Pryce.",
            json!([person("Ottoline Pryce", "")]),
            vec![["SPEAKER", "WORKS_WITH", "Ottoline Pryce", "affirmed", "stated", "I work with Ottoline Pryce"]],
            none(),
        ),
        Script(
            "Otti likes herring.",
            json!([person("Otti", ""), named("herring", "thing")]),
            vec![["Otti", "LIKES", "herring", "affirmed", "stated", "Otti likes herring"]],
            none(),
        ),
        Script(
            "Everybody calls Ottoline Otti.",
            json!([person("Ottoline Pryce", "Ottoline"), person("Otti", "")]),
            vec![],
            name("Otti", "Ottoline Pryce", "alias"),
        ),
        Script(
            "She moved to York.",
            json!([person("Otti", "She"), named("York", "place")]),
            vec![["Otti", "LIVES_IN", "York", "affirmed", "stated", "She moved to York"]],
            none(),
        ),
        Script(
            "I am building Falcon.",
            json!([named("Falcon", "project")]),
            vec![["SPEAKER", "WORKS_ON", "Falcon", "affirmed", "stated", "I am building Falcon"]],
            none(),
        ),
        Script("Falcon is called Osprey now.", json!([named("Osprey", "thing")]), vec![], name("Osprey", "Falcon", "renamed")),
        Script(
            "Apparently Tom left Acme. We fly to Oaxaca in May.",
            json!([person("Tom", ""), named("Acme", "organization"), named("Oaxaca", "place")]),
            vec![
                ["Tom", "KNOWS", "SPEAKER", "affirmed", "hearsay", ""],
                ["SPEAKER", "VISITED", "Oaxaca", "affirmed", "plan", "We fly to Oaxaca"],
            ],
            none(),
        ),
        Script(
            "Back from the trip!",
            json!([{ "name": "Oaxaca", "words": "the trip", "type": "place" }]),
            vec![["SPEAKER", "VISITED", "Oaxaca", "affirmed", "stated", "Back from the trip"]],
            none(),
        ),
    ]
}

fn read(shown: &Value) -> Value {
    let Some(Script(_, entities, facts, names)) = scripts().into_iter().find(|s| shown["message"] == s.0) else {
        panic!("an unknown message: {shown}")
    };
    let facts: Vec<Value> = facts
        .iter()
        .map(|[s, r, o, p, m, q]| json!({ "subject": s, "relation": r, "object": o, "polarity": p, "mark": m, "quote": q }))
        .collect();
    json!({ "kind": "statement", "entities": entities, "facts": facts, "names": names })
}

/// A server that read all messages, one after another, with its model server.
async fn told(folder: &std::path::Path) -> (Server, ModelServer, String) {
    let model = ModelServer::start(|_, request| {
        let shown: Value = serde_json::from_str(request["messages"][1]["content"].as_str().unwrap()).unwrap();
        Reaction::Say(read(&shown).to_string())
    })
    .await;
    let env = [("RECALL_MODEL_URL", model.url()), ("RECALL_MODEL_NAME", MODEL.to_owned()), ("RECALL_MODEL_KEY", KEY.to_owned())];
    let server = Server::start_with(folder, &env.iter().map(|(k, v)| (*k, v.as_str())).collect::<Vec<_>>());
    let session = server.create_session().await;
    for Script(text, ..) in scripts() {
        server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
        server.settle(&session).await;
    }
    (server, model, session)
}

async fn entities(server: &Server) -> Vec<(String, Vec<String>, String)> {
    let data = server.graphql("{ entities(first: 100) { nodes { id name aliases } } }", json!({})).await;
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let nodes = data["entities"]["nodes"].as_array().unwrap();
    let entity = |e: &Value| (text(&e["name"]), e["aliases"].as_array().unwrap().iter().map(text).collect(), text(&e["id"]));
    nodes.iter().map(entity).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_one_entity_become_one_and_can_be_separated() {
    let folder = tempfile::tempdir().unwrap();
    let (server, model, _session) = told(folder.path()).await;
    let facts: Vec<(String, String)> = server.facts().await.into_iter().map(|(words, _, _, status)| (words, status)).collect();
    let has = |words: &str, status: &str| assert!(facts.contains(&(words.to_owned(), status.to_owned())), "{words} in {facts:?}");
    has("You WORKS_WITH Ottoline Pryce", "ACTIVE");
    has("Ottoline Pryce LIKES herring", "ACTIVE");
    has("Ottoline Pryce LIVES_IN York", "ACTIVE");
    has("You WORKS_ON Osprey", "ACTIVE");
    has("You VISITED Oaxaca", "ACTIVE");
    has("You PLANS Oaxaca", "ENDED");
    assert_eq!(facts.len(), 7, "{facts:?}");
    let all = entities(&server).await;
    let aliases = |name: &str| all.iter().find(|e| e.0 == name).map(|e| e.1.clone());
    assert_eq!(aliases("Ottoline Pryce").as_deref(), Some(&["Otti".to_owned()][..]));
    assert_eq!(aliases("Osprey").as_deref(), Some(&["Falcon".to_owned()][..]));
    assert!(aliases("Otti").is_none() && aliases("Falcon").is_none() && aliases("She").is_none(), "{all:?}");

    // The model saw what the session knows.
    let shown = (0..model.seen().len()).map(|n| model.shown(n)).find(|s| s["message"] == "She moved to York.").unwrap();
    assert_eq!(shown["known"][0], json!({ "name": "Ottoline Pryce", "type": "person", "also": ["Otti"] }), "{shown:#}");
    let known: Vec<&str> = shown["known_facts"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
    assert!(known.contains(&"SPEAKER WORKS_WITH Ottoline Pryce") && known.contains(&"Ottoline Pryce LIKES herring"), "{known:?}");
    assert_eq!(shown["earlier"].as_array().unwrap().len(), 3);

    // The merge can be undone.
    let id = all.iter().find(|e| e.0 == "Ottoline Pryce").map(|e| e.2.clone()).unwrap();
    let undo = "mutation($i: UnmergeEntitiesInput!) { unmergeEntities(input: $i) { errors { code message } } }";
    let done = server.graphql(undo, json!({ "i": { "entityId": id } })).await;
    assert_eq!(done["unmergeEntities"]["errors"], json!([]));
    assert!(server.facts().await.iter().any(|(words, ..)| words == "Otti LIKES herring"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hearsay_is_kept_and_flagged() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _model, _) = told(folder.path()).await;
    let data = server.graphql("{ facts(first: 100) { nodes { relation flagged } } }", json!({})).await;
    let flagged: Vec<&str> = data["facts"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["flagged"] == true)
        .map(|f| f["relation"].as_str().unwrap())
        .collect();
    assert_eq!(flagged, ["KNOWS"]);
}
