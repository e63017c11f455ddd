//! Re-embeds vectors: stores vectors of two models side by side, and tracks which model is in use.
//!
//! Each step locks the user's row first. So do transactions that store or delete messages, so none of them deadlock.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::super::{
    PostgresStore,
    codec::{column, interval, signed, time},
    failure::Failure,
    row_security::RowAccess,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, MessageId, Timestamp, UserId, UserText};
use recall_ports::{Embedding, MessageWithoutVector, Replaced, StoreError, VectorBacklog, VectorClaim, VectorStep, VectorStore};
use recall_store::{ClaimedUser, VectorStatements};

#[async_trait]
impl VectorStore for PostgresStore {
    async fn want_model(&self, model: &str) -> Result<(), StoreError> {
        let wanted = sqlx::query!("UPDATE installation SET embedding_model = $1 WHERE id = 1", model);
        wanted.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn claim_vectors(&self, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, StoreError> {
        let input = (model, now, lease);
        let claimed = self.write(RowAccess::Vectors, &input, |c, &(model, now, lease)| {
            Box::pin(async move { recall_store::claim_vectors(&mut WriteTransaction(c), model, now, lease).await })
        });
        Ok(claimed.await?)
    }

    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<MessageWithoutVector>, StoreError> {
        let found = sqlx::query!(
            r#"SELECT m.id AS "id!", m.text AS "text!" FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 AND m.forgotten IS NULL AND m.feed_row > $3 AND m.feed_row <= $4 AND i.model <> $2
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = $1 AND v.message_id = m.id AND v.model = $2)
             ORDER BY m.feed_row DESC"#,
            caller.user().0,
            model,
            signed(after),
            signed(upto),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let messages = found.into_iter().map(|row| {
            Ok::<_, Failure>(MessageWithoutVector {
                message: MessageId(row.id),
                text: UserText::from(Column("messages", "text").text(row.text)?),
            })
        });
        Ok(messages.collect::<Result<_, _>>()?)
    }

    async fn keep_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        vectors: Vec<(MessageId, Embedding)>,
        now: Timestamp,
        lease: Duration,
    ) -> Result<VectorStep, StoreError> {
        let input = (claim, model, &vectors, now, lease);
        let done = self.write(&claim.caller, &input, |c, &(claim, model, vectors, now, lease)| {
            Box::pin(async move { recall_store::keep_vectors(&mut WriteTransaction(c), claim, model, vectors, now, lease).await })
        });
        Ok(done.await?)
    }

    async fn use_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        seen: u64,
        now: Timestamp,
        pause: Duration,
    ) -> Result<VectorStep, StoreError> {
        let input = (claim, model, seen, now, pause);
        let done = self.write(&claim.caller, &input, |c, &(claim, model, seen, now, pause)| {
            Box::pin(async move { recall_store::use_vectors(&mut WriteTransaction(c), claim, model, seen, now, pause).await })
        });
        Ok(done.await?)
    }

    async fn replace_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        after: Option<MessageId>,
        limit: u32,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Replaced, StoreError> {
        let input = (claim, model, after, limit, now, lease);
        let done = self.write(&claim.caller, &input, |c, &(claim, model, after, limit, now, lease)| {
            Box::pin(async move { recall_store::replace_vectors(&mut WriteTransaction(c), claim, model, after, limit, now, lease).await })
        });
        Ok(done.await?)
    }

    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError> {
        let input = (claim, model, seen);
        let done = self.write(&claim.caller, &input, |c, &(claim, model, seen)| {
            Box::pin(async move { recall_store::settle_vectors(&mut WriteTransaction(c), claim, model, seen).await })
        });
        Ok(done.await?)
    }

    async fn release_vectors(&self, claim: &VectorClaim) -> Result<(), StoreError> {
        let released = sqlx::query!(
            "UPDATE users SET embedding_until = NULL WHERE id = $1 AND embedding_token = $2",
            claim.caller.user().0,
            signed(claim.token),
        );
        released.execute(self.pool.writing(&claim.caller)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn vector_backlog(&self, model: &str) -> Result<VectorBacklog, StoreError> {
        let row = sqlx::query!(r#"SELECT users AS "users!", messages AS "messages!" FROM vector_backlog($1)"#, model);
        let row = row.fetch_one(self.pool.reading(RowAccess::Vectors)).await.map_err(Failure::from)?;
        Ok(VectorBacklog { users: row.users.unsigned_abs(), messages: row.messages.unsigned_abs() })
    }
}

#[async_trait]
impl VectorStatements for WriteTransaction<'_> {
    /// Like the queue, it uses the clock of the database.
    async fn user_to_reembed(&mut self, model: &str, now: Timestamp) -> Result<Option<UserId>, Failure> {
        let user = sqlx::query_scalar!(
            "SELECT id FROM users WHERE (embedding_model < $1 OR embedding_model > $1 OR NOT embedding_settled)
             AND (embedding_until IS NULL OR embedding_until <= queue_time($2))
             AND (SELECT embedding_model FROM installation WHERE id = 1) = $1
             LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED",
            model,
            time(now),
        );
        Ok(user.fetch_optional(&mut *self.0).await?.map(UserId))
    }

    async fn begin_claim(&mut self, user: UserId, now: Timestamp, lease: Duration) -> Result<ClaimedUser, Failure> {
        let claimed = sqlx::query_as!(
            ClaimedUser,
            "UPDATE users SET embedding_token = embedding_token + 1, embedding_until = queue_time($2) + $3 WHERE id = $1
             RETURNING embedding_token AS token, embedding_model AS in_use, feed_head AS head",
            user.0,
            time(now),
            interval(lease),
        );
        Ok(claimed.fetch_one(&mut *self.0).await?)
    }

    async fn extend_claim(&mut self, claim: &VectorClaim, model: &str, now: Timestamp, lease: Duration) -> Result<bool, Failure> {
        let extended = sqlx::query!(
            "UPDATE users SET embedding_until = queue_time($4) + $5 WHERE id = $1 AND embedding_token = $2
             AND (SELECT embedding_model FROM installation WHERE id = 1) = $3",
            claim.caller.user().0,
            signed(claim.token),
            model,
            time(now),
            interval(lease),
        );
        Ok(extended.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn lock_claimed_feed(&mut self, claim: &VectorClaim, model: &str) -> Result<Option<i64>, Failure> {
        let head = sqlx::query_scalar!(
            "SELECT feed_head FROM users WHERE id = $1 AND embedding_token = $2
             AND (SELECT embedding_model FROM installation WHERE id = 1) = $3 FOR NO KEY UPDATE",
            claim.caller.user().0,
            signed(claim.token),
            model,
        );
        Ok(head.fetch_optional(&mut *self.0).await?)
    }

    async fn count_without_vector(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Failure> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 AND m.forgotten IS NULL AND m.feed_row > $2 AND i.model <> $3
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = $1 AND v.message_id = m.id AND v.model = $3)"#,
            user.0,
            signed(after),
            model,
        );
        Ok(count.fetch_one(&mut *self.0).await?)
    }

    async fn count_not_replaced(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Failure> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 AND m.forgotten IS NULL AND m.feed_row > $2 AND i.model <> $3"#,
            user.0,
            signed(after),
            model,
        );
        Ok(count.fetch_one(&mut *self.0).await?)
    }

    async fn switch_model(&mut self, user: UserId, model: &str, now: Timestamp, pause: Duration) -> Result<(), Failure> {
        let switched = sqlx::query!(
            "UPDATE users SET embedding_model = $2, embedding_settled = false, embedding_until = queue_time($3) + $4,
                 feed_generation = feed_generation + 1 WHERE id = $1",
            user.0,
            model,
            time(now),
            interval(pause),
        );
        switched.execute(&mut *self.0).await?;
        Ok(())
    }

    /// All messages, because some may have no code yet.
    async fn page_of_vectors(&mut self, user: UserId, after: Option<MessageId>, limit: u32) -> Result<Vec<MessageId>, Failure> {
        let page = sqlx::query_scalar!(
            "SELECT message_id FROM message_index WHERE user_id = $1 AND message_id > $2 ORDER BY message_id LIMIT $3",
            user.0,
            // No message has the nil id.
            after.map_or(Uuid::nil(), |message| message.0),
            i64::from(limit),
        );
        Ok(page.fetch_all(&mut *self.0).await?.into_iter().map(MessageId).collect())
    }

    async fn replace_page(&mut self, user: UserId, model: &str, page: &[MessageId]) -> Result<(), Failure> {
        let page = column(page, |message| message.0);
        let replaced = sqlx::query!(
            "UPDATE message_index i SET model = v.model, embedding = v.embedding, dimensions = v.dimensions FROM message_vectors v
             WHERE i.user_id = $1 AND i.message_id = ANY($2) AND v.user_id = $1 AND v.message_id = i.message_id AND v.model = $3",
            user.0,
            &page[..],
            model,
        );
        replaced.execute(&mut *self.0).await?;
        let spent = sqlx::query!(
            "DELETE FROM message_vectors v USING message_index i WHERE v.user_id = $1 AND v.message_id = ANY($2)
             AND i.user_id = $1 AND i.message_id = v.message_id AND i.model = $3",
            user.0,
            &page[..],
            model,
        );
        spent.execute(&mut *self.0).await?;
        let codes = sqlx::query!(
            "INSERT INTO message_codes (user_id, message_id, code)
             SELECT i.user_id, i.message_id, vector_code(i.embedding) FROM message_index i
             WHERE i.user_id = $1 AND i.message_id = ANY($2) AND i.embedding IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM message_codes c WHERE c.user_id = $1 AND c.message_id = i.message_id)
             ON CONFLICT DO NOTHING",
            user.0,
            &page[..],
        );
        codes.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn mark_settled(&mut self, user: UserId) -> Result<(), Failure> {
        let settled = sqlx::query!("UPDATE users SET embedding_settled = true, embedding_until = NULL WHERE id = $1", user.0);
        settled.execute(&mut *self.0).await?;
        Ok(())
    }
}
