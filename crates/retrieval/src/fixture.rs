//! A feed in memory, for tests and examples that need rows without a database. Implements what an index reads;
//! the rest of the port is not there.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use recall_domain::{Caller, Message, MessageId, MessageKind, MessageStatus, Page, Role, SessionId, Slice, Timestamp, UserId, UserText};
use recall_ports::{Appended, Embedding, FeedRow, FeedState, MessageStore, NewMessage, StoreError};
use recall_text::index_terms;

/// Messages of all users with the rows made from them.
#[derive(Default)]
pub(crate) struct MemoryFeed {
    rows: Mutex<Vec<(UserId, FeedRow, String)>>,
    generation: AtomicU64,
    model: Mutex<Option<String>>,
    /// Pages that were read.
    pub(crate) reads: AtomicUsize,
}

/// What one message of the feed is.
pub(crate) struct Told<'a> {
    /// Whose message.
    pub(crate) caller: &'a Caller,
    /// Its id.
    pub(crate) message: MessageId,
    /// Its session.
    pub(crate) session: SessionId,
    /// Who says it.
    pub(crate) speaker: Option<&'a str>,
    /// When.
    pub(crate) sent_at: Timestamp,
    /// What.
    pub(crate) text: &'a str,
    /// Its vector.
    pub(crate) embedding: Vec<f32>,
}

impl MemoryFeed {
    fn rows(&self) -> MutexGuard<'_, Vec<(UserId, FeedRow, String)>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a message.
    pub(crate) fn tell(&self, told: Told<'_>) {
        let mut rows = self.rows();
        let position = rows.iter().rev().find(|(_, r, _)| r.session == told.session).map_or(1, |(_, r, _)| r.position + 1);
        let row = FeedRow {
            row: rows.last().map_or(1, |(_, r, _)| r.row + 1),
            message: told.message,
            session: told.session,
            position,
            role: Role::User,
            speaker: told.speaker.map(str::to_owned),
            sent_at: told.sent_at,
            terms: index_terms(told.text),
            embedding: told.embedding,
        };
        rows.push((told.caller.user(), row, told.text.to_owned()));
    }

    /// Has other vectors from now on, made from the text.
    #[allow(dead_code, reason = "examples that share this file have no use for it")]
    pub(crate) fn change_model(&self, model: &str, vector: impl Fn(&str) -> Vec<f32>) {
        for (_, row, text) in self.rows().iter_mut() {
            row.embedding = vector(text);
        }
        *self.model.lock().unwrap_or_else(PoisonError::into_inner) = Some(model.to_owned());
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Deletes a session.
    pub(crate) fn delete(&self, session: SessionId) {
        self.rows().retain(|(_, r, _)| r.session != session);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }
}

fn not_here() -> StoreError {
    StoreError::Permanent("a feed in memory only reads".into())
}

#[async_trait]
impl MessageStore for MemoryFeed {
    async fn append(&self, _: &Caller, _: SessionId, _: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError> {
        Err(not_here())
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
        };
        Ok(found.map(message).collect())
    }

    async fn list_messages(&self, _: &Caller, _: SessionId, _: &Page, _: bool) -> Result<Slice<Message>, StoreError> {
        Err(not_here())
    }

    async fn messages_before(&self, _: &Caller, _: SessionId, _: u64, _: u32) -> Result<Vec<Message>, StoreError> {
        Err(not_here())
    }

    async fn answers_to(&self, _: &Caller, _: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError> {
        Err(not_here())
    }

    async fn feed(&self, caller: &Caller, _: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        // Gives way, as a database would, so that tests meet half-read states.
        tokio::task::yield_now().await;
        let rows = self.rows();
        let start = rows.partition_point(|(_, row, _)| row.row <= after);
        Ok(rows[start..].iter().filter(|(user, _, _)| *user == caller.user()).take(limit as usize).map(|(_, row, _)| row.clone()).collect())
    }

    async fn feed_state(&self, _: &Caller) -> Result<FeedState, StoreError> {
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner).clone();
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
