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

const PETS: &str = "Dogs\n====\n\nEvery office may have one dog. The dog needs a leash and a bowl of water. A dog that barks at guests stays at home. \
    The owner of the dog cleans the carpet. Puppies are dogs, too, and need a blanket. Dogs sleep in their baskets under the desk.\n";
const TAXES: &str = "Taxes\n=====\n\nThe income tax is paid each quarter. The tax office sends a letter about the tax return. Travel costs \
    reduce the tax. Keep the receipts for the tax return for ten years. The accountant files the tax return in May.\n";

/// All topics of a user: name, and how many documents and messages of conversations they have.
async fn topics(server: &Server, user: &str, shared: bool) -> Vec<(String, usize, usize)> {
    let query = "query($shared: Boolean!) { topics(shared: $shared) { nodes { id name size shared documents { id } messages { nodes { id role } } } } }";
    let listed = server.data(user, query, json!({ "shared": shared })).await;
    let count = |list: &Value| list.as_array().unwrap().len();
    let nodes = listed["topics"]["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|t| t["shared"] == shared));
    nodes.iter().map(|t| (text(&t["name"]), count(&t["documents"]), count(&t["messages"]["nodes"]))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_of_an_import_cover_all_its_messages() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let session = server.session(ANNA).await;
        let messages: Vec<_> = (0..10)
            .flat_map(|n| [format!("The dog of guest {n} barks at the door."), format!("A dog needs water, said guest {n}.")])
            .map(|text| json!({ "speaker": "Mia", "text": text }))
            .collect();
        let import = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code } } }";
        server.data(ANNA, import, json!({ "input": { "sessionId": session, "messages": messages } })).await;
        // They wait while the first of them is understood.
        let _work = server.work();
        for _ in 0..600 {
            if !topics(&server, ANNA, false).await.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let found = topics(&server, ANNA, false).await;
        let grouped: usize = found.iter().map(|(.., messages)| messages).sum();
        assert!(grouped == 20 && found.iter().all(|(name, ..)| name.contains("dog")), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_join_documents_and_conversations_of_one_user() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let _work = server.work();
        let pets = add(&server, ANNA, PETS, false).await;
        add(&server, ANNA, TAXES, false).await;
        add(&server, BORIS, PETS, false).await;
        add(&server, ADMIN, TAXES, true).await;
        let query = "query($id: ID!) { document(id: $id) { topics { id name documents { id } related { name } } } }";
        let found = server.data(ANNA, query, json!({ "id": pets })).await["document"]["topics"].clone();
        assert!(found[0]["name"].as_str().unwrap().contains("dog"), "{found:#}");
        assert_eq!(found[0]["documents"], json!([{ "id": pets }]), "{found:#}");

        // A conversation about the same joins the topic.
        let session = server.session(ANNA).await;
        for words in [
            "My dog barks at the guests of the office.",
            "The dog sleeps under my desk in a basket.",
            "I bought a new leash for the dog.",
            "The dog had no water in its bowl.",
            "A puppy is a small dog.",
            "Our dog needs a blanket.",
            "The carpet is full of dog hair.",
            "Every dog has its day.",
            "The neighbour's dog is friendly.",
        ] {
            server.say(ANNA, &session, words).await;
        }
        let joined = async || {
            topics(&server, ANNA, false)
                .await
                .iter()
                .any(|(name, documents, messages)| name.contains("dog") && *documents == 1 && *messages >= 6)
        };
        for _ in 0..600 {
            if joined().await {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let all = topics(&server, ANNA, false).await;
        assert!(joined().await, "{all:?}");
        assert!(all.iter().any(|(name, documents, _)| name.contains("tax") && *documents == 1), "{all:?}");
        // Others have topics of their own.
        assert!(topics(&server, BORIS, false).await.iter().all(|(name, ..)| !name.contains("tax")));
        assert!(topics(&server, BORIS, true).await.iter().any(|(name, documents, _)| name.contains("tax") && *documents == 1));
        let by_id = "query($id: ID!) { topic(id: $id) { name } }";
        let id = &found[0]["id"];
        assert!(server.data(ANNA, by_id, json!({ "id": id })).await["topic"]["name"].is_string());
        assert_eq!(server.data(BORIS, by_id, json!({ "id": id })).await["topic"], Value::Null);
        // Deleted texts leave no topic.
        let deleted = server.http.delete(server.url(&format!("/documents/{pets}"))).header("x-test-user", ANNA).send().await.unwrap();
        assert_eq!(deleted.status(), 204);
        let delete = "mutation($id: ID!) { deleteSession(input: { id: $id }) { errors { code } } }";
        server.data(ANNA, delete, json!({ "id": session })).await;
        let left = topics(&server, ANNA, false).await;
        assert!(
            !left.is_empty() && left.iter().all(|(name, documents, messages)| !name.contains("dog") && *documents == 1 && *messages == 0),
            "{left:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_and_messages_are_found_by_what_they_link_to() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let _work = server.work();
        let words = "Read HTTPS://Example.org:443/guide#part and https://example.org/guide, and then http://example.org/other.";
        let id = add(&server, ANNA, words, false).await;
        add(&server, ANNA, "Nothing to read.", false).await;
        let session = server.session(ANNA).await;
        let message = server.say(ANNA, &session, "The guide is at https://example.org/guide#top now.").await;
        server.say(ANNA, &session, "The other one is at http://example.org/other?x=1.").await;
        let query = "query($uri: String!) { documents(filter: { linksTo: $uri }) { totalCount nodes { id links } }
            messagesLinkingTo(uri: $uri) { nodes { id resources { uri } } } }";
        for uri in ["https://example.org/guide", "https://EXAMPLE.org/guide#elsewhere"] {
            let found = server.data(ANNA, query, json!({ "uri": uri })).await;
            let links = json!(["https://example.org/guide", "http://example.org/other"]);
            assert_eq!(found["documents"], json!({ "totalCount": 1, "nodes": [{ "id": id, "links": links }] }), "{uri}");
            let resources = json!([{ "uri": "https://example.org/guide" }]);
            assert_eq!(found["messagesLinkingTo"]["nodes"], json!([{ "id": message, "resources": resources }]), "{uri}");
        }
        let none = server.data(BORIS, query, json!({ "uri": "https://example.org/guide" })).await;
        assert_eq!((&none["documents"]["totalCount"], &none["messagesLinkingTo"]["nodes"]), (&json!(0), &json!([])));
        assert_eq!(server.code(ANNA, query, json!({ "uri": "guide" })).await, "INVALID_LINK");
    }
}
