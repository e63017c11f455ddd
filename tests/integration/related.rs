//! What leads from a document to other things: its summary, entities, questions, references and views.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api::harness::{ADMIN, ANNA, BORIS, Server, text},
    stored::Stored,
};

const HANDBOOK: &str = "Travel\n======\n\nThe travel budget of the sales team is 4200 euros a year. The sales team books its travel with \
    Lumen Labs. Lumen Labs sends the tickets.\n\n\
    Pets\n====\n\nEvery office may have one dog.\n\n\
    Contacts\n========\n\nTeresa Almeida works at Lumen Labs.\n";

const RELATED: &str = "query($id: ID!) { document(id: $id) { summary viewedAt
    entities { nodes { name } } first: entities(first: 1) { nodes { name } pageInfo { hasNextPage endCursor } }
    questions { nodes { id text answer { id } } } references { nodes { id text } } } }";

async fn add(server: &Server, user: &str, words: &str, shared: bool) -> String {
    let fields: &[(&str, &str)] = if shared { &[("shared", "true")] } else { &[] };
    let added: Value = server.upload(user, "handbook.txt", words.as_bytes(), fields).await.json().await.unwrap();
    let id = text(&added["id"]);
    for _ in 0..600 {
        let document: Value = server.get(user, &format!("/documents/{id}")).send().await.unwrap().json().await.unwrap();
        if document["status"] == "completed" {
            return id;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the document is not processed");
}

async fn ask(server: &Server, user: &str, session: &str, question: &str) -> Value {
    let chat = server.post(user, "/chat").header("prefer", "wait=30");
    chat.json(&json!({ "session_id": session, "message": question })).send().await.unwrap().json().await.unwrap()
}

async fn related(server: &Server, user: &str, id: &str) -> Value {
    server.data(user, RELATED, json!({ "id": id })).await["document"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn document_leads_to_summary_entities_questions_and_references() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let _work = server.work();
        let id = add(&server, ANNA, HANDBOOK, false).await;
        let session = server.session(ANNA).await;
        let before = related(&server, ANNA, &id).await;
        assert!(before["summary"].as_str().unwrap().contains("The travel budget of the sales team"), "{before:#}");
        assert_eq!((&before["questions"]["nodes"], &before["references"]["nodes"]), (&json!([]), &json!([])));
        let names: Vec<&str> = before["entities"]["nodes"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"Teresa Almeida") && names[0] == "Lumen Labs", "{names:?}");
        assert_eq!(before["first"]["nodes"], json!([{ "name": "Lumen Labs" }]));
        let more = "query($id: ID!, $after: String) { document(id: $id) { entities(after: $after) { nodes { name } } } }";
        let rest = server.data(ANNA, more, json!({ "id": id, "after": before["first"]["pageInfo"]["endCursor"] })).await;
        assert_eq!(rest["document"]["entities"]["nodes"].as_array().unwrap()[..], before["entities"]["nodes"].as_array().unwrap()[1..]);

        let question = "What is the travel budget of the sales team?";
        let answer = ask(&server, ANNA, &session, question).await;
        assert_eq!(answer["citations"][0]["chunk"]["document_id"], json!(id), "{answer:#}");
        ask(&server, ANNA, &session, "How tall is the lighthouse of Porto?").await;
        let after = related(&server, ANNA, &id).await;
        let asked = &after["questions"]["nodes"];
        assert_eq!(
            (asked.as_array().unwrap().len(), &asked[0]["text"], &asked[0]["answer"]["id"]),
            (1, &json!(question), &answer["answer_id"])
        );
        assert_eq!(after["references"]["nodes"], json!([{ "id": answer["answer_id"], "text": answer["llm_response"] }]));

        let summary = server.data(ANNA, "query($id: ID!) { session(id: $id) { summary } }", json!({ "id": session })).await;
        assert!(summary["session"]["summary"].as_str().unwrap().contains("travel budget"), "{summary}");
        let empty = server.session(ANNA).await;
        let summary = server.data(ANNA, "query($id: ID!) { session(id: $id) { summary } }", json!({ "id": empty })).await;
        assert_eq!(summary["session"]["summary"], Value::Null);
        let shown: Value = server.get(ANNA, &format!("/documents/{id}")).send().await.unwrap().json().await.unwrap();
        assert_eq!(shown["summary"], before["summary"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_and_questions_of_shared_document_belong_to_each_reader() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let _work = server.work();
        let shared = add(&server, ADMIN, HANDBOOK, true).await;
        let own = add(&server, ANNA, "The garden fence is green.", false).await;
        let mark =
            "mutation($id: ID!) { markDocumentViewed(input: { documentId: $id }) { document { id viewedAt } errors { code path } } }";
        let viewed = async |user: &str, id: &str| related(&server, user, id).await["viewedAt"].clone();
        for id in [&shared, &own] {
            let marked = server.data(ANNA, mark, json!({ "id": id })).await["markDocumentViewed"].clone();
            let at = marked["document"]["viewedAt"].clone();
            assert!(at.is_string() && marked["errors"] == json!([]) && marked["document"]["id"] == json!(id), "{marked}");
            assert_eq!(viewed(ANNA, id).await, at);
        }
        assert_eq!((viewed(BORIS, &shared).await, viewed(ADMIN, &shared).await), (Value::Null, Value::Null));
        let foreign = server.data(BORIS, mark, json!({ "id": own })).await["markDocumentViewed"].clone();
        assert_eq!(foreign["errors"], json!([{ "code": "NOT_FOUND", "path": ["input", "documentId"] }]), "{foreign}");
        // Reading the file is a view.
        let file = server.get(BORIS, &format!("/documents/{shared}/original")).send().await.unwrap();
        assert_eq!(file.text().await.unwrap(), HANDBOOK);
        assert!(viewed(BORIS, &shared).await.is_string());
        assert_eq!(viewed(ADMIN, &shared).await, Value::Null);

        let session = server.session(ANNA).await;
        let question = "What is the travel budget of the sales team?";
        let answer = ask(&server, ANNA, &session, question).await;
        assert_eq!(answer["citations"][0]["chunk"]["document_id"], json!(shared), "{answer:#}");
        let seen = related(&server, ANNA, &shared).await;
        assert_eq!(
            (&seen["questions"]["nodes"][0]["text"], &seen["references"]["nodes"][0]["id"]),
            (&json!(question), &answer["answer_id"])
        );
        assert!(seen["entities"].to_string().contains("Lumen Labs"), "{seen:#}");
        for other in [BORIS, ADMIN] {
            let seen = related(&server, other, &shared).await;
            assert_eq!((&seen["questions"]["nodes"], &seen["references"]["nodes"]), (&json!([]), &json!([])), "{other}: {seen:#}");
        }
    }
}
