//! Vectors of one model beside those of another, and which of them are in use. Each step locks the user's row first, as do whoever
//! stores and deletes messages, so none of them waits for the other in a circle.

use std::time::Duration;

use async_trait::async_trait;
use pgvector::Vector;
use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    PostgresStore,
    codec::{interval, signed, time},
    failure::Failure,
    rows::Columns,
    walls::{self, Scope},
};
use crate::{
    domain::{Caller, MessageId, Timestamp, UserId, UserText, ViewerRole},
    ports::{Embedding, Replaced, StoreError, Unembedded, VectorBacklog, VectorClaim, VectorStep, VectorStore},
};

/// A user whose vectors have to be made and whom no other process has, locked. `$1` the model, `$2` now for the caller. The time is
/// the database's, as that of jobs is.
const DUE: &str = "SELECT id FROM users WHERE (embedding_model < $1 OR embedding_model > $1 OR NOT embedding_settled)
     AND (embedding_until IS NULL OR embedding_until <= queue_time($2))
     AND (SELECT embedding_model FROM installation WHERE id = 1) = $1
     LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED";

/// Takes that user. `$1` who, `$2` now for the caller, `$3` length of the lease.
const CLAIM: &str = "UPDATE users SET embedding_token = embedding_token + 1, embedding_until = queue_time($2) + $3 WHERE id = $1
     RETURNING embedding_token, embedding_model, feed_head";

/// Prolongs a claim that is still ours, and whose model is still wanted.
const PROLONG: &str = "UPDATE users SET embedding_until = queue_time($4) + $5 WHERE id = $1 AND embedding_token = $2
     AND (SELECT embedding_model FROM installation WHERE id = 1) = $3";

/// What a step of a claim is given.
#[derive(Clone, Copy)]
struct Step<'a> {
    user: Uuid,
    token: u64,
    model: &'a str,
    now: Timestamp,
    /// Lease or pause.
    length: Duration,
}

impl<'a> Step<'a> {
    fn of(claim: &VectorClaim, model: &'a str, now: Timestamp, length: Duration) -> Self {
        Self { user: claim.caller.user().0, token: claim.token, model, now, length }
    }
}

#[async_trait]
impl VectorStore for PostgresStore {
    async fn want_model(&self, model: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE installation SET embedding_model = $1 WHERE id = 1")
            .bind(model)
            .execute(self.pool.writing(Scope::Nobody))
            .await
            .map_err(Failure::from)?;
        Ok(())
    }

    async fn claim_vectors(&self, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, StoreError> {
        let input = (model, now, lease);
        Ok(self.write(Scope::Vectors, &input, |c, &(model, now, lease)| Box::pin(claim(c, model, now, lease))).await?)
    }

    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<Unembedded>, StoreError> {
        let found = sqlx::query(
            "SELECT m.id, m.text FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 AND m.feed_row > $3 AND m.feed_row <= $4 AND i.model <> $2
             AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = $1 AND v.message_id = m.id AND v.model = $2)
             ORDER BY m.feed_row DESC",
        )
        .bind(caller.user().0)
        .bind(model)
        .bind(signed(after))
        .bind(signed(upto))
        .fetch_all(self.pool.reading(caller))
        .await
        .map_err(Failure::from)?;
        let messages = found.iter().map(|row| {
            let c = Columns::of(row, "messages");
            Ok::<_, Failure>(Unembedded { message: MessageId(c.id("id")?), text: UserText::from(c.text("text")?) })
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
        let input = (Step::of(claim, model, now, lease), vectors);
        Ok(self.write(&claim.caller, &input, |c, (step, vectors)| Box::pin(keep(c, *step, vectors))).await?)
    }

    async fn use_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        seen: u64,
        now: Timestamp,
        pause: Duration,
    ) -> Result<VectorStep, StoreError> {
        let input = (Step::of(claim, model, now, pause), seen);
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
        let input = (Step::of(claim, model, now, lease), after, limit);
        Ok(self.write(&claim.caller, &input, |c, &(step, after, limit)| Box::pin(replace(c, step, after, limit))).await?)
    }

    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError> {
        let input = (Step::of(claim, model, Timestamp::default(), Duration::ZERO), seen);
        Ok(self.write(&claim.caller, &input, |c, &(step, seen)| Box::pin(settle(c, step, seen))).await?)
    }

    async fn release_vectors(&self, claim: &VectorClaim) -> Result<(), StoreError> {
        sqlx::query("UPDATE users SET embedding_until = NULL WHERE id = $1 AND embedding_token = $2")
            .bind(claim.caller.user().0)
            .bind(signed(claim.token))
            .execute(self.pool.writing(&claim.caller))
            .await
            .map_err(Failure::from)?;
        Ok(())
    }

    async fn vector_backlog(&self, model: &str) -> Result<VectorBacklog, StoreError> {
        let row = sqlx::query("SELECT users, messages FROM vector_backlog($1)")
            .bind(model)
            .fetch_one(self.pool.reading(Scope::Vectors))
            .await
            .map_err(Failure::from)?;
        let c = Columns::of(&row, "users");
        Ok(VectorBacklog { users: c.count("users")?, messages: c.count("messages")? })
    }
}

async fn claim(c: &mut PgConnection, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, Failure> {
    let due: Option<Uuid> = sqlx::query_scalar(DUE).bind(model).bind(time(now)).fetch_optional(&mut *c).await?;
    let Some(user) = due else { return Ok(None) };
    walls::go_on_for(c, user).await?;
    let row = sqlx::query(CLAIM).bind(user).bind(time(now)).bind(interval(lease)).fetch_one(c).await?;
    let c = Columns::of(&row, "users");
    Ok(Some(VectorClaim {
        caller: Caller::verified(UserId(user), ViewerRole::User),
        token: c.count("embedding_token")?,
        in_use: c.opt_text("embedding_model")?,
        head: c.count("feed_head")?,
    }))
}

async fn prolonged(c: &mut PgConnection, step: Step<'_>) -> Result<bool, Failure> {
    let done = sqlx::query(PROLONG)
        .bind(step.user)
        .bind(signed(step.token))
        .bind(step.model)
        .bind(time(step.now))
        .bind(interval(step.length))
        .execute(c)
        .await?;
    Ok(done.rows_affected() > 0)
}

async fn keep(c: &mut PgConnection, step: Step<'_>, vectors: &[(MessageId, Embedding)]) -> Result<VectorStep, Failure> {
    if !prolonged(c, step).await? {
        return Ok(VectorStep::NotOurs);
    }
    let vector = |v: &Embedding| Some(&v.0).filter(|v| !v.is_empty()).cloned().map(Vector::from);
    sqlx::query(
        "INSERT INTO message_vectors (user_id, message_id, model, embedding, dimensions)
         SELECT $1, n.id, $2, n.embedding, coalesce(vector_dims(n.embedding), 0)
         FROM unnest($3::uuid[], $4::vector[]) AS n (id, embedding)
         JOIN message_index i ON i.user_id = $1 AND i.message_id = n.id WHERE i.model <> $2 ON CONFLICT DO NOTHING",
    )
    .bind(step.user)
    .bind(step.model)
    .bind(vectors.iter().map(|(id, _)| id.0).collect::<Vec<_>>())
    .bind(vectors.iter().map(|(_, v)| vector(v)).collect::<Vec<_>>())
    .execute(c)
    .await?;
    Ok(VectorStep::Done)
}

/// Why a step that ends a claim cannot be taken: `missing` counts the messages that stand against it. Asked after the row is locked,
/// so that none is stored after the look.
async fn refused(c: &mut PgConnection, step: Step<'_>, seen: u64, missing: &'static str) -> Result<Option<VectorStep>, Failure> {
    let head = sqlx::query(
        "SELECT feed_head FROM users WHERE id = $1 AND embedding_token = $2
         AND (SELECT embedding_model FROM installation WHERE id = 1) = $3 FOR NO KEY UPDATE",
    )
    .bind(step.user)
    .bind(signed(step.token))
    .bind(step.model)
    .fetch_optional(&mut *c)
    .await?;
    let Some(head) = head else { return Ok(Some(VectorStep::NotOurs)) };
    let missing: i64 = sqlx::query_scalar(missing).bind(step.user).bind(signed(seen)).bind(step.model).fetch_one(c).await?;
    Ok(if missing > 0 { Some(VectorStep::Incomplete(Columns::of(&head, "users").count("feed_head")?)) } else { None })
}

async fn take_into_use(c: &mut PgConnection, step: Step<'_>, seen: u64) -> Result<VectorStep, Failure> {
    let missing = "SELECT count(*) FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
         WHERE m.user_id = $1 AND m.feed_row > $2 AND i.model <> $3
         AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = $1 AND v.message_id = m.id AND v.model = $3)";
    if let Some(refused) = refused(c, step, seen, missing).await? {
        return Ok(refused);
    }
    sqlx::query(
        "UPDATE users SET embedding_model = $2, embedding_settled = false, embedding_until = queue_time($3) + $4,
             feed_generation = feed_generation + 1 WHERE id = $1",
    )
    .bind(step.user)
    .bind(step.model)
    .bind(time(step.now))
    .bind(interval(step.length))
    .execute(c)
    .await?;
    Ok(VectorStep::Done)
}

/// A message is in the index with one vector at any time, because both statements are of one transaction. One whose vector of the
/// model is still to be made keeps what it has. Goes through all messages, for the sake of those that have no code yet.
async fn replace(c: &mut PgConnection, step: Step<'_>, after: Option<MessageId>, limit: u32) -> Result<Replaced, Failure> {
    if !prolonged(c, step).await? {
        return Ok(Replaced::NotOurs);
    }
    let page: Vec<Uuid> =
        sqlx::query_scalar("SELECT message_id FROM message_index WHERE user_id = $1 AND message_id > $2 ORDER BY message_id LIMIT $3")
            .bind(step.user)
            // The nil id is no message's.
            .bind(after.map_or(Uuid::nil(), |m| m.0))
            .bind(i64::from(limit))
            .fetch_all(&mut *c)
            .await?;
    let Some(last) = page.last().copied() else { return Ok(Replaced::All) };
    for sql in [
        "UPDATE message_index i SET model = v.model, embedding = v.embedding, dimensions = v.dimensions FROM message_vectors v
         WHERE i.user_id = $1 AND i.message_id = ANY($2) AND v.user_id = $1 AND v.message_id = i.message_id AND v.model = $3",
        "DELETE FROM message_vectors v USING message_index i WHERE v.user_id = $1 AND v.message_id = ANY($2)
         AND i.user_id = $1 AND i.message_id = v.message_id AND i.model = $3",
    ] {
        sqlx::query(sql).bind(step.user).bind(&page).bind(step.model).execute(&mut *c).await?;
    }
    sqlx::query(
        "INSERT INTO message_codes (user_id, message_id, code)
         SELECT i.user_id, i.message_id, vector_code(i.embedding) FROM message_index i
         WHERE i.user_id = $1 AND i.message_id = ANY($2) AND i.embedding IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM message_codes c WHERE c.user_id = $1 AND c.message_id = i.message_id)
         ON CONFLICT DO NOTHING",
    )
    .bind(step.user)
    .bind(&page)
    .execute(&mut *c)
    .await?;
    Ok(Replaced::UpTo(MessageId(last)))
}

async fn settle(c: &mut PgConnection, step: Step<'_>, seen: u64) -> Result<VectorStep, Failure> {
    let missing = "SELECT count(*) FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
         WHERE m.user_id = $1 AND m.feed_row > $2 AND i.model <> $3";
    if let Some(refused) = refused(c, step, seen, missing).await? {
        return Ok(refused);
    }
    sqlx::query("UPDATE users SET embedding_settled = true, embedding_until = NULL WHERE id = $1").bind(step.user).execute(c).await?;
    Ok(VectorStep::Done)
}
