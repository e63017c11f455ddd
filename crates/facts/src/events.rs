//! Builds the events that report changes of facts and entities. Pure.

use std::collections::HashMap;

use super::{
    statement::Statement,
    weigh::{is_rival, relative_weight, standing},
};
use recall_domain::{
    Entity, EntityId, EventBody, Fact, FactStatus, FactValue, MessageId, Ontology, SessionId, Timestamp, UserText,
    event::{EntityChange, EntityUpdate, FactChange, FactUpdate, RivalFact},
};

/// The inputs of a `fact_update` event.
pub(super) struct FactEvent<'a> {
    pub(super) session: SessionId,
    pub(super) fact: &'a Fact,
    pub(super) others: &'a [Fact],
    pub(super) names: &'a HashMap<EntityId, &'a Entity>,
    pub(super) ontology: &'a Ontology,
    pub(super) change: FactChange,
    pub(super) message: Option<MessageId>,
    pub(super) excerpt: Option<UserText>,
    pub(super) now: Timestamp,
}

pub(super) fn fact_event(e: FactEvent<'_>) -> EventBody {
    let phrase = |name: &str| e.ontology.get(name).map_or_else(|| name.to_lowercase().replace('_', " "), |r| r.phrase.clone());
    let name = |id: EntityId| e.names.get(&id).map_or_else(String::new, |n| n.name.clone());
    let target = |f: &Fact| f.value.as_ref().map_or_else(|| name(f.object), FactValue::shown);
    let kind = |id: EntityId| e.names.get(&id).map(|n| n.entity_type);
    let s = standing(e.fact, e.ontology.get(&e.fact.relation), e.now);
    let rivals = e
        .others
        .iter()
        .filter(|o| o.id != e.fact.id && o.status == FactStatus::Active && o.support > 0.0 && is_rival(e.fact, o, e.ontology))
        .map(|o| RivalFact {
            fact_id: o.id,
            relation: phrase(&o.relation),
            target: target(o),
            relative_weight: relative_weight(o, e.others, e.ontology, e.now),
        })
        .collect();
    EventBody::FactUpdate(FactUpdate {
        session_id: e.session,
        fact_id: e.fact.id,
        entity: name(e.fact.subject),
        entity_id: e.fact.subject,
        entity_type: kind(e.fact.subject),
        relation: phrase(&e.fact.relation),
        relation_name: e.fact.relation.clone(),
        target: target(e.fact),
        target_id: e.fact.object_entity(),
        target_type: e.fact.object_entity().and_then(kind),
        value: e.fact.value.clone(),
        weight: s.weight,
        belief: s.belief,
        uncertainty: s.uncertainty,
        relative_weight: relative_weight(e.fact, e.others, e.ontology, e.now),
        status: e.fact.status,
        change: e.change,
        flagged: e.fact.flagged,
        message_id: e.message,
        excerpt: e.excerpt,
        rivals,
    })
}

pub(super) fn entity_update(s: &Statement, e: &Entity, change: EntityChange) -> EventBody {
    EventBody::EntityUpdate(EntityUpdate {
        session_id: s.session,
        entity_id: e.id,
        name: e.name.clone(),
        entity_type: e.entity_type,
        change,
        mention_count: e.mention_count,
        is_viewer: e.is_viewer,
        message_id: Some(s.message),
        merged_id: None,
    })
}
