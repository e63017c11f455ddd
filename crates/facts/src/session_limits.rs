//! Limits how much knowledge one session may add. Pure.
//!
//! Otherwise a text that consists only of names could fill a memory.

use std::collections::HashSet;

use super::{message_entities::MessageEntities, statement::Statement};
use recall_domain::{EntityId, Party};

/// Limits per session; `None` means no limit.
///
/// Known entities and facts can still be reinforced, ended and denied without limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionLimits {
    /// Entities.
    pub entities: Option<u32>,
    /// Facts.
    pub facts: Option<u32>,
}

/// Removes the new entities beyond the budget and the facts about them.
///
/// Entities named first are kept. Returns `None` if everything fits.
pub(super) fn trimmed_to_budget(s: &Statement, message_entities: &MessageEntities, budget: usize) -> Option<Statement> {
    let mut new: Vec<EntityId> = Vec::new();
    for e in message_entities.mention_entities.iter().filter_map(|i| message_entities.entities.get(*i)) {
        if message_entities.fresh.contains(&e.id) && !e.is_viewer && !new.contains(&e.id) {
            new.push(e.id);
        }
    }
    let gone: HashSet<EntityId> = new.into_iter().skip(budget).collect();
    if gone.is_empty() {
        return None;
    }
    let stays = |mention: usize| {
        message_entities
            .mention_entities
            .get(mention)
            .and_then(|i| message_entities.entities.get(*i))
            .is_some_and(|e| !gone.contains(&e.id))
    };
    // New index of each kept mention.
    let mut places = Vec::with_capacity(message_entities.mention_entities.len());
    let mut next = 0;
    for mention in 0..s.extraction.mentions.len() {
        places.push(stays(mention).then_some(next));
        next += usize::from(stays(mention));
    }
    let moved = |party: Party| match party {
        Party::Speaker => Some(Party::Speaker),
        Party::Mention(m) => places.get(m).copied().flatten().map(Party::Mention),
    };
    let mut trimmed = s.clone();
    let mut at = 0..;
    trimmed.extraction.mentions.retain(|_| at.next().is_some_and(stays));
    trimmed.extraction.facts = s
        .extraction
        .facts
        .iter()
        .filter_map(|f| {
            let mut f = f.clone();
            (f.subject, f.object) = (moved(f.subject)?, moved(f.object)?);
            Some(f)
        })
        .collect();
    trimmed.extraction.possible_ends = s.extraction.possible_ends.iter().filter_map(|e| e.moved(moved)).collect();
    trimmed.extraction.names = s.extraction.names.iter().filter_map(|n| n.moved(moved)).collect();
    Some(trimmed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::{KnownEntities, message_entities::MessageCues};
    use recall_domain::{
        CandidateFact, EntityKey, EntityType, Extraction, Mention, MessageId, MessageKind, Polarity, SessionId, Span, UserText,
    };

    fn mention(name: &str) -> Mention {
        let span = Span { start: 0, end: 1 };
        Mention { name: name.into(), entity_type: EntityType::Thing, span, confidence: 1.0, description: None }
    }

    fn fact(subject: Party, object: Party) -> CandidateFact {
        let span = Span { start: 0, end: 4 };
        CandidateFact { subject, relation: "LIKES".into(), object, value: None, polarity: Polarity::Affirmed, confidence: 1.0, span }
    }

    fn statement(mentions: Vec<Mention>) -> Statement {
        Statement {
            message: MessageId(Uuid::nil()),
            session: SessionId(Uuid::nil()),
            at: DateTime::UNIX_EPOCH,
            text: UserText::from("text"),
            speaker: None,
            is_impersonal: false,
            chunk_event: None,
            extraction: Extraction { mentions, ..Extraction::empty(MessageKind::Statement) },
        }
    }

    proptest! {
        #[test]
        fn entities_beyond_the_budget_leave_no_trace(names in prop::collection::vec(0usize..8, 1..12), facts in prop::collection::vec((0usize..12, 0usize..12), 0..12), known in 0usize..5, budget in 0usize..8) {
            let name = |n: usize| format!("Name{n}");
            let mut s = statement(names.iter().map(|n| mention(&name(*n))).collect());
            let party = |i: usize| if i < names.len() { Party::Mention(i) } else { Party::Speaker };
            s.extraction.facts = facts.iter().map(|(a, b)| fact(party(*a), party(*b))).collect();
            let mut next = 0u128;
            let mut ids = || { next += 1; Uuid::from_u128(next) };
            let there: Vec<_> = (0..known).map(|n| {
                let alone = statement(vec![mention(&name(n))]);
                let first = MessageEntities::resolve(&alone, &MessageCues::of(&alone), &KnownEntities::default(), &mut ids, s.at);
                (EntityKey::of(&name(n)).unwrap(), first.entities[0].clone())
            }).collect();
            let known_entities = KnownEntities { by_key: there, ..KnownEntities::default() };
            let message_entities = MessageEntities::resolve(&s, &MessageCues::of(&s), &known_entities, &mut ids, s.at);
            let new = |message_entities: &MessageEntities| message_entities.entities.iter().filter(|e| message_entities.fresh.contains(&e.id) && !e.is_viewer).count();
            let Some(trimmed) = trimmed_to_budget(&s, &message_entities, budget) else {
                prop_assert!(new(&message_entities) <= budget);
                return Ok(());
            };
            let after = MessageEntities::resolve(&trimmed, &MessageCues::of(&trimmed), &known_entities, &mut ids, s.at);
            prop_assert_eq!(new(&after), budget);
            // All facts about kept entities remain, with the same sides.
            let words = |s: &Statement, stay: &dyn Fn(&str) -> bool| -> Vec<(String, String)> {
                let of = |p: Party| match p { Party::Speaker => "I".to_owned(), Party::Mention(m) => s.extraction.mentions[m].name.clone() };
                s.extraction.facts.iter().map(|f| (of(f.subject), of(f.object))).filter(|(a, b)| stay(a) && stay(b)).collect()
            };
            let left: Vec<String> = trimmed.extraction.mentions.iter().map(|m| m.name.clone()).collect();
            prop_assert_eq!(words(&trimmed, &|_| true), words(&s, &|n| n == "I" || left.iter().any(|l| l == n)));
            for n in 0..known {
                prop_assert_eq!(left.contains(&name(n)), names.contains(&n), "known entities stay mentioned");
            }
        }
    }
}
