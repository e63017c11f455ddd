//! Tests the invariants of weighing and deciding with generated histories.

use std::collections::HashMap;

use proptest::prelude::*;
use uuid::Uuid;

mod origins;
mod possible_ends;
mod restore;

use super::decide::{KnownFacts, decide};
use super::message_entities::{MessageCues, MessageEntities, lookup_terms_of};
use super::resolve::KnownEntities;
use super::weigh::{apply, relative_weight, reweigh, standing};
use super::{Statement, is_rival};
use recall_domain::{
    CandidateFact, Entity, EntityId, EntityKey, EntityType, EventBody, Evidence, Extraction, Fact, FactId, FactStatus, Mention, MessageId,
    MessageKind, Ontology, Party, Polarity, SessionId, Span, Stance, Timestamp, UserText,
    belief::{decay, half_life},
    event::FactChange,
};
use recall_ports::KnowledgeCommit;

const ONTOLOGY: &str = r#"
[[relation]]
name = "LIKES"
phrase = "likes"
description = ""
opposite = "DISLIKES"
half_life_days = 365
[[relation]]
name = "DISLIKES"
phrase = "dislikes"
description = ""
opposite = "LIKES"
half_life_days = 365
[[relation]]
name = "LIVES_IN"
phrase = "lives in"
description = ""
functional = true
origins = ["from", "born"]
half_life_days = 730
[[relation]]
name = "KNOWS"
phrase = "knows"
description = ""
symmetric = true
half_life_days = 365
"#;

fn ontology() -> Ontology {
    Ontology::parse(ONTOLOGY).unwrap()
}

fn day(n: i64) -> Timestamp {
    Timestamp::from_timestamp_millis(1_700_000_000_000 + n * 86_400_000).unwrap()
}

/// The knowledge of one user, updated by applying plans as a store does.
#[derive(Default, Clone)]
struct TestMemory {
    entities: HashMap<EntityId, Entity>,
    keys: Vec<(EntityKey, EntityId)>,
    facts: HashMap<FactId, Fact>,
    evidence: Vec<Evidence>,
    fresh: u128,
    /// How many facts the next message may add.
    fact_budget: Option<usize>,
}

/// One statement, "subject relation object", with its day.
#[derive(Clone, Debug)]
struct StatedFact {
    message: u128,
    day: i64,
    subject: &'static str,
    relation: &'static str,
    object: &'static str,
    polarity: Polarity,
    confidence: f64,
}

impl StatedFact {
    fn statement(&self) -> Statement {
        let mention = |name: &str| Mention {
            name: name.into(),
            entity_type: EntityType::Thing,
            span: Span { start: 0, end: 1 },
            confidence: 1.0,
            description: None,
        };
        let fact = |subject| CandidateFact {
            subject,
            relation: self.relation.into(),
            object: Party::Mention(0),
            value: None,
            polarity: self.polarity,
            confidence: self.confidence,
            span: Span { start: 0, end: 4 },
        };
        let (mentions, facts) = match self.subject {
            "I" => (vec![mention(self.object)], vec![fact(Party::Speaker)]),
            s => (vec![mention(self.object), mention(s)], vec![fact(Party::Mention(1))]),
        };
        Statement {
            message: MessageId(Uuid::from_u128(self.message)),
            session: SessionId(Uuid::nil()),
            at: day(self.day),
            text: UserText::from("text"),
            speaker: None,
            is_impersonal: false,
            chunk_event: None,
            extraction: Extraction { mentions, facts, ..Extraction::empty(MessageKind::Statement) },
        }
    }
}

impl TestMemory {
    fn apply_claim(&mut self, said: &StatedFact) -> KnowledgeCommit {
        self.apply_statement(&said.statement())
    }

    fn apply_statement(&mut self, s: &Statement) -> KnowledgeCommit {
        let ontology = ontology();
        let (keys, _) = lookup_terms_of(s);
        let known: Vec<_> =
            self.keys.iter().filter(|(k, _)| keys.contains(k)).map(|(k, id)| (k.clone(), self.entities[id].clone())).collect();
        let viewer = self.entities.values().find(|e| e.is_viewer).cloned();
        let mut counter = self.fresh;
        let mut ids = || {
            counter += 1;
            Uuid::from_u128(counter)
        };
        let known_entities = KnownEntities { viewer, by_key: known, ..KnownEntities::default() };
        let message_entities = MessageEntities::resolve(s, &MessageCues::of(s), &known_entities, &mut ids, day(1000));
        let wanted = message_entities.fact_keys(s, &ontology);
        let facts: Vec<Fact> = self
            .facts
            .values()
            .filter(|f| wanted.iter().any(|k| k.subject == f.subject && k.relation == f.relation && k.object.is_none_or(|o| o == f.object)))
            .cloned()
            .collect();
        let evidence: Vec<Evidence> = self.evidence.iter().filter(|e| facts.iter().any(|f| f.id == e.fact)).cloned().collect();
        let counted = evidence.iter().filter(|e| e.message == s.message).map(|e| e.fact).collect();
        let known = KnownFacts {
            version: 0,
            facts,
            counted,
            evidence,
            entities: self.entities.values().cloned().collect(),
            fact_budget: self.fact_budget,
        };
        let plan = decide(s, &message_entities, known, &ontology, &mut ids, day(1000));
        self.fresh = counter;
        for e in &plan.entities {
            self.entities.insert(e.id, e.clone());
        }
        self.keys.extend(plan.keys.iter().map(|(id, k)| (k.clone(), *id)));
        for f in &plan.facts {
            self.facts.insert(f.id, f.clone());
        }
        for e in &plan.evidence {
            if !self.evidence.iter().any(|o| o.fact == e.fact && o.message == e.message && o.stance == e.stance) {
                self.evidence.push(e.clone());
            }
        }
        plan
    }

    /// Returns the facts with their weights on one day, comparable between runs with different ids.
    fn snapshot(&self) -> Vec<(String, i64, i64, FactStatus)> {
        let o = ontology();
        let mut rows: Vec<_> = self
            .facts
            .values()
            .map(|f| {
                let left = decay(f.weighed_at, day(500), half_life(o.get(&f.relation)));
                let name = format!("{} {} {}", self.entities[&f.subject].name, f.relation, self.entities[&f.object].name);
                ((name), (f.support * left * 1e9).round() as i64, (f.opposition * left * 1e9).round() as i64, f.status)
            })
            .collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    }

    fn fact(&self, name: &str) -> &Fact {
        let found = self
            .facts
            .values()
            .find(|f| format!("{} {} {}", self.entities[&f.subject].name, f.relation, self.entities[&f.object].name) == name);
        found.unwrap_or_else(|| panic!("no fact {name}"))
    }
}

fn change(plan: &KnowledgeCommit, n: usize) -> (FactChange, f64) {
    let updates: Vec<_> = plan.events.iter().filter_map(|e| if let EventBody::FactUpdate(u) = &e.body { Some(u) } else { None }).collect();
    (updates[n].change, updates[n].weight)
}

fn say(message: u128, d: i64, subject: &'static str, relation: &'static str, object: &'static str, polarity: Polarity) -> StatedFact {
    StatedFact { message, day: d, subject, relation, object, polarity, confidence: 1.0 }
}

#[test]
fn plain_statement_has_weight_and_belief_of_the_contract() {
    let mut w = TestMemory::default();
    let plan = w.apply_claim(&say(1, 1000, "John", "LIKES", "Mary", Polarity::Affirmed));
    assert_eq!(change(&plan, 0), (FactChange::Added, 1.0));
    let s = standing(w.fact("John LIKES Mary"), ontology().get("LIKES"), day(1000));
    assert_eq!((s.weight, s.belief, s.uncertainty), (1.0, 0.6667, 0.6667));
    let plan = w.apply_claim(&say(2, 1000, "John", "LIKES", "Mary", Polarity::Affirmed));
    assert_eq!(change(&plan, 0), (FactChange::Reinforced, 2.0));
}

#[test]
fn support_halves_after_one_half_life() {
    let mut w = TestMemory::default();
    w.apply_claim(&say(1, 0, "John", "LIKES", "Mary", Polarity::Affirmed));
    let f = w.fact("John LIKES Mary");
    let later = standing(f, ontology().get("LIKES"), day(365));
    assert_eq!(later.weight, 0.5);
    // Unconfirmed facts drift to unknown, not to false.
    let much_later = standing(f, ontology().get("LIKES"), day(36_500));
    assert!((much_later.belief - 0.5).abs() < 1e-3 && much_later.uncertainty > 0.999);
}

#[test]
fn functional_rivals_are_both_kept() {
    let mut w = TestMemory::default();
    w.apply_claim(&say(1, 0, "I", "LIVES_IN", "Lyon", Polarity::Affirmed));
    let plan = w.apply_claim(&say(2, 0, "I", "LIVES_IN", "Ghent", Polarity::Affirmed));
    assert_eq!(change(&plan, 0).0, FactChange::Added);
    assert_eq!(change(&plan, 1).0, FactChange::Opposed);
    let facts: Vec<Fact> = w.facts.values().cloned().collect();
    let o = ontology();
    let sum: f64 = facts.iter().map(|f| relative_weight(f, &facts, &o, day(1))).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    let (lyon, ghent) = (w.fact("You LIVES_IN Lyon"), w.fact("You LIVES_IN Ghent"));
    assert_eq!((lyon.support, lyon.opposition, ghent.support, ghent.opposition), (1.0, 1.0, 1.0, 1.0));
    // The new rival has the evidence that opposes it.
    assert!(w.evidence.iter().any(|e| e.fact == ghent.id && e.stance == Stance::Opposes));
}

#[test]
fn ended_fact_stays_readable_and_can_be_restored() {
    let mut w = TestMemory::default();
    w.apply_claim(&say(1, 0, "I", "LIKES", "React", Polarity::Affirmed));
    let plan = w.apply_claim(&say(2, 5, "I", "LIKES", "React", Polarity::Ended));
    assert_eq!(change(&plan, 0).0, FactChange::Ended);
    let f = w.fact("You LIKES React");
    assert_eq!((f.status, f.valid_from, f.valid_to), (FactStatus::Ended, Some(day(0)), Some(day(5))));
    assert!(f.support > 0.9);
    let plan = w.apply_claim(&say(3, 9, "I", "LIKES", "React", Polarity::Affirmed));
    assert_eq!(change(&plan, 0).0, FactChange::Restored);
    let f = w.fact("You LIKES React");
    assert_eq!((f.status, f.valid_from, f.valid_to), (FactStatus::Active, Some(day(9)), None));
}

#[test]
fn opposite_relation_counts_as_opposition() {
    let mut w = TestMemory::default();
    w.apply_claim(&say(1, 0, "I", "LIKES", "tea", Polarity::Affirmed));
    w.apply_claim(&say(2, 0, "I", "DISLIKES", "tea", Polarity::Affirmed));
    assert_eq!(w.fact("You LIKES tea").opposition, 1.0);
    assert_eq!(w.fact("You DISLIKES tea").opposition, 1.0);
}

#[test]
fn symmetric_fact_is_stored_once() {
    let mut w = TestMemory::default();
    w.apply_claim(&say(1, 0, "John", "KNOWS", "Mary", Polarity::Affirmed));
    w.apply_claim(&say(2, 0, "Mary", "KNOWS", "John", Polarity::Affirmed));
    assert_eq!(w.facts.len(), 1);
    assert_eq!(w.fact("John KNOWS Mary").support, 2.0);
}

#[test]
fn low_confidence_facts_are_flagged_or_dropped() {
    let mut w = TestMemory::default();
    let unsure = |message, confidence| StatedFact { confidence, ..say(message, 0, "John", "LIKES", "Mary", Polarity::Affirmed) };
    w.apply_claim(&unsure(1, 0.49));
    assert!(w.facts.is_empty());
    w.apply_claim(&unsure(2, 0.6));
    assert!(w.fact("John LIKES Mary").flagged);
    w.apply_claim(&unsure(3, 0.7));
    assert!(!w.fact("John LIKES Mary").flagged);
}

fn any_statement() -> impl Strategy<Value = StatedFact> {
    let claims = [
        ("I", "LIVES_IN", "Lyon"),
        ("I", "LIVES_IN", "Ghent"),
        ("I", "LIVES_IN", "Oslo"),
        ("John", "LIKES", "Mary"),
        ("John", "DISLIKES", "Mary"),
        ("John", "KNOWS", "Mary"),
        ("Mary", "KNOWS", "John"),
    ];
    (0..claims.len(), 0i64..400, 0.5f64..=1.0, prop_oneof![4 => Just(Polarity::Affirmed), 1 => Just(Polarity::Negated)]).prop_map(
        move |(i, day, confidence, polarity)| {
            let (subject, relation, object) = claims[i];
            StatedFact { message: 0, day, subject, relation, object, polarity, confidence }
        },
    )
}

fn history() -> impl Strategy<Value = Vec<StatedFact>> {
    prop::collection::vec(any_statement(), 1..12).prop_map(|mut v| {
        for (i, s) in v.iter_mut().enumerate() {
            s.message = i as u128 + 1;
        }
        v
    })
}

proptest! {
    #[test]
    fn message_order_does_not_change_weights(said in history(), seed in any::<u64>()) {
        let mut shuffled = said.clone();
        let mut state = seed | 1;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(i, (state >> 33) as usize % (i + 1));
        }
        let (mut a, mut b) = (TestMemory::default(), TestMemory::default());
        said.iter().for_each(|s| { a.apply_claim(s); });
        shuffled.iter().for_each(|s| { b.apply_claim(s); });
        // KNOWS is stored in the direction first stated, which may differ.
        let flat = |w: &TestMemory| {
            let mut rows: Vec<_> = w.snapshot();
            for row in &mut rows {
                row.0 = row.0.replace("Mary KNOWS John", "John KNOWS Mary");
                row.1 /= 100;
                row.2 /= 100;
            }
            rows.sort_by(|a, b| a.0.cmp(&b.0));
            rows
        };
        prop_assert_eq!(flat(&a), flat(&b));
    }

    #[test]
    fn repeated_delivery_changes_nothing(said in history()) {
        let mut w = TestMemory::default();
        said.iter().for_each(|s| { w.apply_claim(s); });
        let before = w.snapshot();
        said.iter().for_each(|s| { w.apply_claim(s); });
        prop_assert_eq!(before, w.snapshot());
    }

    #[test]
    fn weights_are_never_negative_and_beliefs_are_probabilities(said in history(), at in 0i64..10_000) {
        let mut w = TestMemory::default();
        said.iter().for_each(|s| { w.apply_claim(s); });
        let facts: Vec<Fact> = w.facts.values().cloned().collect();
        let o = ontology();
        for f in &facts {
            prop_assert!(f.support >= 0.0 && f.opposition >= 0.0);
            let s = standing(f, o.get(&f.relation), day(at));
            prop_assert!(s.weight >= 0.0 && (0.0..=1.0).contains(&s.belief) && (0.0..=1.0).contains(&s.uncertainty));
            let mut group: Vec<&Fact> = facts.iter().filter(|g| is_rival(f, g, &o) && g.status == FactStatus::Active && g.support > 0.0).collect();
            if f.status == FactStatus::Active && f.support > 0.0 {
                group.push(f);
                // The shares add up only if all facts of the group contradict each other.
                let sum: f64 = group.iter().map(|g| relative_weight(g, &facts, &o, day(at))).sum();
                prop_assert!((sum - 1.0).abs() < 1e-3, "{sum}");
            }
        }
    }

    #[test]
    fn reweighing_all_evidence_gives_the_same_weights(days in prop::collection::vec((0i64..400, 0.5f64..=1.0, 0u8..2), 1..10)) {
        let mut w = TestMemory::default();
        for (i, (d, confidence, p)) in days.iter().enumerate() {
            let polarity = if *p == 0 { Polarity::Affirmed } else { Polarity::Negated };
            w.apply_claim(&StatedFact { message: i as u128 + 1, day: *d, subject: "John", relation: "KNOWS", object: "Mary", polarity, confidence: *confidence });
        }
        let f = w.fact("John KNOWS Mary").clone();
        let again = reweigh(&f, &w.evidence, 365.0).unwrap();
        prop_assert!((again.support - f.support).abs() < 1e-9 && (again.opposition - f.opposition).abs() < 1e-9);
        prop_assert_eq!(again.weighed_at, f.weighed_at);
    }

    #[test]
    fn decay_never_increases_support(r in 0.0f64..100.0, h in 1.0f64..1000.0, days in 0i64..10_000) {
        let mut f = TestMemory::default();
        f.apply_claim(&say(1, 0, "John", "LIKES", "Mary", Polarity::Affirmed));
        let mut fact = f.fact("John LIKES Mary").clone();
        fact.support = r;
        let halved = standing(&fact, None, day(365)).weight;
        prop_assert!((halved - r / 2.0).abs() < 1e-4);
        apply(&mut fact, Stance::Opposes, day(days), 1.0, h);
        prop_assert!(fact.support <= r && fact.opposition >= 0.0 && fact.opposition <= 1.0);
        prop_assert!(decay(day(0), day(days), h) <= 1.0 && decay(day(days), day(0), h) == 1.0);
    }
}

#[test]
fn full_session_adds_no_facts_but_updates_known_ones() {
    let mut w = TestMemory { fact_budget: Some(1), ..TestMemory::default() };
    w.apply_claim(&say(1, 1000, "John", "LIKES", "Mary", Polarity::Affirmed));
    w.fact_budget = Some(0);
    let plan = w.apply_claim(&say(2, 1000, "John", "LIKES", "Vera", Polarity::Affirmed));
    assert!(plan.facts.is_empty() && plan.evidence.is_empty());
    let plan = w.apply_claim(&say(3, 1000, "John", "LIKES", "Mary", Polarity::Affirmed));
    assert_eq!(change(&plan, 0).0, FactChange::Reinforced);
    let plan = w.apply_claim(&say(4, 1001, "John", "LIKES", "Mary", Polarity::Ended));
    assert_eq!(change(&plan, 0).0, FactChange::Ended);
}

/// A message that states a move of Rima and denies a home of hers.
fn move_with_denial(day: i64, home: &'static str, denied: &'static str) -> Statement {
    let claim = |object, polarity| StatedFact {
        message: u128::try_from(day).unwrap(),
        day,
        subject: "Rima",
        relation: "LIVES_IN",
        object,
        polarity,
        confidence: 1.0,
    };
    let mut s = claim(home, Polarity::Affirmed).statement();
    let mut denial = claim(denied, Polarity::Negated).statement().extraction;
    s.text = UserText::from("She moved. She doesn't live there.");
    s.extraction.facts[0].span = Span { start: 0, end: 10 };
    denial.facts[0].span = Span { start: 11, end: 34 };
    denial.facts[0].object = Party::Mention(s.extraction.mentions.len());
    s.extraction.mentions.push(denial.mentions.swap_remove(0));
    s.extraction.facts.append(&mut denial.facts);
    s
}

#[test]
fn only_denial_of_a_known_fact_keeps_other_rivals() {
    let leeds = StatedFact {
        message: 1,
        day: 1,
        subject: "Rima",
        relation: "LIVES_IN",
        object: "Leeds",
        polarity: Polarity::Affirmed,
        confidence: 1.0,
    };
    let mut memory = TestMemory::default();
    memory.apply_claim(&leeds);
    memory.apply_statement(&move_with_denial(3, "York", "Hull"));
    assert_eq!(memory.fact("Rima LIVES_IN Leeds").status, FactStatus::Ended);
    let mut memory = TestMemory::default();
    memory.apply_claim(&leeds);
    memory.apply_claim(&StatedFact { message: 2, day: 2, object: "Hull", ..leeds.clone() });
    memory.apply_statement(&move_with_denial(3, "York", "Hull"));
    assert_eq!(memory.fact("Rima LIVES_IN Hull").status, FactStatus::Retracted);
    assert_eq!(memory.fact("Rima LIVES_IN Leeds").status, FactStatus::Active);
}
