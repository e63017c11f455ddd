//! A message feed in memory, for tests and examples without a database.
//!
//! Implements only the methods that an index calls.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use recall_domain::{
    Caller, Message, MessageId, MessageKind, MessageStatus, Page, Resource, Role, SessionId, Slice, Timestamp, UserId, UserText,
    context::SearchSources,
};
use recall_ports::{Appended, Embedding, FeedRow, FeedState, MessageRange, MessageStore, NewMessage, StoreError};
use recall_text::index_terms;

/// Messages of all users with the rows made from them.
#[derive(Default)]
pub(crate) struct MemoryFeed {
    rows: Mutex<Vec<(UserId, FeedRow, String)>>,
    generation: AtomicU64,
    model: Mutex<Option<String>>,
    /// Number of pages read.
    pub(crate) reads: AtomicUsize,
}

/// A message to add to the feed.
pub(crate) struct TestMessage<'a> {
    /// The owner.
    pub(crate) caller: &'a Caller,
    pub(crate) message: MessageId,
    pub(crate) session: SessionId,
    pub(crate) speaker: Option<&'a str>,
    pub(crate) sent_at: Timestamp,
    pub(crate) text: &'a str,
    pub(crate) embedding: Vec<f32>,
}

impl MemoryFeed {
    fn rows(&self) -> MutexGuard<'_, Vec<(UserId, FeedRow, String)>> {
        self.rows.lock()
    }

    /// Adds a message.
    pub(crate) fn add(&self, message: TestMessage<'_>) {
        let mut rows = self.rows();
        let position = rows.iter().rev().find(|(_, r, _)| r.session == message.session).map_or(1, |(_, r, _)| r.position + 1);
        let row = FeedRow {
            row: rows.last().map_or(1, |(_, r, _)| r.row + 1),
            message: message.message,
            session: message.session,
            position,
            role: Role::User,
            speaker: message.speaker.map(str::to_owned),
            sent_at: message.sent_at,
            terms: index_terms(message.text).into_iter().map(|(term, count)| (term.into(), count)).collect(),
            embedding: message.embedding,
        };
        rows.push((message.caller.user(), row, message.text.to_owned()));
    }

    /// Replaces all vectors with those of another model, computed by `vector` from the texts.
    #[allow(dead_code, reason = "the examples that share this file do not use it")]
    pub(crate) fn change_model(&self, model: &str, vector: impl Fn(&str) -> Vec<f32>) {
        for (_, row, text) in self.rows().iter_mut() {
            row.embedding = vector(text);
        }
        *self.model.lock() = Some(model.to_owned());
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Makes the messages of a session chunks of a document.
    #[allow(dead_code, reason = "the examples that share this file do not use it")]
    pub(crate) fn turn_into_document(&self, session: SessionId) {
        let mut rows = self.rows();
        rows.iter_mut().filter(|(_, r, _)| r.session == session).for_each(|(_, r, _)| r.role = Role::Document);
    }

    /// Deletes a session.
    pub(crate) fn delete(&self, session: SessionId) {
        self.rows().retain(|(_, r, _)| r.session != session);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }
}

fn unsupported() -> StoreError {
    StoreError::Permanent("not supported by the feed in memory".into())
}

#[async_trait]
impl MessageStore for MemoryFeed {
    async fn append(&self, _: &Caller, _: SessionId, _: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError> {
        Err(unsupported())
    }

    async fn messages_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        let rows = self.rows();
        let found = rows.iter().filter(|(user, row, _)| *user == caller.user() && ids.contains(&row.message));
        let message = |(_, row, text): &(UserId, FeedRow, String)| Message {
            id: row.message,
            session: row.session,
            position: row.position,
            role: row.role,
            speaker: row.speaker.clone(),
            text: UserText::from(text.as_str()),
            kind: Some(MessageKind::Statement),
            status: MessageStatus::Processed,
            sent_at: row.sent_at,
            created_at: row.sent_at,
            source_metadata: None,
            external_id: None,
            answer_to: None,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        };
        Ok(found.map(message).collect())
    }

    async fn messages_by_external_id(&self, _: &Caller, _: SessionId, _: &[String]) -> Result<Vec<Message>, StoreError> {
        Err(unsupported())
    }

    async fn list_messages(&self, _: &Caller, _: SessionId, _: &Page, _: bool) -> Result<Slice<Message>, StoreError> {
        Err(unsupported())
    }

    async fn count_messages(&self, _: &Caller, _: SessionId) -> Result<u64, StoreError> {
        Err(unsupported())
    }

    async fn messages_before(&self, _: &Caller, _: SessionId, _: u64, _: u32) -> Result<Vec<Message>, StoreError> {
        Err(unsupported())
    }

    async fn messages_within(&self, _: &Caller, _: &MessageRange, _: u32) -> Result<Vec<MessageId>, StoreError> {
        Err(unsupported())
    }

    async fn answer_sources(&self, _: &Caller, _: MessageId) -> Result<SearchSources, StoreError> {
        Err(unsupported())
    }

    async fn resources_of(&self, _: &Caller, _: &[MessageId]) -> Result<Vec<(MessageId, Resource)>, StoreError> {
        Err(unsupported())
    }

    async fn answers_to(&self, _: &Caller, _: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError> {
        Err(unsupported())
    }

    async fn feed(&self, caller: &Caller, _: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        // Yields as a database would, so that tests reach states between two reads.
        tokio::task::yield_now().await;
        let rows = self.rows();
        let start = rows.partition_point(|(_, row, _)| row.row <= after);
        Ok(rows[start..].iter().filter(|(user, _, _)| *user == caller.user()).take(limit as usize).map(|(_, row, _)| row.clone()).collect())
    }

    async fn feed_state(&self, _: &Caller) -> Result<FeedState, StoreError> {
        let model = self.model.lock().clone();
        Ok(FeedState { generation: self.generation.load(Ordering::SeqCst), model })
    }

    async fn nearest(
        &self,
        caller: &Caller,
        _: &str,
        vector: &Embedding,
        session: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<(MessageId, f32)>, StoreError> {
        let rows = self.rows();
        let mine = rows.iter().filter(|(user, row, _)| *user == caller.user() && session.is_none_or(|s| s == row.session));
        let mut found: Vec<(MessageId, f32)> =
            mine.map(|(_, row, _)| (row.message, row.embedding.iter().zip(&vector.0).map(|(a, b)| a * b).sum())).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(limit as usize);
        Ok(found)
    }
}
