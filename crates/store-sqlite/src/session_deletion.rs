//! Deletes a large session in steps.
//!
//! One short transaction hides the session. After that, no query returns its rows, and each step deletes a bounded number of them.
//! Evidence is deleted first; a fact is re-weighed when its last evidence row of the session is deleted. Mentions follow, then the
//! rest.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{bytes, id_list, json, millis},
    delete::{self, Reweighing},
    failure::Failure,
    knowledge,
    rows::{self, Columns},
    sessions,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, SessionId, Timestamp, UserId};
use recall_ports::{Reweigh, SessionDeleted, SessionDeletionStep, SessionDeletionStore, SessionRemainder, StoreError};
use recall_store::Refusal;

/// SQL for the ids of the hidden sessions. The user is the first parameter of the statement.
///
/// SQLite evaluates it once per statement.
macro_rules! hidden_session_ids {
    () => {
        "(SELECT id FROM sessions WHERE user_id = ?1 AND deletion_at IS NOT NULL)"
    };
}
pub(super) use hidden_session_ids;

/// Adds the condition that a column names no hidden session of the user.
pub(super) fn push_visible(sql: &mut QueryBuilder<Sqlite>, column: &'static str, user: Uuid) {
    sql.push(" AND ").push(column).push(" NOT IN (SELECT id FROM sessions WHERE user_id = ").push_bind(bytes(&user));
    sql.push(" AND deletion_at IS NOT NULL)");
}

#[async_trait]
impl SessionDeletionStore for SqliteStore {
    async fn hide_session(&self, caller: &Caller, id: SessionId, since: Option<Timestamp>, now: Timestamp) -> Result<u64, StoreError> {
        let user = caller.user().0;
        Ok(self.write(move |c| Box::pin(hide_session(c, user, id.0, since, now))).await?)
    }

    async fn delete_hidden(
        &self,
        caller: &Caller,
        id: SessionId,
        now: Timestamp,
        limit: u32,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeletionStep, StoreError> {
        Ok(delete_step(self, caller.user(), id, now, limit, reweigh).await?)
    }

    async fn hidden_sessions(&self, since: Timestamp) -> Result<Vec<(Caller, SessionId)>, StoreError> {
        let found = sqlx::query("SELECT user_id, id FROM sessions WHERE deletion_at < ? ORDER BY deletion_at LIMIT 100")
            .bind(millis(since))
            .fetch_all(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().map(sessions::owned).collect::<Result<_, _>>()?)
    }
}

async fn hide_session(
    c: &mut SqliteConnection,
    user: Uuid,
    session: Uuid,
    since: Option<Timestamp>,
    now: Timestamp,
) -> Result<u64, Failure> {
    recall_store::reject_while_locked(&mut WriteTransaction(c), UserId(user)).await?;
    let messages: i64 = sqlx::query_scalar(
        "UPDATE sessions SET deletion_at = ?4, event_floor = event_head + 1, oldest_event_at = NULL
         WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL AND (?3 IS NULL OR updated_at < ?3) RETURNING message_count",
    )
    .bind(bytes(&user))
    .bind(bytes(&session))
    .bind(since.map(millis))
    .bind(millis(now))
    .fetch_optional(&mut *c)
    .await?
    .ok_or(Refusal::NotFound)?;
    let messages = messages.unsigned_abs();
    save_progress(c, user, session, &SessionDeleted { messages, ..Default::default() }, now).await?;
    for sql in [
        // Voids indexes in memory and plans that were made before.
        "UPDATE users SET knowledge_version = knowledge_version + 1, feed_generation = feed_generation + 1
         WHERE id = ?1 AND ?2 IS NOT NULL",
        // Prevents new claims, and voids existing ones, whose commits then fail.
        "UPDATE jobs SET head = 0, token = token + 1 WHERE user_id = ?1 AND session_id = ?2 AND head = 1",
    ] {
        sqlx::query(sql).bind(bytes(&user)).bind(bytes(&session)).execute(&mut *c).await?;
    }
    Ok(messages)
}

/// Attempts before the deletion fails as transient. An attempt fails if a commit of the same user comes between its read and its
/// write.
const ATTEMPTS: u32 = 20;

async fn delete_step(
    store: &SqliteStore,
    user: UserId,
    session: SessionId,
    now: Timestamp,
    limit: u32,
    reweigh: Reweigh<'_>,
) -> Result<SessionDeletionStep, Failure> {
    for _ in 0..ATTEMPTS {
        let batch = load_batch(store, user.0, session.0, limit, reweigh).await?;
        let done = store.write(move |c| Box::pin(async move { apply_batch(c, user.0, session.0, now, limit, batch).await }));
        match done.await {
            Err(Failure::Refused(Refusal::Stale)) => {}
            done => return done,
        }
    }
    Err(Refusal::AttemptsExhausted(ATTEMPTS).into())
}

/// A batch of evidence rows as (fact, message, stance), and what becomes of the facts that lose their last one.
struct Batch {
    rows: Vec<(String, String, String)>,
    decision: Reweighing,
}

async fn load_batch(store: &SqliteStore, user: Uuid, session: Uuid, limit: u32, reweigh: Reweigh<'_>) -> Result<Batch, Failure> {
    let mut snapshot = store.readers.for_server().begin().await?;
    let version = knowledge::version(&mut snapshot, user).await?;
    let found = sqlx::query(
        "SELECT fact_id, message_id, stance FROM evidence INDEXED BY evidence_in_session
         WHERE user_id = ? AND session_id = ? ORDER BY fact_id, message_id, stance LIMIT ?",
    )
    .bind(bytes(&user))
    .bind(bytes(&session))
    .bind(i64::from(limit) + 1)
    .fetch_all(&mut *snapshot)
    .await?;
    let (now, next) = found.split_at(found.len().min(limit as usize));
    let mut facts = BTreeSet::new();
    let mut rows = Vec::with_capacity(now.len());
    for row in now {
        let c = Columns::of(row, "evidence");
        let (fact, message) = (c.id("fact_id")?, c.id("message_id")?);
        facts.insert(fact);
        rows.push((fact.as_simple().to_string(), message.as_simple().to_string(), c.text("stance")?));
    }
    if let Some(row) = next.first() {
        // This fact has more evidence in the session.
        facts.remove(&Columns::of(row, "evidence").id("fact_id")?);
    }
    let found = sqlx::query("SELECT * FROM facts WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))")
        .bind(bytes(&user))
        .bind(id_list(&facts))
        .fetch_all(&mut *snapshot)
        .await?;
    let found = found.iter().map(rows::fact).collect::<Result<Vec<_>, _>>()?;
    let decision = delete::reweigh_facts(&mut snapshot, user, session, version, found, reweigh).await?;
    snapshot.commit().await?;
    Ok(Batch { rows, decision })
}

async fn apply_batch(
    c: &mut SqliteConnection,
    user: Uuid,
    session: Uuid,
    now: Timestamp,
    limit: u32,
    batch: Batch,
) -> Result<SessionDeletionStep, Failure> {
    let noted = sqlx::query("SELECT deletion FROM sessions WHERE user_id = ? AND id = ? AND deletion_at IS NOT NULL")
        .bind(bytes(&user))
        .bind(bytes(&session))
        .fetch_optional(&mut *c)
        .await?
        .ok_or(Refusal::NotFound)?;
    let mut deleted: SessionDeleted = Columns::of(&noted, "sessions").json("deletion")?;
    let current =
        sqlx::query("UPDATE users SET knowledge_version = knowledge_version + 1 WHERE id = ? AND knowledge_version = ? RETURNING 1")
            .bind(bytes(&user))
            .bind(super::codec::signed(batch.decision.version));
    if current.fetch_optional(&mut *c).await?.is_none() {
        return Err(Refusal::Stale.into());
    }
    let left = if !batch.rows.is_empty() {
        delete_evidence(c, user, batch, &mut deleted).await?;
        SessionRemainder::Knowledge
    } else if delete_mentions(c, user, session, limit, &mut deleted).await? {
        SessionRemainder::Knowledge
    } else if delete_events(c, user, session, limit).await? || delete_messages(c, user, session, limit).await? {
        SessionRemainder::Rows
    } else {
        sqlx::query("DELETE FROM sessions WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&session)).execute(&mut *c).await?;
        return Ok(SessionDeletionStep { deleted, left: SessionRemainder::Nothing });
    };
    save_progress(c, user, session, &deleted, now).await?;
    Ok(SessionDeletionStep { deleted, left })
}

async fn save_progress(
    c: &mut SqliteConnection,
    user: Uuid,
    session: Uuid,
    deleted: &SessionDeleted,
    now: Timestamp,
) -> Result<(), Failure> {
    sqlx::query("UPDATE sessions SET deletion = ?3, deletion_at = ?4 WHERE user_id = ?1 AND id = ?2")
        .bind(bytes(&user))
        .bind(bytes(&session))
        .bind(json(deleted, "counts")?)
        .bind(millis(now))
        .execute(c)
        .await?;
    Ok(())
}

async fn delete_evidence(c: &mut SqliteConnection, user: Uuid, batch: Batch, deleted: &mut SessionDeleted) -> Result<(), Failure> {
    sqlx::query(
        "DELETE FROM evidence WHERE user_id = ?1 AND (fact_id, message_id, stance) IN (
             SELECT unhex(value ->> 0), unhex(value ->> 1), value ->> 2 FROM json_each(?2))",
    )
    .bind(bytes(&user))
    .bind(json(&batch.rows, "evidence")?)
    .execute(&mut *c)
    .await?;
    let decision = batch.decision;
    decision.write(c, user).await?;
    deleted.facts_deleted += decision.gone.len() as u64;
    deleted.facts_reweighed += decision.changed.len() as u64;
    deleted.entities_deleted += delete::delete_unused_entities(c, user, &decision.entities).await?;
    Ok(())
}

/// Deletes mentions and subtracts them from their entities' counts.
///
/// A message counts once per entity, however often it names the entity.
async fn delete_mentions(
    c: &mut SqliteConnection,
    user: Uuid,
    session: Uuid,
    limit: u32,
    deleted: &mut SessionDeleted,
) -> Result<bool, Failure> {
    let gone = sqlx::query(
        "DELETE FROM mentions WHERE user_id = ?1 AND (message_id, ordinal) IN (
             SELECT message_id, ordinal FROM mentions INDEXED BY mentions_in_session
             WHERE user_id = ?1 AND session_id = ?2 ORDER BY entity_id LIMIT ?3) RETURNING entity_id, message_id",
    )
    .bind(bytes(&user))
    .bind(bytes(&session))
    .bind(i64::from(limit))
    .fetch_all(&mut *c)
    .await?;
    if gone.is_empty() {
        return Ok(false);
    }
    let pair = |row| {
        let c = Columns::of(row, "mentions");
        Ok((c.id("entity_id")?, c.id("message_id")?))
    };
    let mut pairs = gone.iter().map(pair).collect::<Result<BTreeSet<(Uuid, Uuid)>, Failure>>()?;
    let messages: BTreeSet<Uuid> = pairs.iter().map(|(_, message)| *message).collect();
    let entities: BTreeSet<Uuid> = pairs.iter().map(|(entity, _)| *entity).collect();
    let still = sqlx::query(
        "SELECT entity_id, message_id FROM mentions WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))",
    )
    .bind(bytes(&user))
    .bind(id_list(&messages))
    .fetch_all(&mut *c)
    .await?;
    for row in &still {
        pairs.remove(&pair(row)?);
    }
    let mut counts: BTreeMap<String, u64> = entities.iter().map(|e| (e.as_simple().to_string(), 0)).collect();
    for (entity, _) in &pairs {
        *counts.entry(entity.as_simple().to_string()).or_default() += 1;
    }
    // The new first message may also be in this session. Then a later step replaces it.
    sqlx::query(
        "UPDATE entities SET mention_count = MAX(0, mention_count - gone.value),
             first_message = CASE
                 WHEN first_message IN (SELECT unhex(value) FROM json_each(?3)) THEN (
                     SELECT m.message_id FROM mentions m WHERE m.user_id = ?1 AND m.entity_id = entities.id
                     ORDER BY m.said_at, m.message_id LIMIT 1)
                 ELSE first_message END
         FROM json_each(?2) gone WHERE entities.user_id = ?1 AND entities.id = unhex(gone.key)",
    )
    .bind(bytes(&user))
    .bind(json(&counts, "counts")?)
    .bind(id_list(&messages))
    .execute(&mut *c)
    .await?;
    let entities: Vec<_> = entities.into_iter().collect();
    deleted.entities_deleted += delete::delete_unused_entities(c, user, &entities).await?;
    Ok(true)
}

async fn delete_events(c: &mut SqliteConnection, user: Uuid, session: Uuid, limit: u32) -> Result<bool, Failure> {
    let gone = sqlx::query(
        "DELETE FROM events WHERE user_id = ?1 AND session_id = ?2 AND seq IN (
             SELECT seq FROM events WHERE user_id = ?1 AND session_id = ?2 ORDER BY seq LIMIT ?3)",
    )
    .bind(bytes(&user))
    .bind(bytes(&session))
    .bind(i64::from(limit));
    Ok(gone.execute(c).await?.rows_affected() > 0)
}

/// Deletes messages with their vectors, terms and jobs, and with their entries in merge records.
async fn delete_messages(c: &mut SqliteConnection, user: Uuid, session: Uuid, limit: u32) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT id FROM messages WHERE user_id = ? AND session_id = ? ORDER BY position LIMIT ?")
        .bind(bytes(&user))
        .bind(bytes(&session))
        .bind(i64::from(limit))
        .fetch_all(&mut *c)
        .await?;
    if found.is_empty() {
        return Ok(false);
    }
    let ids = found.iter().map(|row| Columns::of(row, "messages").id("id")).collect::<Result<Vec<_>, _>>()?;
    let ids = id_list(&ids);
    let merged = sqlx::query(
        "SELECT gone_id FROM merged_mentions WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))
         UNION SELECT gone_id FROM merged_evidence WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
    )
    .bind(bytes(&user))
    .bind(&ids)
    .fetch_all(&mut *c)
    .await?;
    let merged = merged.iter().map(|row| Columns::of(row, "merges").id("gone_id")).collect::<Result<Vec<_>, _>>()?;
    sqlx::query("DELETE FROM messages WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
        .bind(bytes(&user))
        .bind(&ids)
        .execute(&mut *c)
        .await?;
    if !merged.is_empty() {
        delete::delete_unused_merge_records(c, user, &merged).await?;
    }
    Ok(true)
}
