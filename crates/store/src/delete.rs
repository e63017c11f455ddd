//! Deletes a session in one transaction and removes its effects from the knowledge.

use async_trait::async_trait;

use super::{
    KnowledgeStatements, Refusal, Reweighed,
    memory_log::{expire_until, record_change},
    reject_while_locked,
};
use recall_domain::{EntityId, EventBody, SessionId, Timestamp, UserId, event::SessionChanged};
use recall_ports::SessionDeleted;

/// Statements that delete a session and what only it referenced. Lists that they take are not empty.
#[async_trait]
pub trait DeleteStatements: KnowledgeStatements {
    /// Returns the number of messages of a session, and keeps others from writing in it until the transaction ends. `None` if it is
    /// unknown, hidden, or was used since that moment.
    async fn lock_unused_session(&mut self, user: UserId, session: SessionId, since: Option<Timestamp>)
    -> Result<Option<u64>, Self::Error>;
    /// Voids indexes in memory and plans that were made before. Returns false, and voids nothing, if `version` is given and is not the
    /// current one, or if data is being imported.
    async fn void_indexes(&mut self, user: UserId, version: Option<u64>) -> Result<bool, Self::Error>;
    /// Returns the number in the log of the memory that the newest event of a session has.
    async fn last_memory_number(&mut self, user: UserId, session: SessionId) -> Result<Option<i64>, Self::Error>;
    /// Deletes a session with all rows that belong to it.
    async fn delete_session(&mut self, user: UserId, session: SessionId) -> Result<(), Self::Error>;
    /// Returns the entities that a session mentions.
    async fn entities_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<EntityId>, Self::Error>;
    /// Subtracts a session's mentions from the counts of entities, and replaces a first message that is in the session.
    async fn subtract_session(&mut self, user: UserId, session: SessionId, entities: &[EntityId]) -> Result<(), Self::Error>;
    /// Returns the entities that were merged into these.
    async fn entities_merged_into(&mut self, user: UserId, entities: &[EntityId]) -> Result<Vec<EntityId>, Self::Error>;
    /// Deletes the merge records of those entities that have no mention or evidence left in them. Their names must not remain stored
    /// either.
    async fn delete_unused_merge_records(&mut self, user: UserId, gone: &[EntityId]) -> Result<(), Self::Error>;
    /// Deletes those entities that no mention or fact references any more. Returns how many.
    async fn delete_unused_entities(&mut self, user: UserId, entities: &[EntityId]) -> Result<u64, Self::Error>;
}

/// Deletes a session in this transaction.
pub(super) async fn delete_at_once<T: DeleteStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    (unused_since, now): (Option<Timestamp>, Timestamp),
    reweighed: &Reweighed,
) -> Result<SessionDeleted, T::Error> {
    let messages = tx.lock_unused_session(user, session, unused_since).await?.ok_or(Refusal::NotFound)?;
    if !tx.void_indexes(user, Some(reweighed.version)).await? {
        reject_while_locked(tx, user).await?;
        return Err(Refusal::Stale.into());
    }
    let mut deleted = SessionDeleted { messages, ..Default::default() };
    let mut entities = tx.entities_of_session(user, session).await?;
    if !entities.is_empty() {
        tx.subtract_session(user, session, &entities).await?;
    }
    write_facts(tx, user, reweighed, &mut deleted).await?;
    expire_session(tx, user, session).await?;
    tx.delete_session(user, session).await?;
    record_deletion(tx, user, session, now).await?;

    entities.extend(&reweighed.entities);
    if !entities.is_empty() {
        let merged = tx.entities_merged_into(user, &entities).await?;
        if !merged.is_empty() {
            tx.delete_unused_merge_records(user, &merged).await?;
        }
        deleted.entities_deleted = tx.delete_unused_entities(user, &entities).await?;
    }
    Ok(deleted)
}

/// Writes the changed facts and deletes the others.
pub(super) async fn write_facts<T: DeleteStatements>(
    tx: &mut T,
    user: UserId,
    reweighed: &Reweighed,
    deleted: &mut SessionDeleted,
) -> Result<(), T::Error> {
    if !reweighed.changed.is_empty() {
        tx.upsert_facts(user, &reweighed.changed).await?;
    }
    if !reweighed.gone.is_empty() {
        tx.delete_facts(user, &reweighed.gone).await?;
    }
    deleted.facts_reweighed += reweighed.changed.len() as u64;
    deleted.facts_deleted += reweighed.gone.len() as u64;
    Ok(())
}

/// Ends the replay of events up to the newest one of a session, whose events are about to be deleted.
pub(super) async fn expire_session<T: DeleteStatements>(tx: &mut T, user: UserId, session: SessionId) -> Result<(), T::Error> {
    let last = tx.last_memory_number(user, session).await?;
    expire_until(tx, user, last).await
}

/// Tells the followers of the memory that a session is gone.
pub(super) async fn record_deletion<T: DeleteStatements>(
    tx: &mut T,
    user: UserId,
    session_id: SessionId,
    now: Timestamp,
) -> Result<(), T::Error> {
    record_change(tx, user, &EventBody::SessionDeleted(SessionChanged { session_id }), now).await
}
