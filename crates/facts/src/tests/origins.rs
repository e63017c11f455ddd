//! Tests of places that somebody comes from, and of a message that contradicts itself.

use super::*;

fn told(message: u128, text: &str, place: &'static str) -> Statement {
    let mut s = say(message, message as i64, "I", "LIVES_IN", place, Polarity::Affirmed).statement();
    s.text = UserText::from(text);
    s.extraction.facts[0].span = Span { start: 0, end: text.chars().count() as u32 };
    s
}

fn homes(memory: &TestMemory) -> Vec<(String, FactStatus)> {
    let mut homes: Vec<_> = memory.facts.values().map(|f| (memory.entities[&f.object].name.clone(), f.status)).collect();
    homes.sort_by(|a, b| a.0.cmp(&b.0));
    homes
}

#[test]
fn home_ends_origins_and_origins_do_not_end_each_other() {
    let mut memory = TestMemory::default();
    memory.apply_statement(&told(1, "I am from Cork", "Cork"));
    memory.apply_statement(&told(2, "I was born in Leeds", "Leeds"));
    assert_eq!(homes(&memory), [("Cork".to_owned(), FactStatus::Active), ("Leeds".to_owned(), FactStatus::Active)]);
    memory.apply_statement(&told(3, "I live in York", "York"));
    let ended = ["Cork", "Leeds"].map(|place| (place.to_owned(), FactStatus::Ended));
    assert_eq!(homes(&memory), [ended[0].clone(), ended[1].clone(), ("York".to_owned(), FactStatus::Active)]);
    assert_eq!(memory.fact("You LIVES_IN York").opposition, 0.0);
}

#[test]
fn origin_told_after_a_home_is_dropped() {
    let mut memory = TestMemory::default();
    memory.apply_statement(&told(1, "I live in York", "York"));
    memory.apply_statement(&told(2, "I am from Cork", "Cork"));
    assert_eq!(homes(&memory), [("York".to_owned(), FactStatus::Active)]);
    // A plain contradiction stays beside its rival.
    memory.apply_statement(&told(3, "I live in Bath", "Bath"));
    assert_eq!(homes(&memory), [("Bath".to_owned(), FactStatus::Active), ("York".to_owned(), FactStatus::Active)]);
}

#[test]
fn message_that_denies_what_it_states_counts_for_both() {
    let mut memory = TestMemory::default();
    let mut s = say(1, 1, "I", "LIKES", "tea", Polarity::Affirmed).statement();
    let denied = CandidateFact { polarity: Polarity::Negated, ..s.extraction.facts[0].clone() };
    s.extraction.facts.push(denied);
    memory.apply_statement(&s);
    let fact = memory.fact("You LIKES tea");
    assert_eq!((fact.support, fact.opposition), (1.0, 1.0));
}
