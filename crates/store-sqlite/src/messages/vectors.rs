//! Re-embeds vectors: stores vectors of two models side by side, and tracks which model is in use.

use std::time::Duration;

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{bytes, deadline, millis, signed},
    failure::Failure,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, MessageId, Timestamp, UserId, UserText};
use recall_ports::{Embedding, MessageWithoutVector, Replaced, StoreError, VectorBacklog, VectorClaim, VectorStep, VectorStore};
use recall_store::{ClaimedUser, VectorStatements};

/// A user with vectors of another model than `?1`, if that is the wanted one, and without a claim at `?2`.
const USER_TO_REEMBED: &str = "SELECT id FROM users
     WHERE (embedding_model < ?1 OR embedding_model > ?1 OR embedding_settled = 0)
     AND (embedding_until IS NULL OR embedding_until <= ?2) AND (SELECT embedding_model FROM installation WHERE id = 1) = ?1
     LIMIT 1";

#[async_trait]
impl VectorStore for SqliteStore {
    async fn want_model(&self, model: &str) -> Result<(), StoreError> {
        let model = model.to_owned();
        let done = self.write(move |c| {
            Box::pin(async move {
                sqlx::query("UPDATE installation SET embedding_model = ? WHERE id = 1").bind(model.as_str()).execute(&mut *c).await?;
                // Frees claims that an earlier process left. A live process finds its next page refused and claims again. The pause
                // of users whose new vectors are in use stays.
                sqlx::query("UPDATE users SET embedding_until = NULL WHERE embedding_until IS NOT NULL AND embedding_model IS NOT ?")
                    .bind(model)
                    .execute(c)
                    .await?;
                Ok(())
            })
        });
        Ok(done.await?)
    }

    async fn claim_vectors(&self, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, StoreError> {
        // Usually no user is due, and then the writer is not used.
        let found = sqlx::query(USER_TO_REEMBED).bind(model).bind(millis(now)).fetch_optional(self.readers.for_server());
        if found.await.map_err(Failure::from)?.is_none() {
            return Ok(None);
        }
        let model = model.to_owned();
        let claimed =
            self.write(move |c| Box::pin(async move { recall_store::claim_vectors(&mut WriteTransaction(c), &model, now, lease).await }));
        Ok(claimed.await?)
    }

    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<MessageWithoutVector>, StoreError> {
        let found = sqlx::query(
            "SELECT m.id, m.text FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.feed_row > ?3 AND m.feed_row <= ?4 AND i.model <> ?2
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = ?1 AND v.message_id = m.id AND v.model = ?2)
             ORDER BY m.feed_row DESC",
        )
        .bind(bytes(&caller.user().0))
        .bind(model)
        .bind(signed(after))
        .bind(signed(upto))
        .fetch_all(self.readers.for_user(caller))
        .await
        .map_err(Failure::from)?;
        let messages = found.iter().map(|row| {
            let c = Columns::of(row, "messages");
            Ok::<_, Failure>(MessageWithoutVector { message: MessageId(c.id("id")?), text: UserText::from(c.text("text")?) })
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
        let (claim, model) = (claim.clone(), model.to_owned());
        // Vectors lost in a power failure are made again.
        let done = self.write_relaxed(move |c| {
            Box::pin(async move { recall_store::keep_vectors(&mut WriteTransaction(c), &claim, &model, &vectors, now, lease).await })
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
        let (claim, model) = (claim.clone(), model.to_owned());
        let done = self.write(move |c| {
            Box::pin(async move { recall_store::use_vectors(&mut WriteTransaction(c), &claim, &model, seen, now, pause).await })
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
        let (claim, model) = (claim.clone(), model.to_owned());
        let done = self.write_relaxed(move |c| {
            Box::pin(async move { recall_store::replace_vectors(&mut WriteTransaction(c), &claim, &model, after, limit, now, lease).await })
        });
        Ok(done.await?)
    }

    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError> {
        let (claim, model) = (claim.clone(), model.to_owned());
        let done = self
            .write(move |c| Box::pin(async move { recall_store::settle_vectors(&mut WriteTransaction(c), &claim, &model, seen).await }));
        Ok(done.await?)
    }

    async fn release_vectors(&self, claim: &VectorClaim) -> Result<(), StoreError> {
        let claim = claim.clone();
        let done = self.write_relaxed(move |c| {
            Box::pin(async move {
                sqlx::query("UPDATE users SET embedding_until = NULL WHERE id = ? AND embedding_token = ?")
                    .bind(bytes(&claim.caller.user().0))
                    .bind(signed(claim.token))
                    .execute(c)
                    .await?;
                Ok(())
            })
        });
        Ok(done.await?)
    }

    async fn vector_backlog(&self, model: &str) -> Result<VectorBacklog, StoreError> {
        let row = sqlx::query(
            "SELECT COUNT(*) AS users, COALESCE(SUM((
                 SELECT COUNT(*) FROM message_index i WHERE i.user_id = u.id AND i.model <> ?1
                 AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = u.id AND v.message_id = i.message_id AND v.model = ?1))),
                 0) AS messages
             FROM users u WHERE (u.embedding_model < ?1 OR u.embedding_model > ?1 OR u.embedding_settled = 0) AND u.feed_head > 0",
        )
        .bind(model)
        .fetch_one(self.readers.for_server())
        .await
        .map_err(Failure::from)?;
        let c = Columns::of(&row, "users");
        Ok(VectorBacklog { users: c.count("users")?, messages: c.count("messages")? })
    }
}

#[async_trait]
impl VectorStatements for WriteTransaction<'_> {
    async fn user_to_reembed(&mut self, model: &str, now: Timestamp) -> Result<Option<UserId>, Failure> {
        let user = sqlx::query(USER_TO_REEMBED).bind(model).bind(millis(now)).fetch_optional(&mut *self.0).await?;
        user.map(|row| Ok(UserId(Columns::of(&row, "users").id("id")?))).transpose()
    }

    async fn begin_claim(&mut self, user: UserId, now: Timestamp, lease: Duration) -> Result<ClaimedUser, Failure> {
        let claimed = sqlx::query(
            "UPDATE users SET embedding_token = embedding_token + 1, embedding_until = ? WHERE id = ?
             RETURNING embedding_token, embedding_model, feed_head",
        );
        let row = claimed.bind(deadline(now, lease)).bind(bytes(&user.0)).fetch_one(&mut *self.0).await?;
        let c = Columns::of(&row, "users");
        Ok(ClaimedUser { token: c.integer("embedding_token")?, in_use: c.opt_text("embedding_model")?, head: c.integer("feed_head")? })
    }

    async fn extend_claim(&mut self, claim: &VectorClaim, model: &str, now: Timestamp, lease: Duration) -> Result<bool, Failure> {
        let extended = sqlx::query(
            "UPDATE users SET embedding_until = ?3 WHERE id = ?1 AND embedding_token = ?2
             AND (SELECT embedding_model FROM installation WHERE id = 1) = ?4",
        );
        let extended = extended.bind(bytes(&claim.caller.user().0)).bind(signed(claim.token)).bind(deadline(now, lease)).bind(model);
        Ok(extended.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn lock_claimed_feed(&mut self, claim: &VectorClaim, model: &str) -> Result<Option<i64>, Failure> {
        let head = sqlx::query_scalar(
            "SELECT feed_head FROM users WHERE id = ?1 AND embedding_token = ?2
             AND (SELECT embedding_model FROM installation WHERE id = 1) = ?3",
        );
        let user = claim.caller.user();
        Ok(head.bind(bytes(&user.0)).bind(signed(claim.token)).bind(model).fetch_optional(&mut *self.0).await?)
    }

    async fn count_without_vector(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Failure> {
        let count = sqlx::query_scalar(
            "SELECT COUNT(*) FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.feed_row > ?2 AND i.model <> ?3
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = ?1 AND v.message_id = m.id AND v.model = ?3)",
        );
        Ok(count.bind(bytes(&user.0)).bind(signed(after)).bind(model).fetch_one(&mut *self.0).await?)
    }

    async fn count_not_replaced(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Failure> {
        let count = sqlx::query_scalar(
            "SELECT COUNT(*) FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.feed_row > ?2 AND i.model <> ?3",
        );
        Ok(count.bind(bytes(&user.0)).bind(signed(after)).bind(model).fetch_one(&mut *self.0).await?)
    }

    async fn switch_model(&mut self, user: UserId, model: &str, now: Timestamp, pause: Duration) -> Result<(), Failure> {
        let switched = sqlx::query(
            "UPDATE users SET embedding_model = ?2, embedding_settled = 0, embedding_until = ?3, feed_generation = feed_generation + 1
             WHERE id = ?1",
        );
        switched.bind(bytes(&user.0)).bind(model).bind(deadline(now, pause)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn page_of_vectors(&mut self, user: UserId, after: Option<MessageId>, limit: u32) -> Result<Vec<MessageId>, Failure> {
        let page =
            sqlx::query("SELECT DISTINCT message_id FROM message_vectors WHERE user_id = ? AND message_id > ? ORDER BY message_id LIMIT ?");
        let after = after.map(|message| bytes(&message.0).to_vec()).unwrap_or_default();
        let page = page.bind(bytes(&user.0)).bind(after).bind(limit).fetch_all(&mut *self.0).await?;
        page.iter().map(|row| Ok(MessageId(Columns::of(row, "message_vectors").id("message_id")?))).collect()
    }

    async fn replace_page(&mut self, user: UserId, model: &str, page: &[MessageId]) -> Result<(), Failure> {
        let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(()) };
        for sql in [
            "UPDATE message_index SET model = v.model, embedding = v.embedding FROM message_vectors v
             WHERE message_index.user_id = ?1 AND message_index.message_id BETWEEN ?2 AND ?3 AND v.user_id = ?1
             AND v.message_id = message_index.message_id AND v.model = ?4",
            "DELETE FROM message_vectors WHERE user_id = ?1 AND message_id BETWEEN ?2 AND ?3
             AND EXISTS (SELECT 1 FROM message_index i WHERE i.user_id = ?1 AND i.message_id = message_vectors.message_id AND i.model = ?4)",
        ] {
            let changed = sqlx::query(sql).bind(bytes(&user.0)).bind(bytes(&first.0)).bind(bytes(&last.0)).bind(model);
            changed.execute(&mut *self.0).await?;
        }
        Ok(())
    }

    async fn mark_settled(&mut self, user: UserId) -> Result<(), Failure> {
        let settled = sqlx::query("UPDATE users SET embedding_settled = 1, embedding_until = NULL WHERE id = ?");
        settled.bind(bytes(&user.0)).execute(&mut *self.0).await?;
        Ok(())
    }
}
