//! Taking what was told on a visit into an account. The store moves everything in one transaction, entities and facts beside those
//! that the account has. Then each entity that the account knows too is made one with that, as by hand: recorded, so that it can be
//! undone, and with the facts weighed anew. What of this is left to do is noted in the store, so any process can go on.

use std::{collections::HashSet, time::Duration};

use super::{UseCaseError, UseCases, entities::Came};
use recall_domain::{Adopted, Adoption, Caller, Entity, EntityId, EntityKey, TokenDigest};
use recall_facts::adopt::find_same_entity;

/// Longest wait of a request; what is not done by then goes on without it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most entities looked at: far more than a visit can have.
const MOST: u32 = 10_000;

impl UseCases {
    /// Gives everything of a visit to the caller's account; `None` when there is no such visit any more. What the two know is beside
    /// each other until [`Self::settle_soon`].
    ///
    /// # Errors
    /// When the store fails; then nothing was given.
    pub async fn adopt(&self, caller: &Caller, visit: TokenDigest) -> Result<Option<Adoption>, UseCaseError> {
        let p = &self.parts;
        let adoption = p.store.adopt(caller, visit, p.clock.now()).await?;
        if adoption.is_some() {
            p.wake.notify_one();
        }
        Ok(adoption)
    }

    /// As [`Self::settle_adoptions`], for a request, which waits for a while only.
    pub async fn settle_soon(&self, caller: &Caller) {
        // Of its own, so that it goes on when whoever asked hangs up.
        let (this, whose) = (self.clone(), *caller);
        let work = self.background_tasks.run(async move { this.settle_adoptions(&whose).await });
        match tokio::time::timeout(TIMEOUT, work).await {
            // In the last case the server stops; any process goes on.
            Ok(Ok(Some(Ok(())))) | Err(_) | Ok(Ok(None)) => {}
            Ok(Ok(Some(Err(error)))) => tracing::warn!(%error, "an adoption was interrupted and will be gone on with"),
            Ok(Err(error)) => tracing::error!(%error, "an adoption was interrupted and will be gone on with"),
        }
    }

    /// Makes one what came from visits and what the account knows. Done again, it changes nothing.
    ///
    /// # Errors
    /// When the store fails; what was done stays.
    pub async fn settle_adoptions(&self, caller: &Caller) -> Result<(), UseCaseError> {
        let store = &self.parts.store;
        let came = store.adopted(caller, MOST).await?;
        let ids: Vec<EntityId> = came.iter().map(|a| a.entity).collect();
        let entities = store.entities_by_id(caller, &ids).await?;
        for (from, into, how) in self.pairs(caller, &came, &entities).await? {
            match self.make_one(caller, into, from, Some(how)).await {
                // Somebody else was faster, be it with making them one or with deleting one of them.
                Ok(_) | Err(UseCaseError::Invalid { .. } | UseCaseError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // Only now: who was found to be nobody that is known must not be taken for one who is, if this has to be done again.
        for id in ids {
            store.settle_adopted(caller, id).await?;
        }
        Ok(())
    }

    /// Who is to be made one with whom. The visitor comes last: until the others are who they are, what is said of the visitor and
    /// of the account's user would look different where it is the same.
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
