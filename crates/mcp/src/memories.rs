//! The memories that a caller may read: their own, and shared memory if it is in use.

use std::collections::HashMap;

use crate::gate::Failure;
use recall_domain::{Caller, Entity, EntityId, Fact, FactId, Ontology, Timestamp};
use recall_usecases::{MemoryReader, UseCases};

/// One memory of a caller.
#[derive(Clone)]
pub(crate) struct Memory {
    pub(crate) read: MemoryReader,
    pub(crate) is_shared: bool,
}

impl Memory {
    pub(crate) fn caller(&self) -> Caller {
        self.read.caller()
    }

    /// Returns the same memory with its forgotten entities.
    pub(crate) fn with_forgotten(&self) -> Self {
        Self { read: self.read.with_forgotten(), ..*self }
    }

    /// Returns the entities on both sides of facts.
    pub(crate) async fn sides_of(&self, facts: &[Fact]) -> Result<HashMap<EntityId, Entity>, Failure> {
        let mut ids: Vec<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
        ids.sort();
        ids.dedup();
        let mut sides = self.read.entities(&ids).await?;
        // An entity that was imported into shared memory may have been a user's own entity; there it is not.
        sides.values_mut().for_each(|e| e.is_viewer &= !self.is_shared);
        Ok(sides)
    }

    /// Returns facts in the order of their ids; unknown ids are left out.
    pub(crate) async fn facts(&self, ids: &[FactId]) -> Result<Vec<Fact>, Failure> {
        let mut found: HashMap<FactId, Fact> = self.read.facts(ids).await?.into_iter().map(|f| (f.id, f)).collect();
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }
}

/// The memories of one call, and the moment to which its weights refer.
pub(crate) struct Memories {
    pub(crate) usecases: UseCases,
    pub(crate) caller: Caller,
    pub(crate) now: Timestamp,
    pub(crate) own: Memory,
    shared: Option<Memory>,
}

impl Memories {
    pub(crate) async fn of(usecases: &UseCases, caller: Caller) -> Result<Self, Failure> {
        let memory = |caller: Caller, is_shared| Memory { read: usecases.memory(caller), is_shared };
        let shared = usecases.shared_reader(&caller).await?.filter(|shared| !usecases.is_being_erased(shared));
        Ok(Self {
            own: memory(caller, caller.is_shared()),
            shared: shared.map(|shared| memory(shared, true)),
            usecases: usecases.clone(),
            caller,
            now: usecases.now(),
        })
    }

    pub(crate) fn ontology(&self) -> &Ontology {
        self.usecases.ontology()
    }

    /// Returns the memories, the caller's own first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Memory> {
        std::iter::once(&self.own).chain(&self.shared)
    }

    /// Returns the memory that was read for an object.
    pub(crate) fn found_in(&self, is_shared: bool) -> &Memory {
        self.shared.as_ref().filter(|_| is_shared).unwrap_or(&self.own)
    }
}
