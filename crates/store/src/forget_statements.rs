//! The statements that forget, and the rows that they read and write.

use async_trait::async_trait;

use super::{EvidenceKey, HeldJob, SessionDeletionStatements};
use recall_domain::{EntityId, FactId, ForgettingId, MessageId, MessageStatus, SessionId, Timestamp, UserId, UserText};
use recall_ports::ForgottenMention;

/// How a forgotten message is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It vanishes.
    Hidden,
    /// It stays as evidence for other facts, without its text.
    Redacted,
}

impl Treatment {
    /// The word in the column `forgotten`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Redacted => "redacted",
        }
    }
}

/// A row of `forgettings`.
#[derive(Clone, Debug)]
pub struct ForgettingRow {
    /// Its id.
    pub id: ForgettingId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it can be undone.
    pub until: Timestamp,
    /// What it moved away, in JSON.
    pub record: String,
}

/// A forgotten message.
#[derive(Clone, Copy, Debug)]
pub struct ForgottenMessage {
    /// Its id.
    pub id: MessageId,
    /// Its session.
    pub session: SessionId,
    /// Its status.
    pub status: MessageStatus,
    /// Whether it is hidden or redacted.
    pub treatment: Treatment,
}

/// Statements on forgotten rows. Lists that they take are not empty.
#[async_trait]
pub trait ForgetStatements: SessionDeletionStatements {
    /// Inserts a forgetting.
    async fn insert_forgetting(&mut self, user: UserId, row: &ForgettingRow) -> Result<(), Self::Error>;
    /// Returns a forgetting, and keeps others from changing it until the transaction ends.
    async fn lock_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<Option<ForgettingRow>, Self::Error>;
    /// Deletes a forgetting.
    async fn delete_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<(), Self::Error>;

    /// Returns the forgettings that can still restore one of these messages.
    async fn forgettings_of(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<ForgettingId>, Self::Error>;
    /// Returns the live jobs of messages, in order, and keeps others from changing them until the transaction ends.
    async fn jobs_of_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<HeldJob>, Self::Error>;
    /// Marks messages as forgotten; hidden ones lose their client's id. Returns how many exist and were not.
    async fn mark_forgotten(
        &mut self,
        user: UserId,
        messages: &[MessageId],
        treatment: Treatment,
        id: ForgettingId,
    ) -> Result<u64, Self::Error>;
    /// Returns the clients' ids of messages that have one.
    async fn external_ids(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(MessageId, String)>, Self::Error>;
    /// Gives messages their clients' ids back, unless another message of the session has the id.
    async fn restore_external_ids(&mut self, user: UserId, ids: &[(MessageId, String)]) -> Result<(), Self::Error>;
    /// Returns the messages of a forgetting.
    async fn forgotten_messages(&mut self, user: UserId, id: ForgettingId) -> Result<Vec<ForgottenMessage>, Self::Error>;
    /// Clears the marks of the messages of a forgetting.
    async fn clear_forgotten(&mut self, user: UserId, id: ForgettingId) -> Result<(), Self::Error>;
    /// Deletes text, resources, terms, vectors and copies of excerpts of redacted messages.
    async fn erase_texts(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Self::Error>;
    /// Deletes what may quote these messages without naming them: the summaries of their documents and the
    /// names of their topics.
    async fn delete_summaries(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Self::Error>;

    /// Returns the metadata of the replies to a message, in JSON, as far as they have some.
    async fn metadata_of_replies(&mut self, user: UserId, message: MessageId) -> Result<Vec<(MessageId, String)>, Self::Error>;
    /// Sets the metadata of a message, in JSON.
    async fn set_metadata(&mut self, user: UserId, message: MessageId, metadata: &str) -> Result<(), Self::Error>;

    /// Returns all mentions in messages.
    async fn full_mentions_in(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<ForgottenMention>, Self::Error>;
    /// Deletes mentions by message and position.
    async fn delete_mention_rows(&mut self, user: UserId, rows: &[(MessageId, u32)]) -> Result<(), Self::Error>;
    /// Inserts mentions, except those whose message or entity does not exist any more.
    async fn insert_mention_rows(&mut self, user: UserId, rows: &[ForgottenMention]) -> Result<(), Self::Error>;
    /// Returns the first messages of entities.
    async fn first_messages(&mut self, user: UserId, entities: &[EntityId]) -> Result<Vec<(EntityId, MessageId)>, Self::Error>;
    /// Adds to the mention counts of entities.
    async fn add_mentions(&mut self, user: UserId, counts: &[(EntityId, u32)]) -> Result<(), Self::Error>;
    /// Sets the first messages of entities, unless the message does not exist any more.
    async fn set_first_messages(&mut self, user: UserId, first: &[(EntityId, MessageId)]) -> Result<(), Self::Error>;

    /// Replaces the title of a session, unless it is another one.
    async fn replace_title(
        &mut self,
        user: UserId,
        session: SessionId,
        from: Option<&UserText>,
        to: Option<&UserText>,
    ) -> Result<(), Self::Error>;
    /// Sets the excerpts of evidence.
    async fn set_excerpts(&mut self, user: UserId, excerpts: &[(EvidenceKey, &str)]) -> Result<(), Self::Error>;
    /// Hides those of the entities that no mention or fact references. The user's own entity stays.
    async fn hide_unused_entities(&mut self, user: UserId, entities: &[EntityId], id: ForgettingId) -> Result<(), Self::Error>;
    /// Shows the entities that a forgetting hid, and those of `used` that any forgetting hid, and returns them.
    async fn show_entities(&mut self, user: UserId, id: ForgettingId, used: &[EntityId]) -> Result<Vec<EntityId>, Self::Error>;
    /// Deletes the copies of facts in the records of merges.
    async fn delete_merged_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Self::Error>;
}
