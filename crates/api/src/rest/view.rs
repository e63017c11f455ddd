//! JSON representations of domain objects for the REST endpoints.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;

use crate::{
    error::ApiError,
    graphql::{OperationScope, RivalsOf},
};
use recall_domain::{
    Entity, EntityId, EntityType, FactId, FactStatus, Message, MessageId, MessageKind, MessageStatus, Role, SessionId, Timestamp,
    context::RankedFact,
};
use recall_facts::weigh;

/// A message.
#[derive(Serialize)]
pub(super) struct MessageView {
    id: MessageId,
    session_id: SessionId,
    role: Role,
    speaker: Option<String>,
    text: String,
    kind: Option<MessageKind>,
    status: MessageStatus,
    sent_at: Timestamp,
    created_at: Timestamp,
    shared: bool,
}

impl MessageView {
    pub(super) fn of(m: Message, shared: bool) -> Self {
        Self {
            shared,
            id: m.id,
            session_id: m.session,
            role: m.role,
            speaker: m.speaker,
            text: m.text.into_string(),
            kind: m.kind,
            status: m.status,
            sent_at: m.sent_at,
            created_at: m.created_at,
        }
    }
}

/// An entity.
#[derive(Serialize)]
pub(super) struct EntityView {
    entity_id: EntityId,
    name: String,
    r#type: EntityType,
    shared: bool,
}

impl EntityView {
    pub(super) fn of(e: &Entity, shared: bool) -> Self {
        Self { entity_id: e.id, name: e.name.clone(), r#type: e.entity_type, shared }
    }
}

/// A fact, with the same names as the event `fact_update`.
#[derive(Serialize)]
pub(super) struct FactView {
    fact_id: FactId,
    entity: String,
    entity_id: EntityId,
    relation: String,
    relation_name: String,
    target: String,
    target_id: EntityId,
    weight: f64,
    belief: f64,
    uncertainty: f64,
    relative_weight: f64,
    status: FactStatus,
    valid_from: Option<Timestamp>,
    valid_to: Option<Timestamp>,
    shared: bool,
}

impl FactView {
    /// Loads the views of ranked facts, in their order.
    pub(super) async fn of(scope: &OperationScope, facts: &[RankedFact]) -> Result<Vec<Self>, ApiError> {
        let ontology = scope.usecases.ontology();
        let mut rivals = HashMap::new();
        for shared in [false, true] {
            let of = facts.iter().filter(|f| f.shared == shared).map(|f| RivalsOf(Arc::new(f.fact.clone())));
            let found = scope.found_in(shared).load.load_many(of).await?;
            rivals.extend(found.into_iter().map(|(of, candidates)| (of.0.id, candidates)));
        }
        let view = |ranked: &RankedFact| {
            let fact = &ranked.fact;
            let relation = ontology.get(&fact.relation);
            let standing = weigh::standing(fact, relation, scope.now);
            let candidates = rivals.get(&fact.id);
            Self {
                fact_id: fact.id,
                entity: ranked.subject.name.clone(),
                entity_id: ranked.subject.id,
                relation: relation.map_or_else(|| fact.relation.to_lowercase().replace('_', " "), |r| r.phrase.clone()),
                relation_name: fact.relation.clone(),
                target: ranked.object.name.clone(),
                target_id: ranked.object.id,
                weight: standing.weight,
                belief: standing.belief,
                uncertainty: standing.uncertainty,
                relative_weight: candidates.map_or(1.0, |of| of.relative_weight(fact, ontology, scope.now)),
                status: fact.status,
                valid_from: fact.valid_from,
                valid_to: fact.valid_to,
                shared: ranked.shared,
            }
        };
        Ok(facts.iter().map(view).collect())
    }
}
