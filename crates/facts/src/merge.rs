//! Plans the merge of two entities. Pure. The store records what the plan changes, so that the merge can be undone.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::adopt;
use super::edit::{EditContext, entity_event};
use super::events::{FactEvent, PossibleRivals, fact_event};
use super::message_entities::MAX_ALIASES;
use super::resolve::names;
use super::weigh::{apply, reweigh};
use recall_domain::{
    Decision, Entity, EntityId, EntityKey, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, MessageId, Stance,
    belief::half_life,
    entity::VIEWER_NAME,
    event::{EntityChange, FactChange},
};
use recall_ports::KnowledgeCommit;

/// Two entities to merge, with their facts.
#[derive(Debug)]
pub struct Merge<'a> {
    /// The entity that stays.
    pub into: &'a Entity,
    /// The entity that is merged away. Its names become aliases.
    pub from: &'a Entity,
    /// All facts with `from` on either side, and the facts of `into` that would become equal to one of them.
    pub facts: &'a [Fact],
    /// All evidence of those facts.
    pub evidence: &'a [Evidence],
    /// Entities on either side of those facts.
    pub sides: &'a [Entity],
}

/// Merges two entities: names, mentions, facts and evidence of `from` move to `into`.
///
/// Facts that become equal are re-weighed from their combined evidence. A fact that would relate the entity to itself is deleted.
pub fn merge(at: &EditContext<'_>, m: &Merge<'_>, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    plan(at, m, false, ids)
}

/// Merges two entities that came from different memories.
///
/// Unlike [`merge`], it also lets the statements about each entity oppose the rivals in the other memory.
pub fn merge_across_memories(at: &EditContext<'_>, m: &Merge<'_>, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    plan(at, m, true, ids)
}

fn plan(at: &EditContext<'_>, m: &Merge<'_>, across_memories: bool, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let EditContext { version, session, ontology, now } = *at;
    let mut entity = m.into.clone();
    // The server names an unnamed user "You". It is not a real name, so it does not become an alias.
    let own_names = || std::iter::once(&m.from.name).chain(&m.from.aliases).filter(|n| !(m.from.is_viewer && *n == VIEWER_NAME));
    for name in own_names() {
        if *name != entity.name && !entity.aliases.contains(name) && entity.aliases.len() < MAX_ALIASES {
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
        if moved.subject == moved.object && moved.value.is_none() {
            deleted.push(fact.id);
            continue;
        }
        let symmetric = ontology.get(&moved.relation).is_some_and(|r| r.symmetric);
        let equal = |o: &Fact| {
            o.relation == moved.relation
                && ((o.subject == moved.subject && o.same_object(&moved))
                    || (symmetric && o.subject == moved.object && o.object == moved.subject))
        };
        let twin = facts.iter().find(|o| equal(o)).cloned().or_else(|| staying.iter().find(|o| equal(o)).map(|o| (*o).clone()));
        match twin {
            None => facts.push(moved),
            Some(twin) => {
                dropped.push((fact.id, twin.id));
                let gone: Vec<FactId> = dropped.iter().filter(|(_, into)| *into == twin.id).map(|(from, _)| *from).collect();
                let h = half_life(ontology.get(&moved.relation));
                let (combined, opposition) = combine_facts(&twin, &moved, m.evidence, &gone, h, across_memories);
                false_opposition.extend(opposition);
                facts.retain(|f| f.id != combined.id);
                facts.push(Fact { updated_at: now, ..combined });
            }
        }
    }
    let mut evidence = Vec::new();
    if across_memories {
        let still: Vec<Fact> = staying.iter().filter(|s| !facts.iter().any(|f| f.id == s.id)).map(|f| (*f).clone()).collect();
        let (weighed, added) =
            adopt::add_mutual_opposition(&facts, &still, &combined_evidence(m.evidence, &dropped, &false_opposition), ontology);
        facts.retain(|f| !weighed.iter().any(|w| w.id == f.id));
        facts.extend(weighed.into_iter().map(|f| Fact { updated_at: now, ..f }));
        evidence = added;
    }
    let removed = m.facts.iter().filter(|f| deleted.contains(&f.id) || dropped.iter().any(|(from, _)| *from == f.id));
    let mut sides: HashMap<EntityId, &Entity> = m.sides.iter().map(|e| (e.id, e)).collect();
    sides.extend([(m.from.id, m.from), (entity.id, &entity)]);
    let changed_ids: HashSet<FactId> = facts.iter().map(|f| f.id).collect();
    let others = PossibleRivals::of(facts.iter().chain(staying.iter().copied().filter(|s| !changed_ids.contains(&s.id))));
    let changes = facts.iter().map(|f| (f, FactChange::Revised)).chain(removed.map(|f| (f, FactChange::Removed)));
    let mut events = vec![entity_event(session, &entity, EntityChange::Merged, Some(m.from.id))];
    events.extend(changes.map(|(fact, change)| {
        let (message, excerpt) = (None, None);
        fact_event(FactEvent { session, fact, others: &others, names: &sides, ontology, change, message, excerpt, now })
    }));
    let events = events.into_iter().map(|body| EventDraft { id: EventId(ids()), body }).collect();
    // The user decided, so the score is 1. The similarity of the names is kept as information.
    let alike = names::match_names(&m.from.name, &m.into.name, m.into.entity_type).map_or(String::new(), |f| format!(", {}", f.reason()));
    let keys = own_names().filter_map(|n| EntityKey::of(n)).map(|k| (entity.id, k)).collect();
    KnowledgeCommit {
        keys,
        entities: vec![entity],
        facts,
        evidence,
        merged: vec![(m.from.id, m.into.id)],
        dropped_facts: dropped,
        deleted_facts: deleted,
        dropped_evidence: false_opposition,
        events,
        merge_decision: Some(Decision { score: 1.0, reason: format!("by hand{alike}") }),
        ..KnowledgeCommit::empty(version, session, now)
    }
}

/// Returns the evidence after the merge: evidence of dropped facts moves to the remaining fact, one row per message and stance.
fn combined_evidence(evidence: &[Evidence], dropped: &[(FactId, FactId)], gone: &[(FactId, MessageId, Stance)]) -> Vec<Evidence> {
    let mut seen = HashSet::new();
    let moved = evidence.iter().map(|e| {
        let fact = dropped.iter().find(|(from, _)| *from == e.fact).map_or(e.fact, |(_, into)| *into);
        Evidence { fact, ..e.clone() }
    });
    moved.filter(|e| !gone.contains(&(e.fact, e.message, e.stance)) && seen.insert((e.fact, e.message, e.stance))).collect()
}

/// Combines two equal facts: their evidence is weighed together, one row per message and stance.
///
/// While one entity had two names, the two facts were rivals and opposed each other. This false opposition is returned, to be dropped.
fn combine_facts(
    twin: &Fact,
    other: &Fact,
    evidence: &[Evidence],
    gone: &[FactId],
    h: f64,
    across_memories: bool,
) -> (Fact, Vec<(FactId, MessageId, Stance)>) {
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
    let latest = if other.updated_at > twin.updated_at { other } else { twin };
    // A fact that was retracted under one name only was a duplicate. In one memory both names were seen, so what holds under the other name still
    // holds. Of two memories, the later change decides.
    let is_retracted = |f: &Fact| f.status == FactStatus::Retracted;
    let latest = match (is_retracted(twin), is_retracted(other)) {
        (true, false) if !across_memories => other,
        (false, true) if !across_memories => twin,
        _ => latest,
    };
    let base = Fact { status: latest.status, valid_to: latest.valid_to, ..twin.clone() };
    let fact = reweigh(&base, &common, h).unwrap_or_else(|| {
        let mut f = base.clone();
        apply(&mut f, Stance::Supports, other.weighed_at, other.support, h);
        f
    });
    (Fact { created_at: twin.created_at.min(other.created_at), ..fact }, dropped)
}
