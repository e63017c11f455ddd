//! Merges known entities that a message says are one.

use super::{entities::MergeCause, error::UseCaseError, use_cases::UseCases};
use recall_domain::{Caller, Entity, EntityKey, EntityType, Extraction, Party};

/// Most merges by one message.
const MAX_MERGES: usize = 8;

impl UseCases {
    /// Merges the known entities whose names the message says to be names of one entity.
    ///
    /// It merges only if each name has exactly one entity, of which neither is the user and both or none are persons. The merge is
    /// recorded and can be undone. It comes before the plan of the message, so a repeated delivery finds one entity.
    ///
    /// # Errors
    /// Fails if the store fails; the message is not learned then.
    pub(super) async fn merge_stated_names(&self, caller: &Caller, extraction: &Extraction) -> Result<(), UseCaseError> {
        let name = |i: usize| extraction.mentions.get(i).and_then(|m| EntityKey::of(&m.name));
        let pairs = extraction.names.iter().filter_map(|n| match n.of {
            Party::Mention(of) => Some((name(n.name)?, name(of)?)),
            Party::Speaker => None,
        });
        for (name, of) in pairs.take(MAX_MERGES) {
            let found = self.parts.store.entities_by_key(caller, &[name.clone(), of.clone()]).await?;
            let only = |key: &EntityKey| {
                let mut of_key = found.iter().filter(|(k, _)| k == key).map(|(_, e)| e);
                of_key.next().filter(|_| of_key.next().is_none())
            };
            let (Some(from), Some(into)) = (only(&name), only(&of)) else { continue };
            if !are_mergeable(from, into) {
                continue;
            }
            match self.make_one(caller, into.id, from.id, MergeCause::Stated).await {
                // It was merged or deleted meanwhile. Readers of shared memory merge nothing.
                Ok(_) | Err(UseCaseError::Invalid { .. } | UseCaseError::NotFound { .. } | UseCaseError::Forbidden { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn are_mergeable(a: &Entity, b: &Entity) -> bool {
    let person = |e: &Entity| e.entity_type == EntityType::Person;
    a.id != b.id && !a.is_viewer && !b.is_viewer && person(a) == person(b)
}
