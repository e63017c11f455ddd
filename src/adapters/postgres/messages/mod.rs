//! Messages: stored in `append`, read here. Rows of the index feed and vectors in `index`, a change of vectors in `vectors`.

pub(super) mod append;
mod index;
mod vectors;

use async_trait::async_trait;

use super::{PostgresStore, codec::signed, failure::Failure, keys, rows, rows::Columns};
use crate::{
    domain::{Caller, Message, MessageId, Page, SessionId, Slice},
    ports::{Appended, Embedding, FeedRow, FeedState, MessageStore, Mining, NewMessage, StoreError},
};

#[async_trait]
impl MessageStore for PostgresStore {
    async fn append(&self, caller: &Caller, session: SessionId, messages: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError> {
        let input = (caller, session, &messages);
        let appended =
            self.write(caller, &input, |c, &(caller, session, messages)| Box::pin(append::append(c, caller, session, messages))).await?;
        match messages.iter().any(|m| m.mining != Mining::Nothing) {
            true => self.hints.queued(caller, session),
            false => self.hints.committed(caller, session),
        }
        self.grown(appended.len()).await;
        Ok(appended)
    }

    async fn messages_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        let found = sqlx::query("SELECT * FROM messages WHERE user_id = $1 AND id = ANY($2)")
            .bind(caller.user().0)
            .bind(ids.iter().map(|id| id.0).collect::<Vec<_>>())
            .fetch_all(self.pool.reading(caller))
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().map(rows::message).collect::<Result<_, _>>()?)
    }

    async fn list_messages(&self, caller: &Caller, session: SessionId, page: &Page, backwards: bool) -> Result<Slice<Message>, StoreError> {
        let after = page.after.as_deref().map(keys::parse_number).transpose()?;
        let (sql, start) = match backwards {
            false => ("SELECT * FROM messages WHERE user_id = $1 AND session_id = $2 AND position > $3 ORDER BY position LIMIT $4", 0),
            true => (
                "SELECT * FROM messages WHERE user_id = $1 AND session_id = $2 AND position < $3 ORDER BY position DESC LIMIT $4",
                i64::MAX,
            ),
        };
        let found = sqlx::query(sql)
            .bind(caller.user().0)
            .bind(session.0)
            .bind(after.unwrap_or(start))
            .bind(keys::limit(page))
            .fetch_all(self.pool.reading(caller))
            .await
            .map_err(Failure::from)?;
        let items = found.iter().map(|row| {
            let message = rows::message(row)?;
            Ok((message.position.to_string(), message))
        });
        Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
    }

    async fn messages_before(&self, caller: &Caller, session: SessionId, position: u64, limit: u32) -> Result<Vec<Message>, StoreError> {
        let found =
            sqlx::query("SELECT * FROM messages WHERE user_id = $1 AND session_id = $2 AND position < $3 ORDER BY position DESC LIMIT $4")
                .bind(caller.user().0)
                .bind(session.0)
                .bind(signed(position))
                .bind(i64::from(limit))
                .fetch_all(self.pool.reading(caller))
                .await
                .map_err(Failure::from)?;
        Ok(found.iter().rev().map(rows::message).collect::<Result<_, _>>()?)
    }

    async fn answers_to(&self, caller: &Caller, questions: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError> {
        let found = sqlx::query("SELECT * FROM messages WHERE user_id = $1 AND answer_to = ANY($2) ORDER BY feed_row")
            .bind(caller.user().0)
            .bind(questions.iter().map(|id| id.0).collect::<Vec<_>>())
            .fetch_all(self.pool.reading(caller))
            .await
            .map_err(Failure::from)?;
        let pairs = found.iter().map(|row| Ok((MessageId(Columns::of(row, "messages").id("answer_to")?), rows::message(row)?)));
        Ok(pairs.collect::<Result<_, Failure>>()?)
    }

    async fn feed(&self, caller: &Caller, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError> {
        Ok(index::feed(self, caller.user(), model, after, limit).await?)
    }

    async fn feed_state(&self, caller: &Caller) -> Result<FeedState, StoreError> {
        let found = sqlx::query("SELECT feed_generation, embedding_model FROM users WHERE id = $1")
            .bind(caller.user().0)
            .fetch_optional(self.pool.reading(caller))
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
