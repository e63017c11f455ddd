//! Re-embeds vectors: stores vectors of two models side by side, and tracks which model is in use.

use std::time::Duration;

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{deadline, millis, signed},
    failure::Failure,
    transaction::{WriteTransaction, run},
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
        let done = self.write(move |tx| {
            tx.0.execute("UPDATE installation SET embedding_model = ? WHERE id = 1", (&model,))?;
            // Frees claims that an earlier process left. A live process finds its next page refused and claims again. The pause
            // of users whose new vectors are in use stays.
            let sql = "UPDATE users SET embedding_until = NULL WHERE embedding_until IS NOT NULL AND embedding_model IS NOT ?";
            tx.0.execute(sql, (&model,))?;
            Ok(())
        });
        Ok(done.await?)
    }

    async fn claim_vectors(&self, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, StoreError> {
        let model = model.to_owned();
        let wanted = model.clone();
        // Usually no user is due, and then the writer is not used.
        if !self.readers.for_server(move |db| db.exists(USER_TO_REEMBED, (wanted, millis(now)))).await? {
            return Ok(None);
        }
        Ok(self.write(move |tx| run(recall_store::claim_vectors(tx, &model, now, lease))).await?)
    }

    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<MessageWithoutVector>, StoreError> {
        let (user, model) = (caller.user(), model.to_owned());
        let messages = self.read(caller, move |db| {
            let sql = "SELECT m.id, m.text FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.forgotten IS NULL AND m.feed_row > ?3 AND m.feed_row <= ?4 AND i.model <> ?2
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = ?1 AND v.message_id = m.id AND v.model = ?2)
             ORDER BY m.feed_row DESC";
            db.rows("messages", sql, (user.0, model, signed(after), signed(upto)), |c| {
                Ok(MessageWithoutVector { message: MessageId(c.id("id")?), text: UserText::from(c.text("text")?) })
            })
        });
        Ok(messages.await?)
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
        Ok(self.write_relaxed(move |tx| run(recall_store::keep_vectors(tx, &claim, &model, &vectors, now, lease))).await?)
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
        Ok(self.write(move |tx| run(recall_store::use_vectors(tx, &claim, &model, seen, now, pause))).await?)
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
        Ok(self.write_relaxed(move |tx| run(recall_store::replace_vectors(tx, &claim, &model, after, limit, now, lease))).await?)
    }

    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError> {
        let (claim, model) = (claim.clone(), model.to_owned());
        Ok(self.write(move |tx| run(recall_store::settle_vectors(tx, &claim, &model, seen))).await?)
    }

    async fn release_vectors(&self, claim: &VectorClaim) -> Result<(), StoreError> {
        let (user, token) = (claim.caller.user(), signed(claim.token));
        let done = self.write_relaxed(move |tx| {
            tx.0.execute("UPDATE users SET embedding_until = NULL WHERE id = ? AND embedding_token = ?", (user.0, token))?;
            Ok(())
        });
        Ok(done.await?)
    }

    async fn vector_backlog(&self, model: &str) -> Result<VectorBacklog, StoreError> {
        let model = model.to_owned();
        let backlog = self.readers.for_server(move |db| {
            let sql = "SELECT COUNT(*) AS users, COALESCE(SUM((
                 SELECT COUNT(*) FROM message_index i WHERE i.user_id = u.id AND i.model <> ?1
                 AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = u.id AND v.message_id = i.message_id AND v.model = ?1))),
                 0) AS messages
             FROM users u WHERE (u.embedding_model < ?1 OR u.embedding_model > ?1 OR u.embedding_settled = 0) AND u.feed_head > 0";
            db.only_row("users", sql, (model,), |c| Ok(VectorBacklog { users: c.count("users")?, messages: c.count("messages")? }))
        });
        Ok(backlog.await?)
    }
}

#[async_trait]
impl VectorStatements for WriteTransaction<'_> {
    async fn user_to_reembed(&mut self, model: &str, now: Timestamp) -> Result<Option<UserId>, Failure> {
        self.0.row("users", USER_TO_REEMBED, (model, millis(now)), |c| Ok(UserId(c.id("id")?)))
    }

    async fn begin_claim(&mut self, user: UserId, now: Timestamp, lease: Duration) -> Result<ClaimedUser, Failure> {
        let sql = "UPDATE users SET embedding_token = embedding_token + 1, embedding_until = ? WHERE id = ?
             RETURNING embedding_token, embedding_model, feed_head";
        self.0.only_row("users", sql, (deadline(now, lease), user.0), |c| {
            Ok(ClaimedUser { token: c.integer("embedding_token")?, in_use: c.opt_text("embedding_model")?, head: c.integer("feed_head")? })
        })
    }

    async fn extend_claim(&mut self, claim: &VectorClaim, model: &str, now: Timestamp, lease: Duration) -> Result<bool, Failure> {
        let extended = self.0.execute(
            "UPDATE users SET embedding_until = ?3 WHERE id = ?1 AND embedding_token = ?2
             AND (SELECT embedding_model FROM installation WHERE id = 1) = ?4",
            (claim.caller.user().0, signed(claim.token), deadline(now, lease), model),
        )?;
        Ok(extended > 0)
    }

    async fn lock_claimed_feed(&mut self, claim: &VectorClaim, model: &str) -> Result<Option<i64>, Failure> {
        let sql = "SELECT feed_head FROM users WHERE id = ?1 AND embedding_token = ?2
             AND (SELECT embedding_model FROM installation WHERE id = 1) = ?3";
        self.0.row("users", sql, (claim.caller.user().0, signed(claim.token), model), |c| c.integer("feed_head"))
    }

    async fn count_without_vector(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Failure> {
        self.0.number(
            "SELECT COUNT(*) FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.forgotten IS NULL AND m.feed_row > ?2 AND i.model <> ?3
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = ?1 AND v.message_id = m.id AND v.model = ?3)",
            (user.0, signed(after), model),
        )
    }

    async fn count_not_replaced(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Failure> {
        self.0.number(
            "SELECT COUNT(*) FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.forgotten IS NULL AND m.feed_row > ?2 AND i.model <> ?3",
            (user.0, signed(after), model),
        )
    }

    async fn switch_model(&mut self, user: UserId, model: &str, now: Timestamp, pause: Duration) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE users SET embedding_model = ?2, embedding_settled = 0, embedding_until = ?3, feed_generation = feed_generation + 1
             WHERE id = ?1",
            (user.0, model, deadline(now, pause)),
        )?;
        Ok(())
    }

    async fn page_of_vectors(&mut self, user: UserId, after: Option<MessageId>, limit: u32) -> Result<Vec<MessageId>, Failure> {
        let sql = "SELECT DISTINCT message_id FROM message_vectors WHERE user_id = ? AND message_id > ? ORDER BY message_id LIMIT ?";
        let after = after.map(|message| message.0.as_bytes().to_vec()).unwrap_or_default();
        self.0.rows("message_vectors", sql, (user.0, after, limit), |c| Ok(MessageId(c.id("message_id")?)))
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
            self.0.execute(sql, (user.0, first.0, last.0, model))?;
        }
        Ok(())
    }

    async fn mark_settled(&mut self, user: UserId) -> Result<(), Failure> {
        self.0.execute("UPDATE users SET embedding_settled = 1, embedding_until = NULL WHERE id = ?", (user.0,))?;
        Ok(())
    }
}
