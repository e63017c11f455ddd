//! Adopts a visit into an account.
//!
//! The store moves all data in one transaction, next to the account's own. Then each entity that the account also knows is merged like a
//! manual merge: it is recorded, can be undone, and re-weighs the facts. The store notes the remaining work, so any process can resume.

use std::{collections::HashSet, time::Duration};

use super::{
    entities::{Came, MergeCause},
    error::UseCaseError,
    use_cases::UseCases,
};
use recall_domain::{Adopted, Adoption, Caller, Entity, EntityId, EntityKey, TokenDigest};
use recall_facts::adopt::find_same_entity;

/// Longest wait of a request; the rest continues in the background.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most entities compared, far more than a visit can have.
const MOST: u32 = 10_000;

impl UseCases {
    /// Moves all data of a visit to the caller's account; `None` if the visit no longer exists.
    ///
    /// Equal entities of the two stay separate until [`Self::settle_soon`].
    ///
    /// # Errors
    /// Fails if the store fails; nothing is moved.
    pub async fn adopt(&self, caller: &Caller, visit: TokenDigest) -> Result<Option<Adoption>, UseCaseError> {
        let p = &self.parts;
        let adoption = p.store.adopt(caller, visit, p.clock.now()).await?;
        if adoption.is_some() {
            p.wake.notify_one();
        }
        Ok(adoption)
    }

    /// Runs [`Self::settle_adoptions`] for a request, which waits a limited time.
    pub async fn settle_soon(&self, caller: &Caller) {
        // A task of its own, so that it continues if the client disconnects.
        let (this, whose) = (self.clone(), *caller);
        let work = self.background_tasks.run(async move { this.settle_adoptions(&whose).await });
        match tokio::time::timeout(TIMEOUT, work).await {
            // In the last case the server is stopping; any process can resume.
            Ok(Ok(Some(Ok(())))) | Err(_) | Ok(Ok(None)) => {}
            Ok(Ok(Some(Err(error)))) => tracing::warn!(%error, "an adoption was interrupted and will be resumed"),
            Ok(Err(error)) => tracing::error!(%error, "an adoption was interrupted and will be resumed"),
        }
    }

    /// Merges adopted entities with the account's equal ones. A repetition changes nothing.
    ///
    /// # Errors
    /// Fails if the store fails; finished work stays.
    pub async fn settle_adoptions(&self, caller: &Caller) -> Result<(), UseCaseError> {
        let store = &self.parts.store;
        let came = store.adopted(caller, MOST).await?;
        let ids: Vec<EntityId> = came.iter().map(|a| a.entity).collect();
        let entities = store.entities_by_id(caller, &ids).await?;
        for (from, into, how) in self.pairs(caller, &came, &entities).await? {
            match self.make_one(caller, into, from, MergeCause::Adopted(how)).await {
                // Another request already merged or deleted one of them.
                Ok(_) | Err(UseCaseError::Invalid { .. } | UseCaseError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // Marked only now: after a restart, an unmatched adopted entity must not count as one that the account knew.
        for id in ids {
            store.settle_adopted(caller, id).await?;
        }
        Ok(())
    }

    /// Returns the pairs of entities to merge.
    ///
    /// The visitor comes last: before the others are merged, equal facts about the visitor and the account's user would look different.
    async fn pairs(&self, caller: &Caller, came: &[Adopted], entities: &[Entity]) -> Result<Vec<(EntityId, EntityId, Came)>, UseCaseError> {
        let store = &self.parts.store;
        let visitors: HashSet<EntityId> = came.iter().filter(|a| a.is_viewer).map(|a| a.entity).collect();
        let others = || entities.iter().filter(|e| !visitors.contains(&e.id));
        let names = others().flat_map(|e| std::iter::once(&e.name).chain(&e.aliases));
        let keys: Vec<EntityKey> = names.filter_map(|name| EntityKey::of(name)).collect::<HashSet<_>>().into_iter().collect();
        let mut known: Vec<Entity> = store.entities_by_key(caller, &keys).await?.into_iter().map(|(_, e)| e).collect();
        let mut seen: HashSet<EntityId> = entities.iter().map(|e| e.id).collect();
        known.retain(|e| seen.insert(e.id));
        let how = Came { is_viewer: false, score: 0.9, reason: "same name in a visit" };
        let mut pairs: Vec<_> = others().filter_map(|e| Some((e.id, find_same_entity(e, &known, entities)?.id, how))).collect();
        if let Some(viewer) = store.viewer_entity(caller).await? {
            let how = Came { is_viewer: true, score: 1.0, reason: "the visitor" };
            pairs.extend(visitors.into_iter().filter(|id| *id != viewer.id).map(|id| (id, viewer.id, how)));
        }
        Ok(pairs)
    }
}
