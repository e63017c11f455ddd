//! Tests ends that count only if a fact is known.

use super::*;
use recall_domain::PossibleEnd;

fn lives_in(message: u128, object: &'static str) -> StatedFact {
    StatedFact {
        message,
        day: i64::try_from(message).unwrap(),
        subject: "Rima",
        relation: "LIVES_IN",
        object,
        polarity: Polarity::Affirmed,
        confidence: 1.0,
    }
}

/// A message on a day that says only that something of Rima has ended: "She moved out", "She left Oslo".
fn end(day: u128, relation: &str, object: Option<&'static str>) -> Statement {
    let mut s = lives_in(day, object.unwrap_or("Rima")).statement();
    s.extraction.facts.clear();
    let subject = if object.is_some() { Party::Mention(1) } else { Party::Mention(0) };
    let object = object.map(|_| Party::Mention(0));
    s.extraction.mentions.truncate(if object.is_some() { 2 } else { 1 });
    s.extraction.possible_ends =
        vec![PossibleEnd { subject, relation: relation.into(), object, confidence: 0.8, span: Span { start: 0, end: 4 } }];
    s
}

fn statuses(memory: &TestMemory) -> Vec<(String, FactStatus)> {
    memory.snapshot().into_iter().map(|(name, _, _, status)| (name, status)).collect()
}

#[test]
fn end_without_object_ends_the_known_fact() {
    let mut memory = TestMemory::default();
    memory.apply_claim(&lives_in(1, "Oslo"));
    memory.apply_statement(&end(2, "LIVES_IN", None));
    assert_eq!(statuses(&memory), [("Rima LIVES_IN Oslo".to_owned(), FactStatus::Ended)]);
}

#[test]
fn end_of_an_unknown_fact_changes_nothing() {
    let mut memory = TestMemory::default();
    memory.apply_claim(&lives_in(1, "Oslo"));
    memory.apply_statement(&end(2, "LIKES", None));
    memory.apply_statement(&end(3, "LIVES_IN", Some("Bergen")));
    assert_eq!(statuses(&memory), [("Rima LIVES_IN Oslo".to_owned(), FactStatus::Active)]);
    memory.apply_statement(&end(4, "LIVES_IN", Some("Oslo")));
    assert_eq!(statuses(&memory), [("Rima LIVES_IN Oslo".to_owned(), FactStatus::Ended)]);
}

#[test]
fn end_of_what_the_message_states_counts() {
    let mut memory = TestMemory::default();
    let mut s = end(1, "LIVES_IN", Some("Oslo"));
    s.extraction.facts = lives_in(1, "Oslo").statement().extraction.facts;
    memory.apply_statement(&s);
    assert_eq!(statuses(&memory), [("Rima LIVES_IN Oslo".to_owned(), FactStatus::Ended)]);
}

#[test]
fn partner_is_told_by_words_and_is_no_relative() {
    for (text, expected) in [
        ("Rima is dating Oslo", FactStatus::Ended),
        ("Rima is married to Oslo", FactStatus::Ended),
        ("Rima knows Oslo", FactStatus::Active),
    ] {
        let mut memory = TestMemory::default();
        let mut told = StatedFact { relation: "KNOWS", ..lives_in(1, "Oslo") }.statement();
        told.text = UserText::from(text);
        told.extraction.facts[0].span = Span { start: 0, end: text.chars().count() as u32 };
        memory.apply_statement(&told);
        memory.apply_statement(&end(2, "KNOWS", None));
        assert_eq!(statuses(&memory), [("Rima KNOWS Oslo".to_owned(), expected)], "{text}");
    }
}

#[test]
fn end_without_object_is_unclear_if_several_facts_are_known() {
    let mut memory = TestMemory::default();
    for (message, object) in [(1, "tea"), (2, "chess")] {
        memory.apply_claim(&StatedFact { relation: "LIKES", ..lives_in(message, object) });
    }
    memory.apply_statement(&end(3, "LIKES", None));
    assert!(statuses(&memory).iter().all(|(_, status)| *status == FactStatus::Active));
}
