//! Re-embeds vectors: stores vectors of two models side by side, and tracks which model is in use.
//!
//! Each step locks the user's row first. So do transactions that store or delete messages, so none of them deadlock.

use std::time::Duration;

use async_trait::async_trait;
use pgvector::Vector;
use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    PostgresStore,
    codec::{interval, signed, time},
    failure::Failure,
    row_security::{self, RowAccess},
    rows::Column,
};
use recall_domain::{Caller, MessageId, Timestamp, UserId, UserText, ViewerRole};
use recall_ports::{Embedding, MessageWithoutVector, Replaced, StoreError, VectorBacklog, VectorClaim, VectorStep, VectorStore};

/// The parameters of one step of a claim.
#[derive(Clone, Copy)]
struct ClaimStep<'a> {
    user: Uuid,
    token: u64,
    model: &'a str,
    now: Timestamp,
    /// Length of the lease or of the pause.
    length: Duration,
}

impl<'a> ClaimStep<'a> {
    fn of(claim: &VectorClaim, model: &'a str, now: Timestamp, length: Duration) -> Self {
        Self { user: claim.caller.user().0, token: claim.token, model, now, length }
    }
}

#[async_trait]
impl VectorStore for PostgresStore {
    async fn want_model(&self, model: &str) -> Result<(), StoreError> {
        let wanted = sqlx::query!("UPDATE installation SET embedding_model = $1 WHERE id = 1", model);
        wanted.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn claim_vectors(&self, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, StoreError> {
        let input = (model, now, lease);
        Ok(self.write(RowAccess::Vectors, &input, |c, &(model, now, lease)| Box::pin(claim_user(c, model, now, lease))).await?)
    }

    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<MessageWithoutVector>, StoreError> {
        let found = sqlx::query!(
            "SELECT m.id, m.text FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 AND m.feed_row > $3 AND m.feed_row <= $4 AND i.model <> $2
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = $1 AND v.message_id = m.id AND v.model = $2)
             AND m.session_id NOT IN (SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL)
             ORDER BY m.feed_row DESC",
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
        let input = (ClaimStep::of(claim, model, now, lease), vectors);
        Ok(self.write(&claim.caller, &input, |c, (step, vectors)| Box::pin(insert_vectors(c, *step, vectors))).await?)
    }

    async fn use_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        seen: u64,
        now: Timestamp,
        pause: Duration,
    ) -> Result<VectorStep, StoreError> {
        let input = (ClaimStep::of(claim, model, now, pause), seen);
        Ok(self.write(&claim.caller, &input, |c, &(step, seen)| Box::pin(take_into_use(c, step, seen))).await?)
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
        let input = (ClaimStep::of(claim, model, now, lease), after, limit);
        Ok(self.write(&claim.caller, &input, |c, &(step, after, limit)| Box::pin(replace_page(c, step, after, limit))).await?)
    }

    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError> {
        let input = (ClaimStep::of(claim, model, Timestamp::default(), Duration::ZERO), seen);
        Ok(self.write(&claim.caller, &input, |c, &(step, seen)| Box::pin(settle_user(c, step, seen))).await?)
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

async fn claim_user(c: &mut PgConnection, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, Failure> {
    // Selects and locks a user with vectors to re-embed that no other process has claimed. Like the queue, it uses the clock of the
    // database.
    let due = sqlx::query_scalar!(
        "SELECT id FROM users WHERE (embedding_model < $1 OR embedding_model > $1 OR NOT embedding_settled)
         AND (embedding_until IS NULL OR embedding_until <= queue_time($2))
         AND (SELECT embedding_model FROM installation WHERE id = 1) = $1
         LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED",
        model,
        time(now),
    );
    let Some(user) = due.fetch_optional(&mut *c).await? else { return Ok(None) };
    row_security::switch_to_user(c, user).await?;
    let claimed = sqlx::query!(
        "UPDATE users SET embedding_token = embedding_token + 1, embedding_until = queue_time($2) + $3 WHERE id = $1
         RETURNING embedding_token, embedding_model, feed_head",
        user,
        time(now),
        interval(lease),
    );
    let claimed = claimed.fetch_one(c).await?;
    let of = |column| Column("users", column);
    Ok(Some(VectorClaim {
        caller: Caller::verified(UserId(user), ViewerRole::User),
        token: of("embedding_token").count(claimed.embedding_token)?,
        in_use: of("embedding_model").opt_text(claimed.embedding_model)?,
        head: of("feed_head").count(claimed.feed_head)?,
    }))
}

/// Extends a claim that is still valid and for the wanted model.
async fn extend_claim(c: &mut PgConnection, step: ClaimStep<'_>) -> Result<bool, Failure> {
    let done = sqlx::query!(
        "UPDATE users SET embedding_until = queue_time($4) + $5 WHERE id = $1 AND embedding_token = $2
         AND (SELECT embedding_model FROM installation WHERE id = 1) = $3",
        step.user,
        signed(step.token),
        step.model,
        time(step.now),
        interval(step.length),
    );
    Ok(done.execute(c).await?.rows_affected() > 0)
}

async fn insert_vectors(c: &mut PgConnection, step: ClaimStep<'_>, vectors: &[(MessageId, Embedding)]) -> Result<VectorStep, Failure> {
    if !extend_claim(c, step).await? {
        return Ok(VectorStep::NotOurs);
    }
    let vector = |v: &Embedding| Some(&v.0).filter(|v| !v.is_empty()).cloned().map(Vector::from);
    let ids: Vec<_> = vectors.iter().map(|(id, _)| id.0).collect();
    let vectors: Vec<_> = vectors.iter().map(|(_, v)| vector(v)).collect();
    let insert = sqlx::query!(
        "INSERT INTO message_vectors (user_id, message_id, model, embedding, dimensions)
         SELECT $1, n.id, $2, n.embedding, coalesce(vector_dims(n.embedding), 0)
         FROM unnest($3::uuid[], $4::vector[]) AS n (id, embedding)
         JOIN message_index i ON i.user_id = $1 AND i.message_id = n.id WHERE i.model <> $2 ON CONFLICT DO NOTHING",
        step.user,
        step.model,
        &ids[..],
        &vectors as &[Option<Vector>],
    );
    insert.execute(c).await?;
    Ok(VectorStep::Done)
}

/// Locks the user and returns the user's newest feed row; `None` if the claim is not ours.
///
/// The lock prevents new messages after the read.
async fn lock_user(c: &mut PgConnection, step: ClaimStep<'_>) -> Result<Option<u64>, Failure> {
    let head = sqlx::query_scalar!(
        "SELECT feed_head FROM users WHERE id = $1 AND embedding_token = $2
         AND (SELECT embedding_model FROM installation WHERE id = 1) = $3 FOR NO KEY UPDATE",
        step.user,
        signed(step.token),
        step.model,
    );
    head.fetch_optional(c).await?.map(|head| Column("users", "feed_head").count(head)).transpose()
}

async fn take_into_use(c: &mut PgConnection, step: ClaimStep<'_>, seen: u64) -> Result<VectorStep, Failure> {
    let Some(head) = lock_user(c, step).await? else { return Ok(VectorStep::NotOurs) };
    let missing = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
         WHERE m.user_id = $1 AND m.feed_row > $2 AND i.model <> $3
         AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = $1 AND v.message_id = m.id AND v.model = $3)"#,
        step.user,
        signed(seen),
        step.model,
    );
    if missing.fetch_one(&mut *c).await? > 0 {
        return Ok(VectorStep::Incomplete(head));
    }
    let taken = sqlx::query!(
        "UPDATE users SET embedding_model = $2, embedding_settled = false, embedding_until = queue_time($3) + $4,
             feed_generation = feed_generation + 1 WHERE id = $1",
        step.user,
        step.model,
        time(step.now),
        interval(step.length),
    );
    taken.execute(c).await?;
    Ok(VectorStep::Done)
}

/// Replaces a page of vectors by those of the model.
///
/// Both statements run in one transaction, so each message has exactly one vector in the index at any time. A message without a
/// vector of the model keeps its present one. The page covers all messages, because some may have no code yet.
async fn replace_page(c: &mut PgConnection, step: ClaimStep<'_>, after: Option<MessageId>, limit: u32) -> Result<Replaced, Failure> {
    if !extend_claim(c, step).await? {
        return Ok(Replaced::NotOurs);
    }
    let page = sqlx::query_scalar!(
        "SELECT message_id FROM message_index WHERE user_id = $1 AND message_id > $2 ORDER BY message_id LIMIT $3",
        step.user,
        // No message has the nil id.
        after.map_or(Uuid::nil(), |m| m.0),
        i64::from(limit),
    );
    let page = page.fetch_all(&mut *c).await?;
    let Some(last) = page.last().copied() else { return Ok(Replaced::All) };
    let replaced = sqlx::query!(
        "UPDATE message_index i SET model = v.model, embedding = v.embedding, dimensions = v.dimensions FROM message_vectors v
         WHERE i.user_id = $1 AND i.message_id = ANY($2) AND v.user_id = $1 AND v.message_id = i.message_id AND v.model = $3",
        step.user,
        &page[..],
        step.model,
    );
    replaced.execute(&mut *c).await?;
    let spent = sqlx::query!(
        "DELETE FROM message_vectors v USING message_index i WHERE v.user_id = $1 AND v.message_id = ANY($2)
         AND i.user_id = $1 AND i.message_id = v.message_id AND i.model = $3",
        step.user,
        &page[..],
        step.model,
    );
    spent.execute(&mut *c).await?;
    let codes = sqlx::query!(
        "INSERT INTO message_codes (user_id, message_id, code)
         SELECT i.user_id, i.message_id, vector_code(i.embedding) FROM message_index i
         WHERE i.user_id = $1 AND i.message_id = ANY($2) AND i.embedding IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM message_codes c WHERE c.user_id = $1 AND c.message_id = i.message_id)
         ON CONFLICT DO NOTHING",
        step.user,
        &page[..],
    );
    codes.execute(&mut *c).await?;
    Ok(Replaced::UpTo(MessageId(last)))
}

async fn settle_user(c: &mut PgConnection, step: ClaimStep<'_>, seen: u64) -> Result<VectorStep, Failure> {
    let Some(head) = lock_user(c, step).await? else { return Ok(VectorStep::NotOurs) };
    let missing = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
         WHERE m.user_id = $1 AND m.feed_row > $2 AND i.model <> $3"#,
        step.user,
        signed(seen),
        step.model,
    );
    if missing.fetch_one(&mut *c).await? > 0 {
        return Ok(VectorStep::Incomplete(head));
    }
    sqlx::query!("UPDATE users SET embedding_settled = true, embedding_until = NULL WHERE id = $1", step.user).execute(c).await?;
    Ok(VectorStep::Done)
}
