//! Messages: `append` stores them, this file reads them. `index` reads index rows and vectors; `vectors` changes the model of the
//! vectors.

pub(super) mod append;
mod index;
mod vectors;

use async_trait::async_trait;

use super::{
    PostgresStore,
    codec::{self, JsonText, signed, time},
    failure::Failure,
    keys,
    rows::{self, Column, MessageRow, ResourceRow},
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Message, MessageId, Page, Resource, SessionId, Slice, context::SearchSources};
use recall_ports::{Appended, Embedding, FeedRow, FeedState, FollowUp, MessageRange, MessageStore, NewMessage, StoreError};
use recall_store::append_messages;

#[async_trait]
impl MessageStore for PostgresStore {
    async fn append(&self, caller: &Caller, session: SessionId, messages: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError> {
        let input = (caller, session, &messages);
        let written = self.write(caller, &input, |c, &(caller, session, messages)| {
            Box::pin(async move { append_messages(&mut WriteTransaction(c), caller, session, messages).await })
        });
        let appended = written.await?;
        match messages.iter().any(|m| m.mining != FollowUp::Nothing) {
            true => self.notifications.queued(caller, session),
            false => self.notifications.committed(caller, session),
        }
        self.count_new_rows(appended.len()).await;
        Ok(appended)
    }

    async fn messages_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
        let found = rows::messages!("WHERE user_id = $1 AND id = ANY($2)", caller.user().0, &ids[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(MessageRow::read).collect::<Result<_, _>>()?)
    }

    async fn messages_by_external_id(&self, caller: &Caller, session: SessionId, ids: &[String]) -> Result<Vec<Message>, StoreError> {
        let ids = codec::texts(ids.iter().map(String::as_str));
        let found =
            rows::messages!("WHERE user_id = $1 AND session_id = $2 AND external_id = ANY($3)", caller.user().0, session.0, &ids[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(MessageRow::read).collect::<Result<_, _>>()?)
    }

    async fn list_messages(&self, caller: &Caller, session: SessionId, page: &Page, backwards: bool) -> Result<Slice<Message>, StoreError> {
        let after = page.after.as_deref().map(keys::parse_number).transpose()?;
        let found = match backwards {
            true => load_before(self, caller, session, after.unwrap_or(i64::MAX), keys::limit(page)).await?,
            false => {
                let found = rows::messages!(
                    "WHERE user_id = $1 AND session_id = $2 AND position > $3 ORDER BY position LIMIT $4",
                    caller.user().0,
                    session.0,
                    after.unwrap_or(0),
                    keys::limit(page),
                );
                found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?
            }
        };
        Ok(keys::page(found.into_iter().map(MessageRow::read), page, keys::of_message)?)
    }

    async fn count_messages(&self, caller: &Caller, session: SessionId) -> Result<u64, StoreError> {
        let counted = sqlx::query_scalar!(
            r#"SELECT count(*) AS "messages!" FROM visible_messages WHERE user_id = $1 AND session_id = $2"#,
            caller.user().0,
            session.0,
        );
        let counted = counted.fetch_one(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(Column("messages", "count").count(counted)?)
    }

    async fn messages_before(&self, caller: &Caller, session: SessionId, position: u64, limit: u32) -> Result<Vec<Message>, StoreError> {
        let found = load_before(self, caller, session, signed(position), i64::from(limit)).await?;
        Ok(found.into_iter().rev().map(MessageRow::read).collect::<Result<_, _>>()?)
    }

    async fn messages_within(&self, caller: &Caller, range: &MessageRange, limit: u32) -> Result<Vec<MessageId>, StoreError> {
        let found = sqlx::query_scalar!(
            r#"SELECT id AS "id!" FROM visible_messages WHERE user_id = $1 AND ($2::uuid IS NULL OR session_id = $2)
             AND ($3::timestamptz IS NULL OR sent_at >= $3) AND ($4::timestamptz IS NULL OR sent_at < $4) ORDER BY feed_row LIMIT $5"#,
            caller.user().0,
            range.session.map(|session| session.0),
            range.after.map(time),
            range.before.map(time),
            i64::from(limit),
        );
        Ok(found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?.into_iter().map(MessageId).collect())
    }

    async fn answers_to(&self, caller: &Caller, questions: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError> {
        let questions: Vec<_> = questions.iter().map(|id| id.0).collect();
        let found = rows::messages!("WHERE user_id = $1 AND answer_to = ANY($2) ORDER BY feed_row", caller.user().0, &questions[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        // The statement returns only messages with `answer_to`.
        let pairs = found.into_iter().filter_map(|row| row.answer_to.map(|question| Ok((MessageId(question), row.read()?))));
        Ok(pairs.collect::<Result<_, Failure>>()?)
    }

    async fn answer_sources(&self, caller: &Caller, message: MessageId) -> Result<SearchSources, StoreError> {
        let found = sqlx::query_scalar!(
            r#"SELECT sources AS "sources!: JsonText" FROM answer_sources WHERE user_id = $1 AND message_id = $2"#,
            caller.user().0,
            message.0,
        );
        let found = found.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.map(|sources| Column("answer_sources", "sources").json(&sources)).transpose()?.unwrap_or_default())
    }

    async fn resources_of(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, Resource)>, StoreError> {
        let ids: Vec<_> = messages.iter().map(|id| id.0).collect();
        let found = sqlx::query_as!(
            ResourceRow,
            r#"SELECT id AS "id!", message_id AS "message_id!", uri AS "uri!", media_type, bytes, sha256, origin AS "origin!"
             FROM visible_resources WHERE user_id = $1 AND message_id = ANY($2) ORDER BY message_id, ordinal"#,
            caller.user().0,
            &ids[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let resource = |row: ResourceRow| Ok::<_, Failure>((MessageId(row.message_id), row.read()?));
        Ok(found.into_iter().map(resource).collect::<Result<_, _>>()?)
    }

    async fn feed(&self, caller: &Caller, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError> {
        Ok(index::feed(self, caller.user(), model, after, limit).await?)
    }

    async fn feed_state(&self, caller: &Caller) -> Result<FeedState, StoreError> {
        let found = sqlx::query!("SELECT feed_generation, embedding_model FROM users WHERE id = $1", caller.user().0);
        let found = found.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let Some(row) = found else { return Ok(FeedState::default()) };
        let of = |column| Column("users", column);
        Ok(FeedState {
            generation: of("feed_generation").count(row.feed_generation)?,
            model: of("embedding_model").opt_text(row.embedding_model)?,
        })
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

/// Reads the latest messages before a position, latest first.
async fn load_before(
    store: &PostgresStore,
    caller: &Caller,
    session: SessionId,
    position: i64,
    limit: i64,
) -> Result<Vec<MessageRow>, Failure> {
    let found = rows::messages!(
        "WHERE user_id = $1 AND session_id = $2 AND position < $3 ORDER BY position DESC LIMIT $4",
        caller.user().0,
        session.0,
        position,
        limit,
    );
    Ok(found.fetch_all(store.pool.reading(caller)).await?)
}
