//! Answers that may use only some sources, collections and documents.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api::harness::{ANNA, BORIS, Server, text},
    ingestion::settled,
    server::within,
    stored::Stored,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_is_limited_to_sources_collections_and_documents() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let session = server.session(ANNA).await;
        let mut ids = Vec::new();
        let lines =
            [("a", "The travel budget of the Lisbon office is 4200 euros."), ("b", "The travel budget of the Porto office is 900 euros.")];
        {
            let _work = server.work();
            server.say(ANNA, &session, "My travel budget is 77 euros.").await;
            for (collection, words) in lines {
                let response = server.upload(ANNA, "x.txt", words.as_bytes(), &[("collection", collection)]).await;
                ids.push(text(&response.json::<Value>().await.unwrap()["id"]));
                settled(&server, ANNA, &ids[ids.len() - 1]).await;
            }
        }
        let question = "How high is the travel budget of the office?";
        let mut asked = Vec::new();
        for (limits, expected) in [
            (json!({ "sources": ["DOCUMENTS"], "documentIds": [ids[0]] }), Some(0)),
            (json!({ "sources": ["DOCUMENTS"], "documentIds": [ids[1]] }), Some(1)),
            (json!({ "sources": ["DOCUMENTS"], "collections": ["b"] }), Some(1)),
            (json!({ "sources": ["DOCUMENTS"], "collections": ["b"], "documentIds": [ids[0]] }), None),
        ] {
            let mut input = json!({ "sessionId": session, "text": question });
            input.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
            let sent = server.send(ANNA, input).await;
            assert_eq!(sent["errors"], json!([]), "{sent}");
            asked.push((text(&sent["message"]["id"]), expected));
        }
        // The worker starts only now, as after a restart.
        let _work = server.work();
        for (message, expected) in asked {
            let query = "query($id: ID!) { message(id: $id) { answer { text citations { chunk { id } document { id } } } } }";
            let answer = async {
                loop {
                    let seen = server.data(ANNA, query, json!({ "id": message })).await["message"]["answer"].clone();
                    if !seen.is_null() {
                        break seen;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            let answer = within("no answer comes", answer).await;
            let cited: Vec<&Value> = answer["citations"].as_array().unwrap().iter().map(|c| &c["document"]["id"]).collect();
            let expected: Vec<String> = expected.map(|n: usize| ids[n].clone()).into_iter().collect();
            assert_eq!(json!(cited), json!(expected), "{answer:#}");
        }
        // REST has the same limits, and names them in its own way.
        let ask = json!({ "message": question, "sources": ["documents"], "document_ids": [ids[1]] });
        let chat = server.post(ANNA, "/chat").header("prefer", "wait=30");
        let answer: Value = chat.json(&ask).send().await.unwrap().json().await.unwrap();
        assert!(answer["llm_response"].as_str().unwrap().contains("900"), "{answer:#}");
        assert_eq!(answer["citations"][0]["chunk"]["document_id"], json!(ids[1]), "{answer:#}");

        // What is not the caller's, or is no name, stores nothing.
        let theirs = server.session(BORIS).await;
        let unknown = uuid::Uuid::from_u128(7).to_string();
        for id in [&ids[0], &unknown] {
            let sent = server.send(BORIS, json!({ "sessionId": theirs, "text": question, "documentIds": [id] })).await;
            assert_eq!(sent["errors"][0]["code"], "NOT_FOUND", "{sent}");
            assert_eq!(sent["errors"][0]["path"], json!(["input", "documentIds"]), "{sent}");
            let chat = server.post(BORIS, "/chat").json(&json!({ "session_id": theirs, "message": question, "document_ids": [id] }));
            let refused = chat.send().await.unwrap();
            assert_eq!(refused.status(), 404);
            assert!(refused.text().await.unwrap().contains("document_ids"));
        }
        let sent = server.send(BORIS, json!({ "sessionId": theirs, "text": question, "collections": ["not a name"] })).await;
        assert_eq!((&sent["errors"][0]["code"], &sent["errors"][0]["path"]), (&json!("COLLECTION_NAME"), &json!(["input", "collections"])));
        let many = vec![unknown; 101];
        let sent = server.send(BORIS, json!({ "sessionId": theirs, "text": question, "documentIds": many })).await;
        assert_eq!(sent["errors"][0]["code"], "TOO_MANY_DOCUMENTS");
        let kept = server.data(BORIS, "query($id: ID!) { session(id: $id) { messages { nodes { id } } } }", json!({ "id": theirs })).await;
        assert_eq!(kept["session"]["messages"]["nodes"], json!([]));
    }
}
