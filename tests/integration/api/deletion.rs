//! Deletion, by a client, of a session that is too large for one transaction.

use std::time::{Duration, Instant};

use recall_domain::{Caller, Role, SessionId, Timestamp, ViewerRole};
use recall_usecases::SendMessage;
use serde_json::{Value, json};

use super::{
    harness::{ANNA, BORIS, Server, text},
    streams,
};

const DELETE: &str = "mutation($id: ID!) { deleteSession(input: { id: $id }) {
    deletedId receipt { messages factsDeleted factsReweighed entitiesDeleted } errors { code path } } }";

fn caller(user: &str) -> Caller {
    Caller::verified(user.parse().unwrap(), ViewerRole::User)
}

/// Imports this many messages with a role that is not processed for facts.
async fn fill(server: &Server, user: &str, session: &str, messages: usize) {
    let id: SessionId = session.parse().unwrap();
    for chunk in (0..messages).collect::<Vec<_>>().chunks(500) {
        let sentence = |n: &usize| SendMessage {
            session: id,
            text: format!("Sentence {n} about gardens."),
            role: Role::Assistant,
            speaker: None,
            sent_at: None,
            source_metadata: None,
            client_message_id: None,
            resources: Vec::new(),
            answer_from: Default::default(),
        };
        server.usecases.import(&caller(user), id, chunk.iter().map(sentence).collect()).await.unwrap();
    }
}

/// Waits until only `messages` messages of this user are left in the store.
async fn wait_until_deleted(server: &Server, user: &str, messages: u64) {
    let started = Instant::now();
    while server.store.holdings(&caller(user)).await.unwrap().get("messages").copied().unwrap_or(0) != messages {
        assert!(started.elapsed() < crate::server::TIMEOUT, "the rows of the session are still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_large_session_disappears_at_once() {
    let server = Server::start().await;
    let (large, small) = (server.session(ANNA).await, server.session(ANNA).await);
    server.fact(ANNA, &large, ["Mary", "LIVES_IN", "Lyon"]).await;
    let kept = server.fact(ANNA, &large, ["Mary", "LIKES", "Ann"]).await;
    assert_eq!(server.fact(ANNA, &small, ["Mary", "LIKES", "Ann"]).await, kept);
    fill(&server, ANNA, &large, 600).await;
    let message = server.say(ANNA, &large, "The gardens of Lyon.").await;
    let mut socket = streams::connect(&server, ANNA).await;
    streams::follow(&mut socket, "1", &large, None).await;

    let done = server.data(ANNA, DELETE, json!({ "id": large })).await["deleteSession"].clone();
    assert_eq!((&done["errors"], &done["deletedId"]), (&json!([]), &json!(large)));
    assert_eq!(done["receipt"], json!({ "messages": 603, "factsDeleted": 1, "factsReweighed": 1, "entitiesDeleted": 1 }));
    let bye = loop {
        let heard = streams::hear(&mut socket).await;
        if heard["payload"]["data"]["sessionEvents"]["type"] == "bye" {
            break heard["payload"]["data"]["sessionEvents"]["data"]["code"].clone();
        }
    };
    assert_eq!(bye, "deleted");

    let query = "query($session: ID!, $message: ID!) { session(id: $session) { id } message(id: $message) { id }
        sessions { totalCount } facts { nodes { id evidence { nodes { message { session { id } } } } } } entities { nodes { name } }
        context(input: { query: \"What of the gardens of Lyon?\" }) { messages { message { id } } } }";
    let seen = server.data(ANNA, query, json!({ "session": large, "message": message })).await;
    assert_eq!((&seen["session"], &seen["message"], &seen["sessions"]["totalCount"]), (&Value::Null, &Value::Null, &json!(1)));
    assert_eq!(seen["facts"]["nodes"], json!([{ "id": kept, "evidence": { "nodes": [{ "message": { "session": { "id": small } } }] } }]));
    let messages = seen["context"]["messages"].as_array().unwrap();
    assert!(messages.len() <= 1 && messages.iter().all(|m| m["message"]["id"] != message), "{messages:?}");
    let names: Vec<&Value> = seen["entities"]["nodes"].as_array().unwrap().iter().map(|e| &e["name"]).collect();
    assert!(!names.contains(&&json!("Lyon")) && names.contains(&&json!("Mary")), "{names:?}");

    for (user, id) in [(ANNA, &large), (BORIS, &small)] {
        let again = server.data(user, DELETE, json!({ "id": id })).await["deleteSession"].clone();
        assert_eq!((&again["errors"][0]["code"], &again["deletedId"]), (&json!("NOT_FOUND"), &Value::Null));
    }
    wait_until_deleted(&server, ANNA, 1).await;
    assert_eq!(server.data(ANNA, "{ sessions { nodes { id } } }", json!({})).await["sessions"]["nodes"], json!([{ "id": small }]));
}

/// Measures how long another user's messages wait while a large session is deleted. For people:
/// `RECALL_TEST_MESSAGES=100000 cargo test --release --test integration -- --ignored --nocapture others_write_while`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn others_write_while_large_session_is_deleted() {
    let messages: usize = std::env::var("RECALL_TEST_MESSAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    for stored in crate::stored::Stored::all().await {
        let engine = stored.store.engine();
        let server = Server::start_on(stored).await;
        let others = server.session(BORIS).await;
        for at_once in [true, false] {
            let large = server.session(ANNA).await;
            fill(&server, ANNA, &large, messages).await;
            let (store, usecases, id) = (server.store.clone(), server.usecases.clone(), large.parse().unwrap());
            let started = Instant::now();
            let deletion = tokio::spawn(async move {
                if at_once {
                    store.delete_session(&caller(ANNA), id, Timestamp::UNIX_EPOCH, &|_, _| None).await.unwrap();
                } else {
                    usecases.delete_session(&caller(ANNA), id).await.unwrap();
                }
            });
            let (mut waits, mut answered) = (Vec::new(), None);
            let tomorrow = server.usecases.now() + Duration::from_secs(86_400);
            while !server.store.sessions_by_id(&caller(ANNA), &[id]).await.unwrap().is_empty()
                || !server.store.hidden_sessions(tomorrow).await.unwrap().is_empty()
            {
                let asked = Instant::now();
                text(&server.send(BORIS, json!({ "sessionId": others, "text": "Meanwhile." })).await["message"]["id"]);
                waits.push(asked.elapsed());
                if deletion.is_finished() {
                    answered.get_or_insert_with(|| started.elapsed());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            deletion.await.unwrap();
            waits.sort();
            let at = |share: usize| waits.get(waits.len() * share / 100).or(waits.last()).copied().unwrap_or_default();
            println!(
                "{engine}, {messages} messages, {}: answered after {:?}, gone after {:?}; {} messages of another: median {:?}, p99 {:?}, longest {:?}",
                if at_once { "in one transaction" } else { "in steps" },
                answered.unwrap_or_else(|| started.elapsed()),
                started.elapsed(),
                waits.len(),
                at(50),
                at(99),
                at(100),
            );
        }
    }
}
