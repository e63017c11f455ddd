//! Talk about documents next to what the user says: where an answer comes from, and what stays of what.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{chat::Chat, server::TIMEOUT};

const LEASE: &str = "# Lease\n\n## 4 Deposit\n\nThe Tenants pay a deposit of two months' rent, that is €2,700. The deposit is returned within 30 days.\n\n\
    ## 5 Rent\n\nThe monthly rent is €1,350. If a payment is more than ten days late, a late fee of €25 is charged.\n\n\
    ## 6 Animals\n\nDogs are not permitted.\n";

impl Chat {
    /// Adds a text as a document, and waits until it is read. Returns its id.
    async fn add_document(&self, path: &str, text: &str) -> String {
        let add = "mutation($t: String!, $p: String!) { addDocument(input: { text: $t, path: $p }) { document { id } errors { code } } }";
        let added = self.server.graphql(add, json!({ "t": text, "p": path })).await;
        let id = added["addDocument"]["document"]["id"].as_str().unwrap_or_default().to_owned();
        let started = Instant::now();
        while self.document(&id).await["status"] != "COMPLETED" {
            assert!(started.elapsed() < TIMEOUT, "{path} is not read");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        id
    }

    async fn document(&self, id: &str) -> Value {
        let query = "query($id: ID!) { document(id: $id) { status summary chunks(first: 20) { nodes { text } } } }";
        self.server.graphql(query, json!({ "id": id })).await["document"].clone()
    }

    /// Asks in one document and returns the text of the answer.
    async fn ask_in(&self, document: &str, question: &str) -> String {
        let input = json!({ "sessionId": self.session, "text": question, "sources": ["DOCUMENTS"], "documentIds": [document] });
        let id = self.server.send(input).await.unwrap()["id"].as_str().unwrap_or_default().to_owned();
        let query = "query($id: ID!) { message(id: $id) { kind answer { text } facts { id } } }";
        let started = Instant::now();
        loop {
            let message = self.server.graphql(query, json!({ "id": id })).await["message"].clone();
            if let Some(text) = message["answer"]["text"].as_str() {
                assert_eq!((&message["kind"], &message["facts"]), (&json!("QUESTION"), &json!([])), "{question}");
                return text.to_owned();
            }
            assert!(started.elapsed() < TIMEOUT, "no answer to {question}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn words_of_a_command_forget_messages_and_no_documents() {
    let chat = Chat::of(&["My deposit for the old flat was 900 euros."]).await;
    let lease = chat.add_document("lease.md", LEASE).await;
    let before = chat.document(&lease).await;
    assert!(chat.ask("Forget what I said about the deposit").await.starts_with("Done. I forgot"));
    assert_eq!(chat.document(&lease).await, before);
    assert!(!chat.ask("What did I tell you about the deposit?").await.contains("900"));
    let again = chat.ask("Forget everything about the deposit").await;
    assert!(again.contains("forgot nothing") && chat.document(&lease).await == before, "{again}");
}

#[tokio::test]
async fn question_names_the_document_that_answers() {
    let chat = Chat::of(&["I pay 1,300 euros rent.", "I have two dogs."]).await;
    chat.add_document("lease.md", LEASE).await;
    for (question, expected) in [
        ("What is the rent according to the lease?", "1,350"),
        ("What does the lease say about dogs?", "not permitted"),
        ("Hi, can you tell me how high the rent is in lease.md? Thanks!", "1,350"),
    ] {
        let answer = chat.ask(question).await;
        assert!(answer.contains("lease.md") && answer.contains(expected), "{question}: {answer}");
    }
    // A name that no document has changes nothing.
    assert!(chat.ask("What rent do I pay?").await.contains("1,300"));
}

#[tokio::test]
async fn words_to_search_for_are_a_question_and_no_memory() {
    let chat = Chat::of(&[]).await;
    let lease = chat.add_document("lease.md", LEASE).await;
    assert!(chat.ask_in(&lease, "late fee").await.contains("€25"));
    chat.say("late fee").await;
    let answer = chat.ask("What is the late fee?").await;
    assert!(answer.contains("€25"), "{answer}");
}

#[tokio::test]
async fn earlier_questions_do_not_hide_what_answers_them() {
    let chat = Chat::of(&[]).await;
    chat.add_document("lease.md", LEASE).await;
    for _ in 0..3 {
        chat.ask("How high is the late fee?").await;
    }
    let query = "{ context(input: { query: \"How high is the late fee?\", first: 3 }) { chunks { chunk { text } } messages { message { text } } } }";
    let found = chat.server.graphql(query, json!({})).await;
    assert!(found["context"]["chunks"][0]["chunk"]["text"].as_str().unwrap_or_default().contains("late fee"), "{found:#}");
}

#[tokio::test]
async fn typing_errors_in_questions_are_corrected_by_the_document() {
    let chat = Chat::of(&[]).await;
    let lease = chat.add_document("lease.md", LEASE).await;
    // The second time, an earlier question has the same error.
    for _ in 0..2 {
        let answer = chat.ask("How much is the depsoit?").await;
        assert!(answer.contains("2,700"), "{answer}");
    }
    let answer = chat.ask_in(&lease, "How high is the monhtly rent?").await;
    assert!(answer.contains("1,350"), "{answer}");
    // A word that is none of the document's stays what it is.
    let answer = chat.ask_in(&lease, "How much is the debit?").await;
    assert!(!answer.contains("2,700"), "{answer}");
}

#[tokio::test]
async fn question_with_a_synonym_is_answered_from_the_document() {
    let chat = Chat::of(&[]).await;
    let contract = "# Contract\n\n## Notice\n\nBoth parties may end the contract with a notice period of three months.\n\n## Pay\n\nThe salary is paid monthly.\n";
    let contract = chat.add_document("contract.md", contract).await;
    let answer = chat.ask_in(&contract, "How long is the cancellation period?").await;
    assert!(answer.contains("three months"), "{answer}");
}

#[tokio::test]
async fn row_of_a_table_is_quoted_with_the_names_of_its_columns() {
    let chat = Chat::of(&[]).await;
    let plans = chat.add_document("plans.csv", "Plan,Price per month,Users\nBasic,€10,1\nPro,€20,5\nTeam,€50,20\n").await;
    let answer = chat.ask_in(&plans, "What does the Pro plan cost?").await;
    assert!(answer.contains("“Plan: Pro | Price per month: €20 | Users: 5”"), "{answer}");
}

#[tokio::test]
async fn who_asks_although_a_document_names_the_who() {
    let chat = Chat::of(&["My dentist is Dr Lowe."]).await;
    chat.add_document("who.md", "The WHO is in Geneva.\n").await;
    let answer = chat.ask("Who is my dentist?").await;
    assert!(answer.contains("Lowe"), "{answer}");
}
