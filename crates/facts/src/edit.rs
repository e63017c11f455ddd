//! Plans manual changes: retracting a fact, renaming or retyping an entity. Pure.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::events::{FactEvent, PossibleRivals, fact_event};
use super::message_entities::MAX_ALIASES;
use super::resolve::names;
use super::weigh::{Place, is_rival, reweigh, statuses};
use recall_domain::{
    Entity, EntityId, EntityKey, EntityType, EventBody, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, MessageId, Ontology,
    SaidPeriod, SessionId, Stance, Timestamp,
    belief::{half_life, is_of_document},
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

/// A fact to retract or to restore, with its rivals and evidence.
#[derive(Debug)]
pub struct EditedFact<'a> {
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
pub fn retract(at: &EditContext<'_>, r: &EditedFact<'_>, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
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
    let events = events(at, r, &facts, FactChange::Retracted, ids);
    KnowledgeCommit { facts, dropped_evidence: dropped, events, ..KnowledgeCommit::empty(version, session, now) }
}

/// Returns the events of a fact that changed by hand, and of its re-weighed rivals.
fn events(at: &EditContext<'_>, r: &EditedFact<'_>, facts: &[Fact], change: FactChange, ids: &mut dyn FnMut() -> Uuid) -> Vec<EventDraft> {
    let EditContext { session, ontology, now, .. } = *at;
    let names: HashMap<EntityId, &Entity> = r.sides.iter().map(|e| (e.id, e)).collect();
    let others = PossibleRivals::of(facts.iter().chain(r.rivals.iter().filter(|o| !facts.iter().any(|f| f.id == o.id))));
    let event = |f: &Fact| {
        let change = if f.id == r.fact.id { change } else { FactChange::Revised };
        let (message, excerpt) = (None, None);
        fact_event(FactEvent { session, fact: f, others: &others, names: &names, ontology, change, message, excerpt, now })
    };
    facts.iter().map(|f| EventDraft { id: EventId(ids()), body: event(f) }).collect()
}

/// Why a fact cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRestorable {
    /// It is not retracted, or a later message stated it again.
    NotRetracted,
    /// A message retracted it, as a correction does, and not the user by hand.
    RetractedByMessage,
}

/// Undoes the retraction of a fact by hand.
///
/// Status and end of the fact follow from its evidence, as before the retraction. Its statements oppose its rivals again, and what was
/// stated of its rivals since then opposes it. Nothing is stated again, so the evidence is what it was.
///
/// # Errors
/// If there is no retraction by hand to undo.
pub fn restore(at: &EditContext<'_>, r: &EditedFact<'_>, ids: &mut dyn FnMut() -> Uuid) -> Result<KnowledgeCommit, NotRestorable> {
    let EditContext { version, session, ontology, now } = *at;
    let Some(retracted_at) = r.fact.valid_to.filter(|_| r.fact.status == FactStatus::Retracted) else {
        return Err(NotRestorable::NotRetracted);
    };
    // A message retracts a fact at its own time, and is evidence against it.
    if r.of(r.fact.id).any(|e| e.stance == Stance::Opposes && e.created_at == retracted_at) {
        return Err(NotRestorable::RetractedByMessage);
    }
    let mut fact = Fact { status: FactStatus::Active, valid_to: None, updated_at: now, ..r.fact.clone() };
    if let Some(weighed) = r.reweigh(&fact, &[], ontology) {
        (fact.status, fact.valid_to) = (weighed.status, weighed.valid_to);
    }
    let rivals = || r.rivals.iter().filter(|o| o.id != fact.id && is_rival(&fact, o, ontology));
    // A message that states two rivals of a fact opposes it once.
    let mut seen: HashSet<MessageId> = HashSet::new();
    let mut against: Vec<Evidence> = Vec::new();
    for rival in rivals().filter(|o| o.status != FactStatus::Retracted) {
        let since = opposing_rows(&fact, rival, r, ontology).into_iter().filter(|e| e.created_at > retracted_at);
        against.extend(since.filter(|e| seen.insert(e.message)));
    }
    let rivals: Vec<Fact> = rivals().cloned().collect();
    if !against.is_empty() {
        fact = r.reweigh(&fact, &against, ontology).unwrap_or(fact);
    }
    let (mut facts, mut evidence) = (vec![fact], against);
    for rival in &rivals {
        let rows = opposing_rows(rival, r.fact, r, ontology);
        if let Some(weighed) = r.reweigh(rival, &rows, ontology).filter(|_| !rows.is_empty()) {
            facts.push(Fact { updated_at: now, ..weighed });
            evidence.extend(rows);
        }
    }
    let events = events(at, r, &facts, FactChange::Restored, ids);
    Ok(KnowledgeCommit { facts, evidence, events, ..KnowledgeCommit::empty(version, session, now) })
}

/// Returns the rows by which the statements of a fact oppose its rival, as far as the rival does not have them.
///
/// A statement opposes the rivals that are active at its time, and a new fact gets what was stated of its active rivals before.
fn opposing_rows(rival: &Fact, fact: &Fact, r: &EditedFact<'_>, ontology: &Ontology) -> Vec<Evidence> {
    let first = r.of(rival.id).filter(|e| e.span.is_some()).map(order).min();
    let against: HashSet<MessageId> = r.of(rival.id).filter(|e| e.stance != Stance::Supports).map(|e| e.message).collect();
    let (of_rival, of_fact) = (r.statuses(rival, ontology), r.statuses(fact, ontology));
    let opposes = |e: &Evidence| match (first, status_before(&of_rival, order(e))) {
        (_, Some(status)) => {
            let was_retracted = rival.status == FactStatus::Retracted && rival.valid_to.is_some_and(|end| end <= e.created_at);
            // What a document says is no objection to what people said.
            status == FactStatus::Active && !was_retracted && !is_of_document(e.confidence)
        }
        (Some(first), None) => status_before(&of_fact, first).is_none_or(|status| status == FactStatus::Active),
        (None, None) => false,
    };
    let states = |e: &&Evidence| e.stance == Stance::Supports && !against.contains(&e.message) && opposes(e);
    let period = SaidPeriod::default;
    let row = |e: &Evidence| Evidence { fact: rival.id, stance: Stance::Opposes, span: None, said_period: period(), ..e.clone() };
    r.of(fact.id).filter(states).map(row).collect()
}

/// The place of a piece of evidence in time.
fn order(e: &Evidence) -> Place {
    (e.created_at, e.message)
}

/// Returns the status that a fact had by its earlier evidence; `None` if there was none.
fn status_before(statuses: &[(Place, Option<FactStatus>)], at: Place) -> Option<FactStatus> {
    let earlier = statuses.partition_point(|(place, _)| *place < at);
    statuses[..earlier].last().and_then(|(_, status)| *status)
}

impl EditedFact<'_> {
    fn of(&self, fact: FactId) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter().filter(move |e| e.fact == fact)
    }

    /// Re-weighs a fact from its evidence and further rows.
    fn reweigh(&self, fact: &Fact, more: &[Evidence], ontology: &Ontology) -> Option<Fact> {
        let all: Vec<Evidence> = self.of(fact.id).chain(more).cloned().collect();
        reweigh(fact, &all, half_life(ontology.get(&fact.relation)))
    }

    /// Returns the status of a fact after each row of its evidence.
    fn statuses(&self, fact: &Fact, ontology: &Ontology) -> Vec<(Place, Option<FactStatus>)> {
        statuses(fact, self.of(fact.id), half_life(ontology.get(&fact.relation)))
    }
}

/// Splits a rival's evidence: messages that oppose it only by stating the fact, and the remaining evidence.
fn evidence_without(rival: &Fact, r: &EditedFact<'_>, ontology: &Ontology) -> (Vec<MessageId>, Vec<Evidence>) {
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
