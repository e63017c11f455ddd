//! Messages: `append` stores them, this file reads them. `index` reads index rows and vectors; `vectors` changes the model of the
//! vectors.

pub(super) mod append;
mod index;
mod vectors;

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{id_list, json, millis, signed},
    failure::Failure,
    keys, rows,
    transaction::run,
};
use recall_domain::{Caller, Message, MessageId, Page, Resource, SessionId, Slice, context::SearchSources};
use recall_ports::{Appended, Embedding, FeedRow, FeedState, MessageRange, MessageStore, NewMessage, StoreError};
use recall_store::append_messages;

/// Reads the latest messages before a position, latest first.
const MESSAGES_BEFORE: &str =
    "SELECT * FROM visible_messages WHERE user_id = ? AND session_id = ? AND position < ? ORDER BY position DESC LIMIT ?";
const MESSAGES_AFTER: &str =
    "SELECT * FROM visible_messages WHERE user_id = ? AND session_id = ? AND position > ? ORDER BY position LIMIT ?";

/// Finds messages of a session by the clients' ids.
pub(super) const BY_EXTERNAL_ID: &str =
    "SELECT * FROM visible_messages WHERE user_id = ? AND session_id = ? AND external_id IN (SELECT value FROM json_each(?))";

/// Finds the answers to questions, oldest first.
///
/// `+` keeps SQLite, which has no statistics, from reading all messages of the user in the wanted order.
pub(super) const ANSWERS: &str = "SELECT * FROM visible_messages
     WHERE user_id = ? AND answer_to IN (SELECT unhex(value) FROM json_each(?)) ORDER BY +feed_row";

#[async_trait]
impl MessageStore for SqliteStore {
    async fn append(&self, caller: &Caller, session: SessionId, messages: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError> {
        let caller = *caller;
        Ok(self.write(move |tx| run(append_messages(tx, &caller, session, &messages))).await?)
    }

    async fn messages_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        let (user, ids) = (caller.user(), id_list(ids.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_messages WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
            db.rows("messages", sql, (user.0, ids), rows::message)
        });
        Ok(found.await?)
    }

    async fn messages_by_external_id(&self, caller: &Caller, session: SessionId, ids: &[String]) -> Result<Vec<Message>, StoreError> {
        let values = (caller.user().0, session.0, json(ids, "an external id").map_err(Failure::from)?);
        Ok(self.read(caller, move |db| db.rows("messages", BY_EXTERNAL_ID, values, rows::message)).await?)
    }

    async fn list_messages(&self, caller: &Caller, session: SessionId, page: &Page, backwards: bool) -> Result<Slice<Message>, StoreError> {
        let after = page.after.as_deref().map(keys::parse_number).transpose()?;
        let (sql, start) = match backwards {
            false => (MESSAGES_AFTER, 0),
            true => (MESSAGES_BEFORE, i64::MAX),
        };
        let values = (caller.user().0, session.0, after.unwrap_or(start), keys::limit(page));
        let found = self.read(caller, move |db| db.rows("messages", sql, values, rows::message)).await?;
        Ok(keys::page(found.into_iter().map(Ok::<_, Failure>), page, keys::of_message)?)
    }

    async fn count_messages(&self, caller: &Caller, session: SessionId) -> Result<u64, StoreError> {
        let values = (caller.user().0, session.0);
        let counted = self.read(caller, move |db| {
            let sql = "SELECT COUNT(*) AS messages FROM visible_messages WHERE user_id = ? AND session_id = ?";
            db.only_row("messages", sql, values, |c| c.count("messages"))
        });
        Ok(counted.await?)
    }

    async fn messages_before(&self, caller: &Caller, session: SessionId, position: u64, limit: u32) -> Result<Vec<Message>, StoreError> {
        let values = (caller.user().0, session.0, signed(position), limit);
        let mut found = self.read(caller, move |db| db.rows("messages", MESSAGES_BEFORE, values, rows::message)).await?;
        found.reverse();
        Ok(found)
    }

    async fn messages_within(&self, caller: &Caller, range: &MessageRange, limit: u32) -> Result<Vec<MessageId>, StoreError> {
        let MessageRange { session, after, before } = *range;
        let values = (caller.user().0, session.map(|s| s.0), after.map(millis), before.map(millis), limit);
        let found = self.read(caller, move |db| {
            let sql = "SELECT id FROM visible_messages WHERE user_id = ?1 AND (?2 IS NULL OR session_id = ?2)
             AND (?3 IS NULL OR sent_at >= ?3) AND (?4 IS NULL OR sent_at < ?4) ORDER BY feed_row LIMIT ?5";
            db.rows("messages", sql, values, |c| Ok(MessageId(c.id("id")?)))
        });
        Ok(found.await?)
    }

    async fn answers_to(&self, caller: &Caller, questions: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError> {
        let (user, questions) = (caller.user(), id_list(questions.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            db.rows("messages", ANSWERS, (user.0, questions), |c| Ok((MessageId(c.id("answer_to")?), rows::message(c)?)))
        });
        Ok(found.await?)
    }

    async fn answer_sources(&self, caller: &Caller, message: MessageId) -> Result<SearchSources, StoreError> {
        let values = (caller.user().0, message.0);
        let found = self.read(caller, move |db| {
            let sql = "SELECT sources FROM answer_sources WHERE user_id = ? AND message_id = ?";
            db.row("answer_sources", sql, values, |c| c.json("sources"))
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn resources_of(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, Resource)>, StoreError> {
        let values = (caller.user().0, id_list(messages.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_resources WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY message_id, ordinal";
            db.rows("resources", sql, values, |c| Ok((MessageId(c.id("message_id")?), rows::resource(c)?)))
        });
        Ok(found.await?)
    }

    async fn feed(&self, caller: &Caller, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError> {
        Ok(index::feed(self, caller.user(), model, after, limit).await?)
    }

    async fn feed_state(&self, caller: &Caller) -> Result<FeedState, StoreError> {
        let user = caller.user();
        let found = self.read(caller, move |db| {
            db.row("users", "SELECT feed_generation, embedding_model FROM users WHERE id = ?", (user.0,), |c| {
                Ok(FeedState { generation: c.count("feed_generation")?, model: c.opt_text("embedding_model")? })
            })
        });
        Ok(found.await?.unwrap_or_default())
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
