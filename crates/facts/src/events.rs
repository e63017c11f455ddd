//! Builds the events that report changes of facts and entities. Pure.

use std::collections::HashMap;

use super::{
    statement::Statement,
    weigh::{is_rival, relative_weight, rival_keys, standing},
};
use recall_domain::{
    Entity, EntityId, EventBody, Fact, FactStatus, FactValue, MessageId, Ontology, SessionId, Timestamp, UserText,
    event::{EntityChange, EntityUpdate, FactChange, FactUpdate, RivalFact},
};

/// Facts by subject and relation, for the search for rivals. The events of a merge would otherwise compare each fact with each other one.
pub(super) struct PossibleRivals<'f>(HashMap<(EntityId, &'f str), Vec<&'f Fact>>);

impl<'f> PossibleRivals<'f> {
    pub(super) fn of(facts: impl IntoIterator<Item = &'f Fact>) -> Self {
        let mut by_key: HashMap<(EntityId, &str), Vec<&Fact>> = HashMap::new();
        for fact in facts {
            by_key.entry((fact.subject, &fact.relation)).or_default().push(fact);
        }
        Self(by_key)
    }

    /// Returns all rivals of a fact, and perhaps others.
    fn of_fact(&self, fact: &Fact, ontology: &Ontology) -> Vec<&'f Fact> {
        let keys = rival_keys(fact, ontology);
        keys.iter().filter_map(|key| self.0.get(&(key.subject, key.relation.as_str()))).flatten().copied().collect()
    }
}

/// The inputs of a `fact_update` event.
pub(super) struct FactEvent<'a> {
    pub(super) session: SessionId,
    pub(super) fact: &'a Fact,
    pub(super) others: &'a PossibleRivals<'a>,
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
    let others = |fact: &Fact| e.others.of_fact(fact, e.ontology);
    let rivals = others(e.fact)
        .into_iter()
        .filter(|o| o.id != e.fact.id && o.status == FactStatus::Active && o.support > 0.0 && is_rival(e.fact, o, e.ontology))
        .map(|o| RivalFact {
            fact_id: o.id,
            relation: phrase(&o.relation),
            target: target(o),
            relative_weight: relative_weight(o, others(o), e.ontology, e.now),
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
        relative_weight: relative_weight(e.fact, others(e.fact), e.ontology, e.now),
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
