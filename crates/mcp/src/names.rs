//! Finds the entity that a model names, and the relation.

use crate::{
    gate::{Failure, Refusal},
    memories::{Memories, Memory},
};
use recall_domain::{Entity, EntityId, EntityType};
use recall_usecases::UseCaseError;

/// Most candidates listed when a name is ambiguous.
const MAX_CANDIDATES: usize = 5;

/// What a name means.
pub(crate) enum Named<'m> {
    /// One entity, with its memory.
    One(Entity, &'m Memory),
    /// Nothing certain; the entities that it may mean, best first, with whether each is shared.
    Unsure(Vec<(Entity, bool)>),
}

/// Finds an entity by its id or by its name, in the caller's own memory first.
///
/// # Errors
/// `NOT_FOUND` for an unknown id, and the errors of the use case.
pub(crate) async fn entity<'m>(memories: &'m Memories, name: &str, wanted: Option<EntityType>) -> Result<Named<'m>, Failure> {
    if let Ok(id) = name.parse::<EntityId>() {
        for memory in memories.all() {
            if let Some(found) = memory.read.entities(&[id]).await?.remove(&id) {
                return Ok(Named::One(found, memory));
            }
        }
        return Err(UseCaseError::NotFound { noun: "entity" }.into());
    }
    let mut candidates = Vec::new();
    for memory in memories.all() {
        let found = memories.usecases.resolve(&memory.caller(), name, wanted, None).await?;
        if let Some(entity) = found.entity {
            return Ok(Named::One(entity, memory));
        }
        candidates.extend(found.candidates.into_iter().take(MAX_CANDIDATES).map(|c| (c.entity, memory.is_shared)));
    }
    candidates.truncate(MAX_CANDIDATES);
    Ok(Named::Unsure(candidates))
}

/// Returns the name of a relation that is given as its name or as its phrase: `LIVES_IN`, "lives in", "live in".
///
/// # Errors
/// `UNKNOWN_RELATION`, with the nearest name.
pub(crate) fn relation(memories: &Memories, given: &str) -> Result<String, Failure> {
    let wanted = given.trim().to_lowercase().replace(['_', '-'], " ");
    let is_meant = |r: &&recall_domain::Relation| {
        r.name.to_lowercase().replace('_', " ") == wanted || r.phrase == wanted || r.phrase_of_first_person() == wanted
    };
    match memories.ontology().iter().find(is_meant) {
        Some(relation) => Ok(relation.name.clone()),
        None => Ok(memories.usecases.relation(&wanted.replace(' ', "_").to_uppercase())?.name.clone()),
    }
}

/// The error for a name that means no known entity for certain.
pub(crate) fn unsure(name: &str, path: &str, candidates: &[(Entity, bool)]) -> Refusal {
    let quoted = serde_json::Value::from(name);
    if candidates.is_empty() {
        return Refusal::invalid("UNKNOWN_ENTITY", path, format!("The memory knows nobody and nothing called {quoted}."));
    }
    let listed: Vec<String> =
        candidates.iter().map(|(e, _)| format!("{} ({}, {})", serde_json::Value::from(&*e.name), e.entity_type, e.id)).collect();
    let message = format!("{quoted} may mean several entities. Repeat the call with the id of one: {}.", listed.join("; "));
    Refusal::invalid("AMBIGUOUS_ENTITY", path, message)
}
