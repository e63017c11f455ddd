//! Stores documents: the file with a job, then what the parser found, step by step.
//!
//! Each step checks the claim on the job and the number of chunks that are stored. So a step that is repeated after a crash changes
//! nothing twice, and the next attempt continues behind the last step.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    JobStatements, MessageStatements, NewSession, PendingMessage, Quota, Refusal, SessionStatements, append_events, jobs, messages,
    reject_while_locked, use_quota,
};
use recall_domain::{
    Caller, Chunk, Document, DocumentId, DocumentProgress, DocumentStatus, EventBody, EventDraft, EventId, MessageId, Role, Section,
    SessionId, Timestamp, UserId,
};
use recall_ports::{AddedDocument, Claim, DocumentOutline, DocumentStep, NewDocument, Original};

/// The stored role and flag of a message. A chunk has the role of the assistant and a flag; see the migration `0026_documents.sql`.
pub fn role_columns(role: Role) -> (Role, Option<bool>) {
    match role {
        Role::Document => (Role::Assistant, Some(true)),
        role => (role, None),
    }
}

/// The inverse of [`role_columns`].
pub fn role_of(role: Role, chunk: Option<bool>) -> Role {
    if chunk == Some(true) { Role::Document } else { role }
}

/// What a transaction reads of a document before it changes it.
#[derive(Clone, Debug)]
pub struct LockedDocument {
    /// Its progress.
    pub progress: DocumentProgress,
    /// The digest of its chunks, once it is parsed.
    pub digest: Option<String>,
}

/// Statements on documents. Lists that they take are not empty.
#[async_trait]
pub trait DocumentStatements: MessageStatements + SessionStatements {
    /// Keeps others from adding documents of the user until the transaction ends.
    async fn lock_documents(&mut self, user: UserId) -> Result<(), Self::Error>;
    /// Returns the current document of a collection with this content that has not failed.
    async fn document_with_content(&mut self, user: UserId, collection: &str, sha256: &str) -> Result<Option<Document>, Self::Error>;
    /// Returns the latest version of the document with this path; 0 if there is none.
    async fn latest_version(&mut self, user: UserId, collection: &str, path: &str) -> Result<u32, Self::Error>;
    /// Inserts a document, whose session exists.
    async fn insert_document(&mut self, user: UserId, document: &Document) -> Result<(), Self::Error>;
    /// Inserts the pieces of a file, or gives the document a registered file.
    async fn insert_original(&mut self, user: UserId, document: DocumentId, original: &Original) -> Result<(), Self::Error>;
    /// Returns a document, and keeps others from changing it until the transaction ends.
    async fn lock_document(&mut self, user: UserId, document: DocumentId) -> Result<Option<LockedDocument>, Self::Error>;
    /// Records what the parser found, and sets the status to processing.
    async fn save_outline(&mut self, user: UserId, outline: &DocumentOutline) -> Result<(), Self::Error>;
    /// Inserts sections, except stored ones.
    async fn insert_sections(&mut self, user: UserId, document: DocumentId, sections: &[Section]) -> Result<(), Self::Error>;
    /// Inserts the places of chunks, whose messages exist.
    async fn insert_chunks(&mut self, user: UserId, chunks: &[&Chunk]) -> Result<(), Self::Error>;
    /// Adds to the number of stored chunks, and returns the progress.
    async fn advance_stored(
        &mut self,
        user: UserId,
        document: DocumentId,
        count: u32,
        now: Timestamp,
    ) -> Result<DocumentProgress, Self::Error>;
    /// Marks the first message of a document or comparison as processed.
    async fn end_first_message(&mut self, user: UserId, message: MessageId) -> Result<(), Self::Error>;
}

/// Stores a document with everything that belongs to it, unless its collection has the same content.
///
/// # Errors
/// `BeingErased` or `BeingImported` if the user is locked, `QuotaUsed` if a visitor has no sessions left.
pub async fn add_document<T: DocumentStatements>(tx: &mut T, caller: &Caller, new: &NewDocument) -> Result<AddedDocument, T::Error> {
    let user = caller.user();
    tx.ensure_user(user).await?;
    reject_while_locked(tx, user).await?;
    tx.lock_documents(user).await?;
    let mut document = new.document.clone();
    document.created_at = T::stored_time(document.created_at);
    document.updated_at = T::stored_time(document.updated_at);
    if let Some(known) = tx.document_with_content(user, &document.collection, &document.sha256).await? {
        return Ok(AddedDocument::Duplicate(known));
    }
    use_quota(tx, caller, Quota::Sessions, 1).await?;
    let latest = match &document.path {
        Some(path) => tx.latest_version(user, &document.collection, path.as_str()).await?,
        None => 0,
    };
    document.version = latest.saturating_add(1);
    let (id, now) = (document.id.session(), document.created_at);
    let session = NewSession { id, title: Some(document.filename.clone()), epoch: new.epoch.clone(), now, document: true };
    tx.insert_session(user, &session).await?;
    tx.insert_document(user, &document).await?;
    tx.insert_original(user, document.id, &new.original).await?;
    let message = PendingMessage { message: &new.message, may_be_remembered: true };
    messages::store(tx, caller, id, &[message]).await?;
    tell(tx, user, document.progress(), new.event, now).await?;
    Ok(AddedDocument::Added(document))
}

/// Records what the parser found. Returns how many chunks an earlier attempt has stored.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid, `Stale` if an earlier attempt has stored other chunks, `QuotaUsed` if a visitor may not
/// store that many.
pub async fn begin_document<T: DocumentStatements>(
    tx: &mut T,
    caller: &Caller,
    claim: &Claim,
    outline: &DocumentOutline,
) -> Result<u32, T::Error> {
    let user = caller.user();
    jobs::held_job(tx, user, claim).await?;
    let known = tx.lock_document(user, outline.document).await?.ok_or(Refusal::NotOurs)?;
    if known.digest.as_ref() == Some(&outline.digest) {
        return Ok(known.progress.stored);
    }
    if known.progress.stored > 0 {
        return Err(Refusal::Stale.into());
    }
    tx.save_outline(user, outline).await?;
    let progress = DocumentProgress {
        document: outline.document,
        status: DocumentStatus::Processing,
        chunk_count: outline.chunk_count,
        stored: 0,
        understood: 0,
        error: None,
    };
    tell(tx, user, progress, outline.event, outline.now).await?;
    // After `tell`, which locks the user. An earlier attempt with other chunks has taken its number of messages already.
    let taken = known.progress.chunk_count;
    use_quota(tx, caller, Quota::Messages, outline.chunk_count.saturating_sub(taken) as usize).await?;
    Ok(0)
}

/// Stores some chunks. With the last one, the job ends.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid, `Stale` if another number of chunks is stored than the step says.
pub async fn store_chunks<T: DocumentStatements>(tx: &mut T, caller: &Caller, claim: &Claim, step: &DocumentStep) -> Result<(), T::Error> {
    let (user, session) = (caller.user(), step.document.session());
    let job = jobs::held_job(tx, user, claim).await?;
    let known = tx.lock_document(user, step.document).await?.ok_or(Refusal::NotOurs)?;
    if known.progress.stored != step.first {
        return Err(Refusal::Stale.into());
    }
    let pending = step.chunks.iter().map(|(message, _)| PendingMessage { message, may_be_remembered: true });
    messages::store(tx, caller, session, &pending.collect::<Vec<_>>()).await?;
    if !step.sections.is_empty() {
        tx.insert_sections(user, step.document, &step.sections).await?;
    }
    let chunks: Vec<&Chunk> = step.chunks.iter().map(|(_, chunk)| chunk).collect();
    if !chunks.is_empty() {
        tx.insert_chunks(user, &chunks).await?;
    }
    let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
    let progress = tx.advance_stored(user, step.document, count, step.now).await?;
    let is_last = progress.stored >= progress.chunk_count;
    tell(tx, user, progress, step.event, step.now).await?;
    if is_last {
        tx.end_first_message(user, job.message).await?;
        jobs::finish(tx, &job, step.now).await?;
    }
    Ok(())
}

/// Marks a document as failed and ends its job.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid.
pub async fn fail_document<T: DocumentStatements>(
    tx: &mut T,
    user: UserId,
    claim: &Claim,
    document: DocumentId,
    (error, event, now): (&str, EventId, Timestamp),
) -> Result<(), T::Error> {
    let job = jobs::held_job(tx, user, claim).await?;
    if let Some(progress) = tx.mark_document_failed(user, document, error, now).await? {
        tell(tx, user, progress, event, now).await?;
    }
    tx.mark_message_failed(user, job.message).await?;
    jobs::finish(tx, &job, now).await
}

/// Counts chunks whose facts were extracted, and tells the progress. Does nothing if the session stores no document.
pub(super) async fn count_understood<T: JobStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    count: u32,
    (event, now): (EventId, Timestamp),
) -> Result<(), T::Error> {
    match tx.advance_understood(user, session.into(), count, now).await? {
        Some(progress) => tell(tx, user, progress, event, now).await,
        None => Ok(()),
    }
}

/// Appends the progress to the log of the document.
pub(super) async fn tell<T: JobStatements>(
    tx: &mut T,
    user: UserId,
    progress: DocumentProgress,
    id: EventId,
    now: Timestamp,
) -> Result<(), T::Error> {
    let session = progress.document.session();
    let event = EventDraft { id, body: EventBody::DocumentUpdate(progress.into()) };
    append_events(tx, user, session, &[event], now).await?;
    Ok(())
}

/// The id of an event that follows from another one.
pub(super) fn following(event: EventId) -> EventId {
    EventId(Uuid::new_v5(&event.0, b"document_update"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_read_back() {
        for role in [Role::User, Role::Assistant, Role::Document] {
            let (stored, chunk) = role_columns(role);
            assert_ne!(stored, Role::Document, "the tables do not know it");
            assert_eq!(role_of(stored, chunk), role);
        }
    }
}
