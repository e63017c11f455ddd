//! Deletes a large session in steps.
//!
//! One short transaction hides the session. After that, no query returns its rows, and each step deletes a bounded number of them.
//! Evidence is deleted first; a fact is re-weighed when its last evidence row of the session is deleted. Mentions follow, then the
//! rest.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use super::{
    DeleteStatements, DeletionExtent, EvidenceKey, Refusal, Reweighed, SessionDeletion,
    delete::{delete_at_once, expire_session, record_deletion, write_facts},
    json, reject_while_locked,
};
use recall_domain::{EntityId, MessageId, SessionId, Timestamp, UserId};
use recall_ports::{SessionDeleted, SessionDeletionStep, SessionRemainder};

/// Statements that hide a session and delete some of its rows. Lists that they take are not empty.
#[async_trait]
pub trait SessionDeletionStatements: DeleteStatements {
    /// Hides a session and returns the number of its messages. `None` if it is unknown, already hidden, or was used since that moment.
    async fn hide_session(
        &mut self,
        user: UserId,
        session: SessionId,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<u64>, Self::Error>;
    /// Prevents new claims on the jobs of a session, and voids existing ones, whose commits then fail.
    async fn void_claims(&mut self, user: UserId, session: SessionId) -> Result<(), Self::Error>;
    /// Returns the counts of a hidden session, and keeps others from making a step until the transaction ends.
    async fn lock_hidden_session(&mut self, user: UserId, session: SessionId) -> Result<Option<SessionDeleted>, Self::Error>;
    /// Saves the counts of a hidden session, in JSON.
    async fn save_counts(&mut self, user: UserId, session: SessionId, counts: &str, now: Timestamp) -> Result<(), Self::Error>;
    /// Counts one more commit, also for a locked user. Returns false, and counts nothing, if `version` is not the current one.
    async fn advance_version(&mut self, user: UserId, version: u64) -> Result<bool, Self::Error>;
    /// Deletes evidence rows.
    async fn delete_evidence_rows(&mut self, user: UserId, rows: &[EvidenceKey]) -> Result<(), Self::Error>;
    /// Deletes mentions from a session, entity by entity. Returns the entity and the message of each.
    async fn delete_mentions(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<(EntityId, MessageId)>, Self::Error>;
    /// Returns the entity and the message of each mention in these messages.
    async fn mentions_in(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(EntityId, MessageId)>, Self::Error>;
    /// Subtracts from the mention counts of entities, and replaces a first message that is one of `messages`.
    async fn subtract_mentions(&mut self, user: UserId, counts: &[(EntityId, u32)], messages: &[MessageId]) -> Result<(), Self::Error>;
    /// Deletes the oldest events of a session. Returns how many.
    async fn delete_events(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<u64, Self::Error>;
    /// Returns the first messages of a session.
    async fn messages_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<MessageId>, Self::Error>;
    /// Deletes messages with their vectors, terms and jobs, and with their entries in merge records.
    async fn delete_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Self::Error>;
    /// Returns the merged entities whose records have mentions or evidence from these messages.
    async fn merges_with_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<EntityId>, Self::Error>;
}

/// Hides a session. Returns the number of its messages.
///
/// # Errors
/// `NotFound` if the session is unknown, already hidden, or was used since `since`; `BeingErased` or `BeingImported` if the user is
/// locked.
pub async fn hide_session<T: SessionDeletionStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    since: Option<Timestamp>,
    now: Timestamp,
) -> Result<u64, T::Error> {
    reject_while_locked(tx, user).await?;
    let messages = tx.hide_session(user, session, since, now).await?.ok_or(Refusal::NotFound)?;
    save_progress(tx, user, session, &SessionDeleted { messages, ..Default::default() }, now).await?;
    tx.void_claims(user, session).await?;
    if !tx.void_indexes(user, None).await? {
        return Err(Refusal::BeingImported.into());
    }
    expire_session(tx, user, session).await?;
    record_deletion(tx, user, session, now).await?;
    Ok(messages)
}

/// Deletes a session, or makes one step, after its facts were re-weighed.
///
/// # Errors
/// `Stale` if knowledge was committed since; otherwise like [`delete_session`](super::delete_session).
pub async fn write_deletion<T: SessionDeletionStatements>(
    tx: &mut T,
    deletion: SessionDeletion,
    reweighed: &Reweighed,
) -> Result<SessionDeletionStep, T::Error> {
    let SessionDeletion { user, session, extent } = deletion;
    match extent {
        DeletionExtent::Whole { unused_since, now } => {
            let deleted = delete_at_once(tx, user, session, (unused_since, now), reweighed).await?;
            Ok(SessionDeletionStep { deleted, left: SessionRemainder::Nothing })
        }
        DeletionExtent::Step { limit, now } => {
            let mut deleted = tx.lock_hidden_session(user, session).await?.ok_or(Refusal::NotFound)?;
            let left = delete_some(tx, user, session, limit, reweighed, &mut deleted).await?;
            match left {
                SessionRemainder::Nothing => {
                    tx.delete_session(user, session).await?;
                    // Again: facts and entities have changed since the session was hidden.
                    record_deletion(tx, user, session, now).await?;
                }
                _ => save_progress(tx, user, session, &deleted, now).await?,
            }
            Ok(SessionDeletionStep { deleted, left })
        }
    }
}

/// Deletes about `limit` rows of one kind. Returns what remains.
async fn delete_some<T: SessionDeletionStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    limit: u32,
    reweighed: &Reweighed,
    deleted: &mut SessionDeleted,
) -> Result<SessionRemainder, T::Error> {
    if !tx.advance_version(user, reweighed.version).await? {
        return Err(Refusal::Stale.into());
    }
    if !reweighed.rows.is_empty() {
        tx.delete_evidence_rows(user, &reweighed.rows).await?;
        write_facts(tx, user, reweighed, deleted).await?;
        if !reweighed.entities.is_empty() {
            deleted.entities_deleted += tx.delete_unused_entities(user, &reweighed.entities).await?;
        }
        return Ok(SessionRemainder::Knowledge);
    }
    if delete_mentions(tx, user, session, limit, deleted).await? {
        return Ok(SessionRemainder::Knowledge);
    }
    if tx.delete_events(user, session, limit).await? > 0 || delete_messages(tx, user, session, limit).await? {
        return Ok(SessionRemainder::Rows);
    }
    Ok(SessionRemainder::Nothing)
}

/// Deletes mentions and subtracts them from their entities' counts. Returns false if there are none.
///
/// A message counts once per entity, however often it names the entity.
async fn delete_mentions<T: SessionDeletionStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    limit: u32,
    deleted: &mut SessionDeleted,
) -> Result<bool, T::Error> {
    let mut pairs: BTreeSet<_> = tx.delete_mentions(user, session, limit).await?.into_iter().collect();
    if pairs.is_empty() {
        return Ok(false);
    }
    let mut counts: BTreeMap<EntityId, u32> = pairs.iter().map(|(entity, _)| (*entity, 0)).collect();
    let messages: BTreeSet<MessageId> = pairs.iter().map(|(_, message)| *message).collect();
    let messages: Vec<_> = messages.into_iter().collect();
    for pair in tx.mentions_in(user, &messages).await? {
        pairs.remove(&pair);
    }
    for (entity, _) in &pairs {
        *counts.entry(*entity).or_default() += 1;
    }
    let counts: Vec<_> = counts.into_iter().collect();
    // The new first message may also be in this session. Then a later step replaces it.
    tx.subtract_mentions(user, &counts, &messages).await?;
    let entities: Vec<_> = counts.iter().map(|(entity, _)| *entity).collect();
    deleted.entities_deleted += tx.delete_unused_entities(user, &entities).await?;
    Ok(true)
}

/// Deletes messages, and the merge records that only they kept. Returns false if there are none.
async fn delete_messages<T: SessionDeletionStatements>(tx: &mut T, user: UserId, session: SessionId, limit: u32) -> Result<bool, T::Error> {
    let messages = tx.messages_of_session(user, session, limit).await?;
    if messages.is_empty() {
        return Ok(false);
    }
    let merged = tx.merges_with_messages(user, &messages).await?;
    tx.delete_messages(user, &messages).await?;
    if !merged.is_empty() {
        tx.delete_unused_merge_records(user, &merged).await?;
    }
    Ok(true)
}

async fn save_progress<T: SessionDeletionStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    deleted: &SessionDeleted,
    now: Timestamp,
) -> Result<(), T::Error> {
    tx.save_counts(user, session, &json(deleted, "counts")?, now).await
}
