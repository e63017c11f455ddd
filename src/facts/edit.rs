//! What a user changes by hand: taking a fact back, renaming an entity, merging two. Pure plans.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::cast::VIEWER_NAME;
use super::news::{FactEvent, fact_event};
use super::weigh::{apply, half_life, reweigh};
use crate::domain::{
    Entity, EntityId, EntityKey, EventBody, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, MessageId, Ontology, SessionId,
    Stance, Timestamp,
    event::{EntityChange, EntityUpdate, FactChange},
};
use crate::ports::KnowledgeCommit;

/// When and where something is changed by hand.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// Version of the knowledge that the plan is made from.
    pub version: u64,
    /// The session whose log hears of it.
    pub session: SessionId,
    /// The relations in force.
    pub ontology: &'a Ontology,
    /// Now.
    pub now: Timestamp,
}

/// Takes a fact back. It stays readable with its evidence; a later statement restores it.
pub fn retract(at: &Occasion<'_>, fact: &Fact, rivals: &[Fact], sides: &[Entity], ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let Occasion { version, session, ontology, now } = *at;
    let fact = Fact { status: FactStatus::Retracted, valid_to: Some(now), updated_at: now, ..fact.clone() };
    let names: HashMap<EntityId, &Entity> = sides.iter().map(|e| (e.id, e)).collect();
    let body = fact_event(FactEvent {
        session,
        fact: &fact,
        others: rivals,
        names: &names,
        ontology,
        change: FactChange::Retracted,
        message: None,
        excerpt: None,
        now,
    });
    KnowledgeCommit {
        facts: vec![fact],
        events: vec![EventDraft { id: EventId(ids()), body }],
        ..KnowledgeCommit::empty(version, session, now)
    }
}

/// Gives an entity another name; the old one stays as an alias.
pub fn rename(at: &Occasion<'_>, entity: &Entity, name: &str, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let Occasion { version, session, now, .. } = *at;
    let mut entity = entity.clone();
    let old = std::mem::replace(&mut entity.name, name.to_owned());
    // "You" is how the server calls a user who has not said their name; nobody ever went by it.
    let never_used = entity.is_viewer && old == VIEWER_NAME;
    if old != name && !never_used && !entity.aliases.contains(&old) {
        entity.aliases.push(old);
    }
    entity.aliases.retain(|a| a != name);
    entity.updated_at = now;
    let keys = EntityKey::of(name).map(|k| (entity.id, k)).into_iter().collect();
    let event = EventDraft { id: EventId(ids()), body: entity_event(session, &entity, EntityChange::Renamed, None) };
    KnowledgeCommit { keys, entities: vec![entity], events: vec![event], ..KnowledgeCommit::empty(version, session, now) }
}

/// What is known of two entities that are to become one.
#[derive(Debug)]
pub struct Merge<'a> {
    /// Stays.
    pub into: &'a Entity,
    /// Goes; its names become aliases.
    pub from: &'a Entity,
    /// All facts with `from` on either side, and those of `into` that one of them would equal.
    pub facts: &'a [Fact],
    /// All evidence of those facts.
    pub evidence: &'a [Evidence],
}

/// Makes two entities one: names, mentions, facts and evidence of `from` go to `into`. Facts that become equal are
/// weighed anew from their common evidence; one that would relate the entity to itself goes.
pub fn merge(at: &Occasion<'_>, m: &Merge<'_>, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let Occasion { version, session, ontology, now } = *at;
    let mut entity = m.into.clone();
    // "You" is how the server calls a user who has not said their name; nobody ever went by it.
    let names = || std::iter::once(&m.from.name).chain(&m.from.aliases).filter(|n| !(m.from.is_viewer && *n == VIEWER_NAME));
    for name in names() {
        if *name != entity.name && !entity.aliases.contains(name) {
            entity.aliases.push(name.clone());
        }
    }
    entity.mention_count += m.from.mention_count;
    entity.confidence = entity.confidence.max(m.from.confidence);
    entity.description = entity.description.or_else(|| m.from.description.clone());
    entity.is_viewer |= m.from.is_viewer;
    entity.created_at = entity.created_at.min(m.from.created_at);
    entity.updated_at = now;

    let swap = |id: EntityId| if id == m.from.id { m.into.id } else { id };
    let (moving, staying): (Vec<&Fact>, Vec<&Fact>) = m.facts.iter().partition(|f| f.subject == m.from.id || f.object == m.from.id);
    let (mut facts, mut dropped): (Vec<Fact>, Vec<(FactId, FactId)>) = (Vec::new(), Vec::new());
    let (mut deleted, mut false_opposition) = (Vec::new(), Vec::new());
    for fact in moving {
        let moved = Fact { subject: swap(fact.subject), object: swap(fact.object), updated_at: now, ..fact.clone() };
        if moved.subject == moved.object {
            deleted.push(fact.id);
            continue;
        }
        let symmetric = ontology.get(&moved.relation).is_some_and(|r| r.symmetric);
        let equal = |o: &Fact| {
            o.relation == moved.relation
                && ((o.subject == moved.subject && o.object == moved.object)
                    || (symmetric && o.subject == moved.object && o.object == moved.subject))
        };
        let twin = facts.iter().find(|o| equal(o)).cloned().or_else(|| staying.iter().find(|o| equal(o)).map(|o| (*o).clone()));
        match twin {
            None => facts.push(moved),
            Some(twin) => {
                dropped.push((fact.id, twin.id));
                let gone: Vec<FactId> = dropped.iter().filter(|(_, into)| *into == twin.id).map(|(from, _)| *from).collect();
                let (united, opposition) = unite(&twin, &moved, m.evidence, &gone, half_life(ontology.get(&moved.relation)));
                false_opposition.extend(opposition);
                facts.retain(|f| f.id != united.id);
                facts.push(Fact { updated_at: now, ..united });
            }
        }
    }
    let event = EventDraft { id: EventId(ids()), body: entity_event(session, &entity, EntityChange::Merged, Some(m.from.id)) };
    let keys = names().filter_map(|n| EntityKey::of(n)).map(|k| (entity.id, k)).collect();
    KnowledgeCommit {
        keys,
        entities: vec![entity],
        facts,
        merged: vec![(m.from.id, m.into.id)],
        dropped_facts: dropped,
        deleted_facts: deleted,
        dropped_evidence: false_opposition,
        events: vec![event],
        ..KnowledgeCommit::empty(version, session, now)
    }
}

/// Two facts that are one: all their evidence weighed together, each message once per stance. Two names of one thing were
/// rivals, and spoke against each other; what only that said is returned, to be dropped.
fn unite(twin: &Fact, other: &Fact, evidence: &[Evidence], gone: &[FactId], h: f64) -> (Fact, Vec<(FactId, MessageId, Stance)>) {
    let ours = |e: &&Evidence| e.fact == twin.id || gone.contains(&e.fact);
    let supporting: HashSet<MessageId> = evidence.iter().filter(ours).filter(|e| e.stance == Stance::Supports).map(|e| e.message).collect();
    let (mut common, mut dropped): (Vec<Evidence>, Vec<_>) = (Vec::new(), Vec::new());
    for e in evidence.iter().filter(ours) {
        if e.stance == Stance::Opposes && e.span.is_none() && supporting.contains(&e.message) {
            dropped.push((twin.id, e.message, e.stance));
        } else if !common.iter().any(|c| c.message == e.message && c.stance == e.stance) {
            common.push(e.clone());
        }
    }
    // Whichever of the two the user took back last decides; a later statement of the other one restored it.
    let latest = if other.updated_at > twin.updated_at { other } else { twin };
    let base = Fact { status: latest.status, valid_to: latest.valid_to, ..twin.clone() };
    let fact = reweigh(&base, &common, h).unwrap_or_else(|| {
        let mut f = base.clone();
        apply(&mut f, Stance::Supports, other.weighed_at, other.support, h);
        f
    });
    (Fact { created_at: twin.created_at.min(other.created_at), ..fact }, dropped)
}

fn entity_event(session: SessionId, e: &Entity, change: EntityChange, merged_id: Option<EntityId>) -> EventBody {
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
