//! Messages: `append` stores them, this file reads them. `index` reads index rows and vectors; `vectors` changes the model of the
//! vectors.

pub(super) mod append;
mod index;
mod vectors;

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{bytes, id_list, signed},
    failure::Failure,
    keys, rows,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Message, MessageId, Page, SessionId, Slice};
use recall_ports::{Appended, Embedding, FeedRow, FeedState, MessageStore, NewMessage, StoreError};
use recall_store::append_messages;

/// Reads the latest messages before a position, latest first.
const MESSAGES_BEFORE: &str =
    "SELECT * FROM visible_messages WHERE user_id = ? AND session_id = ? AND position < ? ORDER BY position DESC LIMIT ?";
const MESSAGES_AFTER: &str =
    "SELECT * FROM visible_messages WHERE user_id = ? AND session_id = ? AND position > ? ORDER BY position LIMIT ?";

/// Finds the answers to questions, oldest first.
///
/// `+` keeps SQLite, which has no statistics, from reading all messages of the user in the wanted order.
pub(super) const ANSWERS: &str = "SELECT * FROM visible_messages
     WHERE user_id = ? AND answer_to IN (SELECT unhex(value) FROM json_each(?)) ORDER BY +feed_row";

#[async_trait]
impl MessageStore for SqliteStore {
    async fn append(&self, caller: &Caller, session: SessionId, messages: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError> {
        let caller = *caller;
        Ok(self
            .write(move |c| Box::pin(async move { append_messages(&mut WriteTransaction(c), &caller, session, &messages).await }))
            .await?)
    }

    async fn messages_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        let found = sqlx::query("SELECT * FROM visible_messages WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
            .bind(bytes(&caller.user().0))
            .bind(id_list(ids.iter().map(|id| &id.0)))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().map(rows::message).collect::<Result<_, _>>()?)
    }

    async fn list_messages(&self, caller: &Caller, session: SessionId, page: &Page, backwards: bool) -> Result<Slice<Message>, StoreError> {
        let after = page.after.as_deref().map(keys::parse_number).transpose()?;
        let (sql, start) = match backwards {
            false => (MESSAGES_AFTER, 0),
            true => (MESSAGES_BEFORE, i64::MAX),
        };
        let found = sqlx::query(sql)
            .bind(bytes(&caller.user().0))
            .bind(bytes(&session.0))
            .bind(after.unwrap_or(start))
            .bind(keys::limit(page))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        Ok(keys::page(found.iter().map(rows::message), page, keys::of_message)?)
    }

    async fn messages_before(&self, caller: &Caller, session: SessionId, position: u64, limit: u32) -> Result<Vec<Message>, StoreError> {
        let found = sqlx::query(MESSAGES_BEFORE)
            .bind(bytes(&caller.user().0))
            .bind(bytes(&session.0))
            .bind(signed(position))
            .bind(i64::from(limit))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().rev().map(rows::message).collect::<Result<_, _>>()?)
    }

    async fn answers_to(&self, caller: &Caller, questions: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError> {
        let found = sqlx::query(ANSWERS)
            .bind(bytes(&caller.user().0))
            .bind(id_list(questions.iter().map(|id| &id.0)))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        let pairs = found.iter().map(|row| Ok((MessageId(Columns::of(row, "messages").id("answer_to")?), rows::message(row)?)));
        Ok(pairs.collect::<Result<_, Failure>>()?)
    }

    async fn feed(&self, caller: &Caller, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError> {
        Ok(index::feed(self, caller.user(), model, after, limit).await?)
    }

    async fn feed_state(&self, caller: &Caller) -> Result<FeedState, StoreError> {
        let found = sqlx::query("SELECT feed_generation, embedding_model FROM users WHERE id = ?")
            .bind(bytes(&caller.user().0))
            .fetch_optional(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        let Some(row) = found else { return Ok(FeedState::default()) };
        let c = Columns::of(&row, "users");
        Ok(FeedState { generation: c.count("feed_generation")?, model: c.opt_text("embedding_model")? })
    }

    async fn nearest(
        &self,
        caller: &Caller,
        model: &str,
        vector: &Embedding,
        session: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<(MessageId, f32)>, StoreError> {
        Ok(index::nearest(self, caller.user(), model, vector, session, limit).await?)
    }
}
