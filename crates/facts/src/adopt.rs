//! Combines a visitor's knowledge with an account's. Pure.
//!
//! It finds the account's entity that equals a visitor's entity, and lets the facts of both count against each other.

use std::collections::HashSet;

use super::resolve::{are_close_types, names};
use super::weigh::{is_rival, reweigh};
use recall_domain::{Entity, Evidence, Fact, FactId, FactStatus, MessageId, Ontology, SaidPeriod, Stance, belief::half_life};

/// Finds the known entity that a visitor's entity is.
///
/// The two must have the same name and a close type, and the match must be the only one. `neighbours` are the visitor's other
/// entities. An entity that could be confused with one of them is left alone, and so are two entities with different descriptions.
pub fn find_same_entity<'e>(entity: &Entity, known: &'e [Entity], neighbours: &[Entity]) -> Option<&'e Entity> {
    let alike = |other: &&Entity| {
        other.id != entity.id && !other.is_viewer && are_close_types(entity.entity_type, other.entity_type) && share_name(entity, other)
    };
    let mut found = known.iter().filter(alike);
    let twin = found.next().filter(|_| found.next().is_none())?;
    let described_alike = match (&entity.description, &twin.description) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    let alone = !neighbours.iter().any(|other| alike(&other) && other.id != twin.id);
    (described_alike && alone).then_some(twin)
}

/// Whether two entities share a name. Spelling variants do not count, because this merge is hard to notice and undo.
fn share_name(a: &Entity, b: &Entity) -> bool {
    let of = |e: &'_ Entity| std::iter::once(e.name.clone()).chain(e.aliases.iter().cloned()).collect::<Vec<_>>();
    let ours = of(a);
    of(b).iter().any(|theirs| ours.iter().any(|name| names::match_names(name, theirs, a.entity_type) == Some(names::NameMatch::Same)))
}

/// Lets the support of each fact count against its rivals in the other group, in both directions.
///
/// The result is as if each message had been processed where the other fact was known. Returns the re-weighed facts and the added
/// evidence. `evidence` contains all evidence of both groups.
pub(super) fn add_mutual_opposition(
    moved: &[Fact],
    staying: &[Fact],
    evidence: &[Evidence],
    ontology: &Ontology,
) -> (Vec<Fact>, Vec<Evidence>) {
    let mut facts: Vec<Fact> = moved.iter().chain(staying).cloned().collect();
    let of = |fact: FactId| evidence.iter().filter(move |e| e.fact == fact);
    let mut added: Vec<Evidence> = Vec::new();
    for a in moved {
        for b in staying.iter().filter(|b| is_active(a) && is_active(b) && is_rival(a, b, ontology)) {
            for (from, to) in [(a.id, b.id), (b.id, a.id)] {
                let mut known: HashSet<MessageId> = of(to).filter(|e| e.stance == Stance::Opposes).map(|e| e.message).collect();
                known.extend(added.iter().filter(|e| e.fact == to).map(|e| e.message));
                let supports = of(from).filter(|e| e.stance == Stance::Supports && known.insert(e.message));
                added.extend(
                    supports
                        .map(|e| Evidence {
                            fact: to,
                            stance: Stance::Opposes,
                            span: None,
                            said_period: SaidPeriod::default(),
                            ..e.clone()
                        })
                        .collect::<Vec<_>>(),
                );
            }
        }
    }
    facts.retain(|f| added.iter().any(|e| e.fact == f.id));
    let weighed = facts.iter().filter_map(|f| {
        let all: Vec<Evidence> = of(f.id).chain(added.iter().filter(|e| e.fact == f.id)).cloned().collect();
        reweigh(f, &all, half_life(ontology.get(&f.relation)))
    });
    (weighed.collect(), added)
}

fn is_active(fact: &Fact) -> bool {
    fact.status == FactStatus::Active
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use recall_domain::{EntityId, EntityType, SessionId, Span, Timestamp};

    fn at(day: i64) -> Timestamp {
        Timestamp::from_timestamp(1_700_000_000 + day * 86_400, 0).unwrap()
    }

    fn person(n: u128, name: &str, aliases: &[&str]) -> Entity {
        Entity {
            id: EntityId(Uuid::from_u128(n)),
            name: name.into(),
            entity_type: EntityType::Person,
            aliases: aliases.iter().map(|a| (*a).to_owned()).collect(),
            description: None,
            mention_count: 1,
            confidence: 0.9,
            is_viewer: false,
            first_message: None,
            created_at: at(0),
            updated_at: at(0),
        }
    }

    fn same_entity_id(entity: &Entity, known: &[Entity], neighbours: &[Entity]) -> Option<u128> {
        find_same_entity(entity, known, neighbours).map(|e| e.id.0.as_u128())
    }

    #[test]
    fn same_name_matches_only_when_unique() {
        let (tom, other_tom, maren) = (person(1, "Tom", &[]), person(2, "Tom", &[]), person(3, "Maren", &["Tom"]));
        let came = person(9, "Tom", &[]);
        let alone = std::slice::from_ref(&came);
        assert_eq!(same_entity_id(&came, std::slice::from_ref(&tom), alone), Some(1));
        assert_eq!(same_entity_id(&came, &[person(4, "Thomas", &[])], alone), None, "a short form may be another person's");
        assert_eq!(same_entity_id(&came, &[tom.clone(), other_tom], alone), None, "which of the two?");
        assert_eq!(same_entity_id(&came, &[tom.clone(), maren.clone()], alone), None, "another entity has that name as an alias");
        assert_eq!(
            same_entity_id(&came, std::slice::from_ref(&tom), &[came.clone(), person(8, "Tom", &[])]),
            None,
            "the visitor knew two entities of this name"
        );
        let viewer = Entity { is_viewer: true, ..tom.clone() };
        assert_eq!(same_entity_id(&came, &[viewer], alone), None, "the user's own entity never matches by name");
        let place = Entity { entity_type: EntityType::Place, ..tom.clone() };
        assert_eq!(same_entity_id(&came, &[place], alone), None);
        let as_my = |entity: &Entity, role: &str| Entity { description: Some(role.into()), ..entity.clone() };
        assert_eq!(same_entity_id(&as_my(&came, "boss"), &[as_my(&tom, "brother")], alone), None);
        assert_eq!(same_entity_id(&as_my(&came, "boss"), &[as_my(&tom, "boss")], alone), Some(1));
        assert_eq!(same_entity_id(&as_my(&came, "boss"), &[tom], alone), Some(1));
        assert_eq!(same_entity_id(&person(9, "Nora", &["Maren"]), &[maren], &[]), Some(3), "an alias matches");
    }

    const ONTOLOGY: &str = r#"
[[relation]]
name = "LIVES_IN"
phrase = "lives in"
description = "Has their home in."
functional = true
half_life_days = 730
"#;

    fn lives_in(n: u128, place: u128, status: FactStatus) -> Fact {
        Fact {
            id: FactId(Uuid::from_u128(n)),
            subject: EntityId(Uuid::from_u128(1)),
            relation: "LIVES_IN".into(),
            object: EntityId(Uuid::from_u128(place)),
            value: None,
            support: 1.0,
            opposition: 0.0,
            weighed_at: at(0),
            status,
            flagged: false,
            valid_from: None,
            valid_to: None,
            said_period: SaidPeriod::default(),
            last_support: None,
            created_at: at(0),
            updated_at: at(0),
        }
    }

    fn said(fact: &Fact, message: u128, day: i64) -> Evidence {
        Evidence {
            fact: fact.id,
            message: MessageId(Uuid::from_u128(message)),
            session: SessionId(Uuid::from_u128(5)),
            stance: Stance::Supports,
            confidence: 1.0,
            span: Some(Span { start: 0, end: 1 }),
            excerpt: "x".into(),
            said_period: SaidPeriod::default(),
            created_at: at(day),
        }
    }

    #[test]
    fn retracted_and_ended_facts_oppose_nothing() {
        let ontology = Ontology::parse(ONTOLOGY).unwrap();
        for status in [FactStatus::Retracted, FactStatus::Ended] {
            let (a, b) = (lives_in(1, 11, status), lives_in(2, 12, FactStatus::Active));
            let evidence = [said(&a, 21, 0), said(&b, 22, 1)];
            for (moved, staying) in [(&a, &b), (&b, &a)] {
                let (facts, added) =
                    add_mutual_opposition(std::slice::from_ref(moved), std::slice::from_ref(staying), &evidence, &ontology);
                assert!(facts.is_empty() && added.is_empty(), "{status:?}");
            }
        }
    }

    proptest! {
        /// Combining is symmetric and idempotent.
        #[test]
        fn combining_is_symmetric_and_idempotent(days in prop::collection::vec((0..2_usize, 0..900_i64), 1..12)) {
            let ontology = Ontology::parse(ONTOLOGY).unwrap();
            let both = [lives_in(1, 11, FactStatus::Active), lives_in(2, 12, FactStatus::Active)];
            let evidence: Vec<Evidence> = days.iter().zip(100..).map(|((of, day), message)| said(&both[*of], message, *day)).collect();
            let sorted = |(mut facts, mut added): (Vec<Fact>, Vec<Evidence>)| {
                facts.sort_by_key(|f| f.id);
                added.sort_by_key(|e| (e.fact, e.message));
                (facts, added)
            };
            let [a, b] = both.each_ref().map(std::slice::from_ref);
            let there = sorted(add_mutual_opposition(a, b, &evidence, &ontology));
            prop_assert_eq!(&there, &sorted(add_mutual_opposition(b, a, &evidence, &ontology)));
            prop_assert_eq!(there.1.len(), evidence.len(), "each message opposes the rival fact");
            prop_assert!(there.1.iter().all(|e| e.stance == Stance::Opposes && e.span.is_none()));
            let all = [evidence, there.1].concat();
            prop_assert_eq!(add_mutual_opposition(a, b, &all, &ontology), (Vec::new(), Vec::new()));
        }
    }
}
