//! Tests of planned forgettings: undoing is the identity, and what is left is weighed by what is left.

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use recall_domain::{SaidPeriod, Span, UserText};

fn ontology() -> Ontology {
    Ontology::parse(include_str!("../../../../data/ontology.toml")).unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_timestamp_millis(1_700_000_000_000 + ms).unwrap()
}

fn message(n: u8) -> MessageId {
    MessageId(Uuid::from_u128(1_000 + u128::from(n)))
}

fn entity(n: u8) -> EntityId {
    EntityId(Uuid::from_u128(2_000 + u128::from(n)))
}

/// Facts and evidence of a small memory, whose weights follow from the evidence.
#[derive(Clone, Debug)]
struct Memory {
    facts: BTreeMap<FactId, Fact>,
    evidence: Vec<Evidence>,
}

impl Memory {
    /// Each row: subject, relation, object, message, stance, whether the message has words about the fact.
    fn of(rows: &[(u8, bool, u8, u8, u8, bool)], ontology: &Ontology) -> Self {
        let mut facts: BTreeMap<FactId, Fact> = BTreeMap::new();
        let mut evidence: BTreeMap<(FactId, MessageId, u8), Evidence> = BTreeMap::new();
        for &(subject, lives, object, said, stance, about) in rows {
            let id = FactId(Uuid::from_u128(u128::from(subject) * 100 + u128::from(object) * 2 + u128::from(lives)));
            facts.entry(id).or_insert_with(|| Fact {
                id,
                subject: entity(subject),
                relation: if lives { "LIVES_IN" } else { "LIKES" }.to_owned(),
                object: entity(10 + object),
                value: None,
                support: 0.0,
                opposition: 0.0,
                weighed_at: at(0),
                status: FactStatus::Active,
                flagged: false,
                valid_from: None,
                valid_to: None,
                said_period: SaidPeriod::default(),
                last_support: None,
                created_at: at(0),
                updated_at: at(0),
            });
            let row = Evidence {
                fact: id,
                message: message(said),
                session: SessionId(Uuid::from_u128(u128::from(said % 2))),
                stance: [Stance::Supports, Stance::Opposes, Stance::Ends][usize::from(stance)],
                confidence: 0.9,
                span: (about || stance != 1).then_some(Span { start: 0, end: 1 }),
                excerpt: UserText::from("said"),
                said_period: SaidPeriod::default(),
                created_at: at(i64::from(said) * 86_400_000),
            };
            evidence.entry((id, message(said), stance)).or_insert(row);
        }
        let evidence: Vec<Evidence> = evidence.into_values().collect();
        let weighed = facts.values().filter_map(|f| Some((f.id, weighed(f, &evidence, ontology)?)));
        let facts: BTreeMap<FactId, Fact> = weighed.collect();
        let evidence = evidence.into_iter().filter(|e| facts.contains_key(&e.fact)).collect();
        Self { facts, evidence }
    }

    fn input<'a>(&self, facts: &'a [Fact], others: &'a [Fact], named: &'a HashSet<MessageId>, ontology: &'a Ontology) -> ForgetInput<'a>
    where
        Self: 'a,
    {
        static NONE: std::sync::LazyLock<HashSet<MessageId>> = std::sync::LazyLock::new(HashSet::new);
        let evidence = Vec::leak(self.evidence.clone());
        ForgetInput { facts, named, mentioning: &NONE, others, evidence, ontology, now: at(999_000_000_000) }
    }

    /// Applies a forgetting as a store does.
    fn after(&self, outcome: &ForgetOutcome) -> Self {
        let mut left = self.clone();
        let same = |a: &Evidence, b: &Evidence| (a.fact, a.message, a.stance) == (b.fact, b.message, b.stance);
        left.evidence.retain(|e| !outcome.knowledge.evidence.iter().any(|gone| same(e, gone)));
        for e in &mut left.evidence {
            if outcome.knowledge.excerpts.iter().any(|x| same(e, x)) {
                e.excerpt = UserText::default();
            }
        }
        for (_, after) in &outcome.knowledge.changed {
            left.facts.insert(after.id, after.clone());
        }
        for fact in &outcome.knowledge.facts {
            left.facts.remove(&fact.id);
            left.evidence.retain(|e| e.fact != fact.id);
        }
        left
    }

    /// Applies an undoing as a store does.
    fn restored(&self, outcome: &RestoreOutcome) -> Self {
        let mut back = self.clone();
        back.facts.extend(outcome.facts.iter().map(|f| (f.id, f.clone())));
        for e in &outcome.evidence {
            if !back.evidence.iter().any(|b| (b.fact, b.message, b.stance) == (e.fact, e.message, e.stance)) {
                back.evidence.push(e.clone());
            }
        }
        for e in &mut back.evidence {
            if let Some(x) = outcome.excerpts.iter().find(|x| (x.fact, x.message, x.stance) == (e.fact, e.message, e.stance)) {
                e.excerpt = x.excerpt.clone();
            }
        }
        back.evidence.sort_by_key(|e| (e.fact, e.message, e.stance as u8));
        back
    }
}

fn weighed(fact: &Fact, evidence: &[Evidence], ontology: &Ontology) -> Option<Fact> {
    let own: Vec<Evidence> = evidence.iter().filter(|e| e.fact == fact.id).cloned().collect();
    reweigh(fact, &own, half_life(ontology.get(&fact.relation)))
}

fn undo(memory: &Memory, outcome: &ForgetOutcome, lost: &[MessageId], ontology: &Ontology) -> RestoreOutcome {
    let messages: HashSet<MessageId> = (0..20).map(message).filter(|m| !lost.contains(m)).collect();
    let entities: HashMap<EntityId, EntityId> = (0..30).map(|n| (entity(n), entity(n))).collect();
    let present: Vec<Fact> = memory.facts.values().cloned().collect();
    restore(&RestoreInput {
        knowledge: &outcome.knowledge,
        messages: &messages,
        entities: &entities,
        present: &present,
        evidence: &memory.evidence,
        ontology,
        now: at(999_000_000_000),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn undoing_a_forgetting_is_the_identity(
        rows in proptest::collection::vec((0u8..3, any::<bool>(), 0u8..3, 0u8..6, 0u8..3, any::<bool>()), 1..25),
        chosen in any::<u16>(), named in any::<u8>(), lost in any::<u8>(),
    ) {
        let ontology = ontology();
        let memory = Memory::of(&rows, &ontology);
        let is_chosen = |n: usize| chosen & (1 << (n % 16)) != 0 && n.is_multiple_of(3);
        let (facts, others): (Vec<_>, Vec<_>) = memory.facts.values().cloned().enumerate().partition(|(n, _)| is_chosen(*n));
        let (facts, others): (Vec<Fact>, Vec<Fact>) = (facts.into_iter().map(|f| f.1).collect(), others.into_iter().map(|f| f.1).collect());
        let named: HashSet<MessageId> = (0..6).filter(|n| named & (1 << n) != 0 && named & 0x80 != 0).map(message).collect();
        let outcome = forget(&memory.input(&facts, &others, &named, &ontology));
        let left = memory.after(&outcome);

        // Nothing of a hidden message is left, and every redacted one is still evidence.
        prop_assert!(left.evidence.iter().all(|e| !outcome.hidden.contains(&e.message)));
        for m in &outcome.redacted {
            let mut rows = left.evidence.iter().filter(|e| e.message == *m).peekable();
            prop_assert!(rows.peek().is_some() && rows.all(|e| e.excerpt.as_str().is_empty()));
        }
        prop_assert!(facts.iter().all(|f| !left.facts.contains_key(&f.id)));
        // Each fact that is left has the weight of the evidence that is left.
        for fact in left.facts.values() {
            let fresh = weighed(fact, &left.evidence, &ontology).unwrap();
            prop_assert_eq!((fresh.support, fresh.opposition, fresh.status), (fact.support, fact.opposition, fact.status));
        }

        let restored = left.restored(&undo(&left, &outcome, &[], &ontology));
        let mut before = memory.clone();
        before.evidence.sort_by_key(|e| (e.fact, e.message, e.stance as u8));
        prop_assert_eq!(&restored.facts, &before.facts);
        prop_assert_eq!(&restored.evidence, &before.evidence);

        // If messages were deleted in the meantime, the rest is weighed without them.
        let lost: Vec<MessageId> = (0..6).filter(|n| lost & (1 << n) != 0).map(message).collect();
        let without = Memory { evidence: left.evidence.iter().filter(|e| !lost.contains(&e.message)).cloned().collect(), ..left.clone() };
        let partly = undo(&without, &outcome, &lost, &ontology);
        prop_assert!(partly.evidence.iter().all(|e| !lost.contains(&e.message)));
        let written: HashSet<FactId> = partly.facts.iter().map(|f| f.id).chain(without.facts.keys().copied()).collect();
        prop_assert!(partly.evidence.iter().all(|e| written.contains(&e.fact)), "evidence without a fact");
    }
}

#[test]
fn fact_stated_again_takes_over_evidence_of_forgotten_one() {
    let ontology = ontology();
    let memory = Memory::of(&[(0, false, 0, 1, 0, true)], &ontology);
    let facts: Vec<Fact> = memory.facts.values().cloned().collect();
    let named = HashSet::new();
    let outcome = forget(&memory.input(&facts, &[], &named, &ontology));
    assert_eq!((outcome.hidden.len(), outcome.redacted.len()), (1, 0));
    let again = Fact { id: FactId(Uuid::from_u128(77)), ..facts[0].clone() };
    let said = Evidence { fact: again.id, message: message(5), ..memory.evidence[0].clone() };
    let present = Memory { facts: BTreeMap::from([(again.id, again.clone())]), evidence: vec![said] };
    let back = undo(&present, &outcome, &[], &ontology);
    assert_eq!(back.evidence.iter().map(|e| (e.fact, e.message)).collect::<Vec<_>>(), [(again.id, message(1))]);
    assert_eq!(back.facts.len(), 1);
    assert!(back.facts[0].id == again.id && back.facts[0].support > 1.0, "{back:?}");
}
