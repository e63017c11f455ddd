//! Plans manual changes: retracting a fact, renaming or retyping an entity. Pure.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::events::{FactEvent, fact_event};
use super::message_entities::MAX_ALIASES;
use super::resolve::names;
use super::weigh::{is_rival, reweigh};
use recall_domain::{
    Entity, EntityId, EntityKey, EntityType, EventBody, EventDraft, EventId, Evidence, Fact, FactStatus, MessageId, Ontology, SessionId,
    Stance, Timestamp,
    belief::half_life,
    entity::VIEWER_NAME,
    event::{EntityChange, EntityUpdate, FactChange},
};
use recall_ports::KnowledgeCommit;

/// The time, session and version of a manual change.
#[derive(Clone, Copy, Debug)]
pub struct EditContext<'a> {
    /// Version of the knowledge on which the plan is based.
    pub version: u64,
    /// The session whose log gets the events.
    pub session: SessionId,
    /// The ontology in use.
    pub ontology: &'a Ontology,
    /// Now.
    pub now: Timestamp,
}

/// A fact to retract, with its rivals and evidence.
#[derive(Debug)]
pub struct Retraction<'a> {
    /// The fact.
    pub fact: &'a Fact,
    /// Facts that may be its rivals.
    pub rivals: &'a [Fact],
    /// All evidence of the fact and of these.
    pub evidence: &'a [Evidence],
    /// Entities on either side of all these facts.
    pub sides: &'a [Entity],
}

/// Retracts a fact.
///
/// The fact stays readable with its evidence, and a later statement restores it. Its statements no longer oppose its rivals, which
/// are re-weighed.
pub fn retract(at: &EditContext<'_>, r: &Retraction<'_>, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let EditContext { version, session, ontology, now } = *at;
    let fact = Fact { status: FactStatus::Retracted, valid_to: Some(now), updated_at: now, ..r.fact.clone() };
    let (mut facts, mut dropped) = (vec![fact], Vec::new());
    for rival in r.rivals.iter().filter(|o| o.id != r.fact.id && is_rival(r.fact, o, ontology)) {
        let (gone, left) = evidence_without(rival, r, ontology);
        // If old evidence is missing, the remainder does not show how much weight to remove.
        if gone.is_empty() {
            continue;
        }
        if let Some(fresh) = reweigh(rival, &left, half_life(ontology.get(&rival.relation))) {
            facts.push(Fact { updated_at: now, ..fresh });
            dropped.extend(gone.into_iter().map(|m| (rival.id, m, Stance::Opposes)));
        }
    }
    let names: HashMap<EntityId, &Entity> = r.sides.iter().map(|e| (e.id, e)).collect();
    let others: Vec<Fact> = facts.iter().cloned().chain(r.rivals.iter().filter(|o| !facts.iter().any(|f| f.id == o.id)).cloned()).collect();
    let events = facts
        .iter()
        .map(|f| {
            let change = if f.id == r.fact.id { FactChange::Retracted } else { FactChange::Revised };
            let (message, excerpt) = (None, None);
            fact_event(FactEvent { session, fact: f, others: &others, names: &names, ontology, change, message, excerpt, now })
        })
        .map(|body| EventDraft { id: EventId(ids()), body })
        .collect();
    KnowledgeCommit { facts, dropped_evidence: dropped, events, ..KnowledgeCommit::empty(version, session, now) }
}

/// Splits a rival's evidence: messages that oppose it only by stating the fact, and the remaining evidence.
fn evidence_without(rival: &Fact, r: &Retraction<'_>, ontology: &Ontology) -> (Vec<MessageId>, Vec<Evidence>) {
    let states = |e: &Evidence, f: &Fact| e.fact == f.id && e.stance == Stance::Supports;
    let by_fact: HashSet<MessageId> = r.evidence.iter().filter(|e| states(e, r.fact)).map(|e| e.message).collect();
    // A message may state two rivals of the same fact.
    let by_others: HashSet<MessageId> = r
        .rivals
        .iter()
        .filter(|o| o.id != r.fact.id && o.id != rival.id && o.status != FactStatus::Retracted && is_rival(rival, o, ontology))
        .flat_map(|o| r.evidence.iter().filter(move |e| states(e, o)).map(|e| e.message))
        .collect();
    let falls =
        |e: &&Evidence| e.stance == Stance::Opposes && e.span.is_none() && by_fact.contains(&e.message) && !by_others.contains(&e.message);
    let (gone, left): (Vec<&Evidence>, Vec<&Evidence>) = r.evidence.iter().filter(|e| e.fact == rival.id).partition(falls);
    (gone.into_iter().map(|e| e.message).collect(), left.into_iter().cloned().collect())
}

/// Renames an entity and keeps the old name as an alias.
pub fn rename(at: &EditContext<'_>, entity: &Entity, name: &str, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let EditContext { version, session, now, .. } = *at;
    let mut entity = entity.clone();
    let old = std::mem::replace(&mut entity.name, name.to_owned());
    // The server names an unnamed user "You". It is not a real name, so it does not become an alias.
    let never_used = entity.is_viewer && old == VIEWER_NAME;
    if old != name && !never_used && !entity.aliases.contains(&old) {
        entity.aliases.push(old);
    }
    entity.aliases.retain(|a| a != name);
    // The oldest alias is dropped. Its key still finds the entity.
    entity.aliases.drain(..entity.aliases.len().saturating_sub(MAX_ALIASES));
    entity.updated_at = now;
    let keys = EntityKey::of(name).map(|k| (entity.id, k)).into_iter().collect();
    let hints = names::hints(name, entity.entity_type).into_iter().map(|h| (entity.id, h)).collect();
    let event = EventDraft { id: EventId(ids()), body: entity_event(session, &entity, EntityChange::Renamed, None) };
    KnowledgeCommit { keys, hints, entities: vec![entity], events: vec![event], ..KnowledgeCommit::empty(version, session, now) }
}

/// Gives an entity the type that the user states. No later mention changes it.
pub fn retype(at: &EditContext<'_>, entity: &Entity, entity_type: EntityType, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let EditContext { version, session, now, .. } = *at;
    let entity = Entity { entity_type, confidence: 1.0, updated_at: now, ..entity.clone() };
    let names = || std::iter::once(&entity.name).chain(&entity.aliases);
    let keys = names().flat_map(|name| names::keys(name, entity_type)).map(|key| (entity.id, key)).collect();
    let hints = names().flat_map(|name| names::hints(name, entity_type)).map(|hint| (entity.id, hint)).collect();
    let event = EventDraft { id: EventId(ids()), body: entity_event(session, &entity, EntityChange::Retyped, None) };
    KnowledgeCommit { keys, hints, entities: vec![entity], events: vec![event], ..KnowledgeCommit::empty(version, session, now) }
}

pub(super) fn entity_event(session: SessionId, e: &Entity, change: EntityChange, merged_id: Option<EntityId>) -> EventBody {
    EventBody::EntityUpdate(EntityUpdate {
        session_id: session,
        entity_id: e.id,
        name: e.name.clone(),
        entity_type: e.entity_type,
        change,
        mention_count: e.mention_count,
        is_viewer: e.is_viewer,
        message_id: None,
        merged_id,
    })
}
