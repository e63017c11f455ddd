//! Measures recall on the conversations of `tests/data/recall`: a diary, a support chat and a technical chat.
//!
//! The measurement is deterministic, so the tests notice a change of the ranking that loses more than a little.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use chrono::NaiveDateTime;
use serde_json::Value;
use uuid::Uuid;

use super::{
    fixture::{MemoryFeed, TestMessage},
    *,
};
use recall_domain::{SessionId, UserId, ViewerRole};
use recall_embedding::LocalEmbedder;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn id(name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
}

/// Generates `count` sentences of an unrelated handbook, with their session; a session has fifty.
fn handbook(count: usize) -> impl Iterator<Item = (usize, String)> {
    const WHO: [&str; 8] = [
        "Accounting",
        "The facility desk",
        "The night shift",
        "Each contractor",
        "The safety officer",
        "Payroll",
        "The depot",
        "The supervisor",
    ];
    const DOES: [&str; 7] = ["files", "approves", "archives", "inspects", "countersigns", "forwards", "reviews"];
    const WHAT: [&str; 9] = [
        "the travel form",
        "the forklift log",
        "invoice batches",
        "the visitor list",
        "every purchase order",
        "the fire drill report",
        "the mileage sheet",
        "the inventory",
        "the parking permit",
    ];
    const WHEN: [&str; 6] =
        ["by the end of the quarter", "before noon", "within ten working days", "once a year", "at the close of business", "without delay"];
    (0..count).map(|n| {
        let text = format!("{} {} {} {}, as rule {n} says.", WHO[n % 8], DOES[n / 3 % 7], WHAT[n / 5 % 9], WHEN[n / 7 % 6]);
        (n / 50, text)
    })
}

/// Returns recall@3 and recall@10 over all questions, in percent.
///
/// A second memory with `handbook_size` sentences of a handbook is searched at the same time.
async fn recall(tuning: Tuning, handbook_size: usize) -> (f64, f64) {
    recall_with(tuning, handbook_size, false).await
}

/// Like [`recall`]. With `swapped`, the handbook is the caller's own memory and the conversations are the second one.
async fn recall_with(tuning: Tuning, handbook_size: usize, swapped: bool) -> (f64, f64) {
    let embedder = LocalEmbedder::load().unwrap();
    let feed = Arc::new(MemoryFeed::default());
    let caller = |t: &Value| Caller::verified(UserId(id(t["conversation"].as_str().unwrap())), ViewerRole::User);
    let message = |t: &Value, turn: &Value| MessageId(id(&format!("{} {turn}", t["conversation"])));
    for t in lines(include_str!("../../../tests/data/recall/turns.jsonl")) {
        let text = t["text"].as_str().unwrap();
        feed.add(TestMessage {
            caller: &caller(&t),
            message: message(&t, &t["turn"]),
            session: SessionId(id(&format!("{} {}", t["conversation"], t["session"]))),
            speaker: t["speaker"].as_str(),
            sent_at: NaiveDateTime::parse_from_str(t["date"].as_str().unwrap(), "%I:%M %p on %d %B, %Y").unwrap().and_utc(),
            text,
            embedding: embedder.vector(text).0,
        });
    }
    let other = Caller::verified(UserId::SHARED, ViewerRole::User);
    for (session, text) in handbook(handbook_size) {
        feed.add(TestMessage {
            caller: &other,
            message: MessageId(id(&text)),
            session: SessionId(id(&format!("handbook {session}"))),
            speaker: None,
            sent_at: chrono::DateTime::UNIX_EPOCH,
            text: &text,
            embedding: embedder.vector(&text).0,
        });
    }
    let index = RecallIndex::new(feed, &embedder, RecallIndexOptions { tuning, ..RecallIndexOptions::default() });
    let questions = lines(include_str!("../../../tests/data/recall/questions.jsonl"));
    let (mut at_3, mut at_10) = (0.0, 0.0);
    for question in &questions {
        let text = question["question"].as_str().unwrap();
        let query = IndexQuery {
            text: text.into(),
            embedding: Some(embedder.vector(text)),
            model: embedder.model().to_owned(),
            scope: Scope::User,
            sources: recall_ports::IndexSources::default(),
            first: 10,
            methods: vec![Method::Vector, Method::Keyword],
            until: None,
            exclude: None,
            boosts: Vec::new(),
            second: (handbook_size > 0).then_some(if swapped { caller(question) } else { other }),
        };
        let asking = if swapped { other } else { caller(question) };
        let hits = index.search(&asking, &query).await.unwrap().hits;
        let wanted: Vec<MessageId> = question["evidence"].as_array().unwrap().iter().map(|turn| message(question, turn)).collect();
        let share =
            |k: usize| wanted.iter().filter(|id| hits.iter().take(k).any(|h| h.message == **id)).count() as f64 / wanted.len() as f64;
        at_3 += share(3);
        at_10 += share(10);
    }
    (100.0 * at_3 / questions.len() as f64, 100.0 * at_10 / questions.len() as f64)
}

#[tokio::test]
async fn evidence_is_found_and_surrounding_messages_help() {
    let (at_3, at_10) = recall(Tuning::default(), 0).await;
    assert!(at_3 >= 79.0 && at_10 >= 89.0, "recall@3 {at_3:.1}, recall@10 {at_10:.1}");
    let alone = Tuning { before: [0.0; 4], after: [0.0; 2], length_before: 0.0, ..Tuning::default() };
    let (alone, _) = recall(alone, 0).await;
    assert!(at_3 > alone + 3.0, "recall@3 {at_3:.1}, {alone:.1} for words of a message alone");
}

#[tokio::test]
async fn unrelated_second_memory_hides_little() {
    let (alone_3, alone_10) = recall(Tuning::default(), 0).await;
    for size in [50, 2_000] {
        for swapped in [false, true] {
            let (at_3, at_10) = recall_with(Tuning::default(), size, swapped).await;
            println!(
                "{size} sentences, swapped: {swapped}: recall@3 {at_3:.1} (alone {alone_3:.1}), recall@10 {at_10:.1} (alone {alone_10:.1})"
            );
            // Two memories share the ten hits.
            let least = if swapped { 5.0 } else { 2.0 };
            assert!(at_3 >= alone_3 - least && at_10 >= alone_10 - least, "{size}, {swapped}: {at_3:.1}, {at_10:.1}");
        }
    }
}
