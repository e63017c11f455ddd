//! Re-embeds vectors: stores vectors of two models side by side, and tracks which model is in use.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::super::{
    SqliteStore,
    codec::{bytes, duration_millis, millis, signed, vector},
    failure::Failure,
    rows::Columns,
};
use recall_domain::{Caller, MessageId, Timestamp, UserId, UserText, ViewerRole};
use recall_ports::{Embedding, MessageWithoutVector, Replaced, StoreError, VectorBacklog, VectorClaim, VectorStep, VectorStore};

/// Extends a claim that is still valid and for the wanted model.
const EXTEND_CLAIM: &str = "UPDATE users SET embedding_until = ?3 WHERE id = ?1 AND embedding_token = ?2
     AND (SELECT embedding_model FROM installation WHERE id = 1) = ?4";

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
        let due = "SELECT id FROM users
             WHERE (embedding_model < ?1 OR embedding_model > ?1 OR embedding_settled = 0)
             AND (embedding_until IS NULL OR embedding_until <= ?2) AND (SELECT embedding_model FROM installation WHERE id = 1) = ?1
             LIMIT 1";
        // Usually no user is due, and then the writer is not used.
        let found =
            sqlx::query(due).bind(model).bind(millis(now)).fetch_optional(self.readers.for_server()).await.map_err(Failure::from)?;
        if found.is_none() {
            return Ok(None);
        }
        let (model, now, until) = (model.to_owned(), millis(now), millis(now).saturating_add(duration_millis(lease)));
        let claimed = self.write(move |c| {
            Box::pin(async move {
                let Some(row) = sqlx::query(due).bind(model).bind(now).fetch_optional(&mut *c).await? else { return Ok(None) };
                let user = Columns::of(&row, "users").id("id")?;
                let row = sqlx::query(
                    "UPDATE users SET embedding_token = embedding_token + 1, embedding_until = ? WHERE id = ?
                     RETURNING embedding_token, embedding_model, feed_head",
                )
                .bind(until)
                .bind(bytes(&user))
                .fetch_one(c)
                .await?;
                let row = Columns::of(&row, "users");
                Ok(Some(VectorClaim {
                    caller: Caller::verified(UserId(user), ViewerRole::User),
                    token: row.count("embedding_token")?,
                    in_use: row.opt_text("embedding_model")?,
                    head: row.count("feed_head")?,
                }))
            })
        });
        Ok(claimed.await?)
    }

    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<MessageWithoutVector>, StoreError> {
        let found = sqlx::query(
            "SELECT m.id, m.text FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.feed_row > ?3 AND m.feed_row <= ?4 AND i.model <> ?2
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = ?1 AND v.message_id = m.id AND v.model = ?2)
             AND m.session_id NOT IN (SELECT id FROM sessions WHERE user_id = ?1 AND deletion_at IS NOT NULL)
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
        let (claim, model, until) = (claim.clone(), model.to_owned(), millis(now).saturating_add(duration_millis(lease)));
        // Vectors lost in a power failure are made again.
        let done = self.write_relaxed(move |c| {
            Box::pin(async move {
                if !extend_claim(c, &claim, &model, until).await? {
                    return Ok(VectorStep::NotOurs);
                }
                for (message, embedding) in &vectors {
                    sqlx::query(
                        "INSERT INTO message_vectors (user_id, message_id, model, embedding)
                         SELECT user_id, message_id, ?3, ?4 FROM message_index WHERE user_id = ?1 AND message_id = ?2 AND model <> ?3
                         ON CONFLICT DO NOTHING",
                    )
                    .bind(bytes(&claim.caller.user().0))
                    .bind(bytes(&message.0))
                    .bind(model.as_str())
                    .bind(vector(&embedding.0))
                    .execute(&mut *c)
                    .await?;
                }
                Ok(VectorStep::Done)
            })
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
        let (claim, model, until) = (claim.clone(), model.to_owned(), millis(now).saturating_add(duration_millis(pause)));
        let done = self.write(move |c| {
            Box::pin(async move {
                let missing = "SELECT COUNT(*) FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
                     WHERE m.user_id = ?1 AND m.feed_row > ?2 AND i.model <> ?3
                     AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = ?1 AND v.message_id = m.id AND v.model = ?3)";
                if let Some(refused) = blocked_step(c, &claim, &model, seen, missing).await? {
                    return Ok(refused);
                }
                sqlx::query(
                    "UPDATE users SET embedding_model = ?2, embedding_settled = 0, embedding_until = ?3,
                         feed_generation = feed_generation + 1 WHERE id = ?1",
                )
                .bind(bytes(&claim.caller.user().0))
                .bind(model)
                .bind(until)
                .execute(c)
                .await?;
                Ok(VectorStep::Done)
            })
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
        let (claim, model, until) = (claim.clone(), model.to_owned(), millis(now).saturating_add(duration_millis(lease)));
        let after = after.map(|m| m.0.as_bytes().to_vec()).unwrap_or_default();
        let done = self.write_relaxed(move |c| {
            Box::pin(async move {
                if !extend_claim(c, &claim, &model, until).await? {
                    return Ok(Replaced::NotOurs);
                }
                replace_page(c, claim.caller.user(), &model, after, limit).await
            })
        });
        Ok(done.await?)
    }

    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError> {
        let (claim, model) = (claim.clone(), model.to_owned());
        let done = self.write(move |c| {
            Box::pin(async move {
                let missing = "SELECT COUNT(*) FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
                     WHERE m.user_id = ?1 AND m.feed_row > ?2 AND i.model <> ?3";
                if let Some(refused) = blocked_step(c, &claim, &model, seen, missing).await? {
                    return Ok(refused);
                }
                sqlx::query("UPDATE users SET embedding_settled = 1, embedding_until = NULL WHERE id = ?")
                    .bind(bytes(&claim.caller.user().0))
                    .execute(c)
                    .await?;
                Ok(VectorStep::Done)
            })
        });
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

async fn extend_claim(c: &mut SqliteConnection, claim: &VectorClaim, model: &str, until: i64) -> Result<bool, Failure> {
    let done = sqlx::query(EXTEND_CLAIM).bind(bytes(&claim.caller.user().0)).bind(signed(claim.token)).bind(until).bind(model);
    Ok(done.execute(c).await?.rows_affected() > 0)
}

/// Why a step that ends a claim must not run: `missing` counts the messages that prevent it.
async fn blocked_step(
    c: &mut SqliteConnection,
    claim: &VectorClaim,
    model: &str,
    seen: u64,
    missing: &'static str,
) -> Result<Option<VectorStep>, Failure> {
    let user = claim.caller.user().0;
    let head = sqlx::query(
        "SELECT feed_head FROM users WHERE id = ?1 AND embedding_token = ?2
         AND (SELECT embedding_model FROM installation WHERE id = 1) = ?3",
    )
    .bind(bytes(&user))
    .bind(signed(claim.token))
    .bind(model)
    .fetch_optional(&mut *c)
    .await?;
    let Some(head) = head else { return Ok(Some(VectorStep::NotOurs)) };
    let missing: i64 = sqlx::query_scalar(missing).bind(bytes(&user)).bind(signed(seen)).bind(model).fetch_one(c).await?;
    Ok(if missing > 0 { Some(VectorStep::Incomplete(Columns::of(&head, "users").count("feed_head")?)) } else { None })
}

/// Replaces a page of vectors by those of `model`.
///
/// Both statements run in one transaction, so each message has exactly one vector in the index at any time. A message without a
/// vector of `model` keeps its present one.
async fn replace_page(c: &mut SqliteConnection, user: UserId, model: &str, after: Vec<u8>, limit: u32) -> Result<Replaced, Failure> {
    let page =
        sqlx::query("SELECT DISTINCT message_id FROM message_vectors WHERE user_id = ? AND message_id > ? ORDER BY message_id LIMIT ?")
            .bind(bytes(&user.0))
            .bind(after.as_slice())
            .bind(i64::from(limit))
            .fetch_all(&mut *c)
            .await?;
    let Some(last) = page.last() else { return Ok(Replaced::All) };
    let last = Columns::of(last, "message_vectors").id("message_id")?;
    for sql in [
        "UPDATE message_index SET model = v.model, embedding = v.embedding FROM message_vectors v
         WHERE message_index.user_id = ?1 AND message_index.message_id > ?2 AND message_index.message_id <= ?3 AND v.user_id = ?1
         AND v.message_id = message_index.message_id AND v.model = ?4",
        "DELETE FROM message_vectors WHERE user_id = ?1 AND message_id > ?2 AND message_id <= ?3
         AND EXISTS (SELECT 1 FROM message_index i WHERE i.user_id = ?1 AND i.message_id = message_vectors.message_id AND i.model = ?4)",
    ] {
        sqlx::query(sql).bind(bytes(&user.0)).bind(after.as_slice()).bind(bytes(&last)).bind(model).execute(&mut *c).await?;
    }
    Ok(Replaced::UpTo(MessageId(last)))
}
