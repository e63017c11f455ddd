//! Changes by hand, end to end: merging, renaming, retracting and deleting do what a person means by them.

use serde_json::{Value, json};

use crate::server::Server;

struct Told {
    server: Server,
    session: String,
    _folder: tempfile::TempDir,
}

impl Told {
    async fn all(texts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path());
        let session = server.create_session().await;
        let told = Self { server, session, _folder: folder };
        for text in texts {
            told.say(text).await;
        }
        told
    }

    async fn say(&self, text: &str) {
        self.server.send(json!({ "sessionId": self.session, "text": text })).await.unwrap();
        self.server.settle(&self.session).await;
    }

    async fn entity(&self, name: &str) -> String {
        let data = self.server.graphql("{ entities(first: 100) { nodes { id name } } }", json!({})).await;
        let nodes = data["entities"]["nodes"].as_array().unwrap().clone();
        let found = nodes.iter().find(|n| n["name"] == name).unwrap_or_else(|| panic!("no {name} in {nodes:?}"));
        found["id"].as_str().unwrap().to_owned()
    }

    async fn merge(&self, into: &str, from: &str) -> Value {
        let query = "mutation($into: ID!, $from: ID!) { mergeEntities(input: { intoId: $into, fromId: $from }) {
            entity { name aliases isViewer } errors { code message } } }";
        let (into, from) = (self.entity(into).await, self.entity(from).await);
        let data = self.server.graphql(query, json!({ "into": into, "from": from })).await;
        assert_eq!(data["mergeEntities"]["errors"], json!([]));
        data["mergeEntities"]["entity"].clone()
    }

    /// Facts as "subject relation object status belief".
    async fn facts(&self) -> Vec<String> {
        self.server.facts().await.into_iter().map(|(words, _, belief, status)| format!("{words} {status} {belief:.2}")).collect()
    }
}

#[tokio::test]
async fn a_fact_between_two_names_of_one_thing_goes_with_the_merge() {
    let told = Told::all(&["John knows Johnny.", "Johnny likes Mary."]).await;
    let merged = told.merge("John", "Johnny").await;
    assert_eq!(merged["aliases"], json!(["Johnny"]));
    assert_eq!(told.facts().await, ["John LIKES Mary ACTIVE 0.67"]);
    told.say("Johnny likes Mary.").await;
    assert_eq!(told.facts().await, ["John LIKES Mary ACTIVE 0.75"]);
}

#[tokio::test]
async fn the_users_own_node_may_be_merged_into_their_name_and_stays_found() {
    let told = Told::all(&["I like tea.", "Anna likes coffee."]).await;
    let merged = told.merge("Anna", "You").await;
    assert_eq!((merged["isViewer"].clone(), merged["aliases"].clone()), (json!(true), json!([])));
    told.say("I like tea.").await;
    told.say("Anna likes tea.").await;
    assert_eq!(told.facts().await, ["Anna LIKES coffee ACTIVE 0.67", "Anna LIKES tea ACTIVE 0.80"]);
}

#[tokio::test]
async fn two_names_of_one_place_do_not_contradict_each_other_after_a_merge() {
    let told = Told::all(&["I live in Gent.", "I live in Ghent."]).await;
    assert_eq!(told.facts().await, ["You LIVES_IN Gent ACTIVE 0.50", "You LIVES_IN Ghent ACTIVE 0.50"]);
    told.merge("Ghent", "Gent").await;
    assert_eq!(told.facts().await, ["You LIVES_IN Ghent ACTIVE 0.75"]);
}

#[tokio::test]
async fn a_retracted_fact_comes_back_when_it_is_said_again() {
    let told = Told::all(&["John likes Mary."]).await;
    let data = told.server.graphql("{ facts(first: 1) { nodes { id } } }", json!({})).await;
    let id = data["facts"]["nodes"][0]["id"].clone();
    let retract = "mutation($id: ID!) { retractFact(input: { id: $id }) { fact { status } errors { code } } }";
    for _ in 0..2 {
        let data = told.server.graphql(retract, json!({ "id": id })).await;
        assert_eq!(data["retractFact"], json!({ "fact": { "status": "RETRACTED" }, "errors": [] }));
    }
    told.say("John likes Mary.").await;
    assert_eq!(told.facts().await, ["John LIKES Mary ACTIVE 0.75"]);
    let changes: Vec<Value> =
        told.server.events(&told.session).await.iter().filter(|e| e["type"] == "fact_update").map(|e| e["change"].clone()).collect();
    assert_eq!(changes, [json!("added"), json!("retracted"), json!("restored")]);
}

#[tokio::test]
async fn a_deleted_session_leaves_no_trace_of_what_was_said_in_it() {
    let told = Told::all(&["I live in Paris."]).await;
    let other = told.server.create_session().await;
    told.server.send(json!({ "sessionId": other, "text": "I live in Lyon." })).await.unwrap();
    told.server.settle(&other).await;
    let delete = "mutation($id: ID!) { deleteSession(input: { id: $id }) { errors { code } } }";
    told.server.graphql(delete, json!({ "id": told.session })).await;
    let facts: Vec<String> = told.server.facts().await.into_iter().map(|f| f.0).collect();
    assert_eq!(facts, ["You LIVES_IN Lyon"]);
    let data = told.server.graphql("{ entities(first: 10) { nodes { name } } }", json!({})).await;
    assert!(!data.to_string().contains("Paris"), "{data}");
}

#[tokio::test]
async fn each_of_two_rivals_in_one_message_is_added() {
    let told = Told::all(&["I live in Paris and I live in Lyon."]).await;
    let added = told.server.events(&told.session).await.iter().filter(|e| e["type"] == "fact_update" && e["change"] == "added").count();
    assert_eq!(added, 2);
}

#[tokio::test]
async fn undated_messages_of_one_import_were_said_one_after_the_other() {
    let told = Told::all(&[]).await;
    let query = "mutation($s: ID!, $m: [ImportedMessage!]!) { importMessages(input: { sessionId: $s, messages: $m }) { errors { code } } }";
    let texts = ["I use Vim.", "I no longer use Vim.", "I use Vim."];
    let messages: Vec<Value> = texts.iter().map(|t| json!({ "text": t })).collect();
    told.server.graphql(query, json!({ "s": told.session, "m": messages })).await;
    told.server.settle(&told.session).await;
    assert!(told.facts().await[0].starts_with("You USES Vim ACTIVE"), "{:?}", told.facts().await);
}
