//! Deletes a large session in steps.
//!
//! One short transaction hides the session. After that, no query returns its rows, and each step deletes a bounded number of them.
//! Evidence is deleted first; a fact is re-weighed when its last evidence row of the session is deleted. Mentions follow, then the
//! rest. Each step locks the session and then the user, so steps of several processes run one after the other.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, JsonText, json, signed},
    delete::{self, Reweighing},
    failure::Failure,
    knowledge,
    row_security::RowAccess,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Evidence, Fact, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{Reweigh, SessionDeleted, SessionDeletionStep, SessionDeletionStore, SessionRemainder, StoreError};
use recall_store::KnowledgeStatements;
use recall_store::Refusal;

#[async_trait]
impl SessionDeletionStore for PostgresStore {
    async fn hide_session(&self, caller: &Caller, id: SessionId, since: Option<Timestamp>, now: Timestamp) -> Result<u64, StoreError> {
        let input = (caller.user().0, id.0, since, now);
        let hidden = self.write(caller, &input, |c, &(user, id, since, now)| Box::pin(hide_session(c, user, id, since, now))).await?;
        self.notifications.deleted(caller, id);
        Ok(hidden)
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
        let found =
            sqlx::query!("SELECT user_id, id FROM sessions WHERE deletion_at < $1 ORDER BY deletion_at LIMIT 100", codec::time(since));
        let found = found.fetch_all(self.pool.reading(RowAccess::Unused)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| (Caller::verified(UserId(row.user_id), ViewerRole::User), SessionId(row.id))).collect())
    }
}

async fn hide_session(c: &mut PgConnection, user: Uuid, session: Uuid, since: Option<Timestamp>, now: Timestamp) -> Result<u64, Failure> {
    recall_store::reject_while_locked(&mut WriteTransaction(c), UserId(user)).await?;
    let messages = sqlx::query_scalar!(
        "UPDATE sessions SET deletion_at = $4, event_floor = event_head + 1, oldest_event_at = NULL
         WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL AND ($3::timestamptz IS NULL OR updated_at < $3) RETURNING message_count",
        user,
        session,
        since.map(codec::time),
        codec::time(now),
    );
    let messages = messages.fetch_optional(&mut *c).await?.ok_or(Refusal::NotFound)?.unsigned_abs();
    save_progress(c, user, session, &SessionDeleted { messages, ..Default::default() }, now).await?;
    // Prevents new claims, and voids existing ones, whose commits then fail.
    sqlx::query!("UPDATE jobs SET head = false, token = token + 1 WHERE user_id = $1 AND session_id = $2 AND head", user, session)
        .execute(&mut *c)
        .await?;
    // Voids indexes in memory and plans that were made before.
    sqlx::query!("UPDATE users SET knowledge_version = knowledge_version + 1, feed_generation = feed_generation + 1 WHERE id = $1", user)
        .execute(&mut *c)
        .await?;
    Ok(messages)
}

/// Attempts before the deletion fails as transient. An attempt fails if a commit of the same user comes between its read and its
/// write.
const ATTEMPTS: u32 = 20;

async fn delete_step(
    store: &PostgresStore,
    user: UserId,
    session: SessionId,
    now: Timestamp,
    limit: u32,
    reweigh: Reweigh<'_>,
) -> Result<SessionDeletionStep, Failure> {
    for _ in 0..ATTEMPTS {
        let input = (user.0, session.0, i64::from(limit));
        let (rows, version, facts, left) =
            store.snapshot(user, &input, |c, &(user, session, limit)| Box::pin(load_batch(c, user, session, limit))).await?;
        let input = (user.0, session.0, now, limit, rows, delete::reweigh_facts(version, facts, &left, reweigh));
        let done = store.write(user, &input, |c, (user, session, now, limit, rows, decision)| {
            Box::pin(apply_batch(c, *user, *session, *now, i64::from(*limit), rows, decision))
        });
        match done.await {
            Err(Failure::Refused(Refusal::Stale)) => {}
            done => return done,
        }
    }
    Err(Refusal::AttemptsExhausted(ATTEMPTS).into())
}

/// The key of an evidence row.
struct EvidenceKey {
    fact_id: Uuid,
    message_id: Uuid,
    stance: String,
}

/// Evidence rows of the session, the knowledge version, the facts that lose their last row, and their evidence elsewhere.
type Batch = (Vec<EvidenceKey>, u64, Vec<Fact>, Vec<Evidence>);

async fn load_batch(c: &mut PgConnection, user: Uuid, session: Uuid, limit: i64) -> Result<Batch, Failure> {
    let version = knowledge::version(c, user).await?;
    let found = sqlx::query_as!(
        EvidenceKey,
        "SELECT fact_id, message_id, stance FROM evidence WHERE user_id = $1 AND session_id = $2 ORDER BY fact_id LIMIT $3",
        user,
        session,
        limit.saturating_add(1),
    );
    let mut found = found.fetch_all(&mut *c).await?;
    let next = found.split_off(found.len().min(usize::try_from(limit).unwrap_or(usize::MAX)));
    let mut facts: BTreeSet<Uuid> = found.iter().map(|row| row.fact_id).collect();
    if let Some(row) = next.first() {
        // This fact has more evidence in the session.
        facts.remove(&row.fact_id);
    }
    let facts: Vec<_> = facts.into_iter().collect();
    let (facts, left) = delete::with_other_evidence(c, user, session, &facts).await?;
    Ok((found, version, facts, left))
}

async fn apply_batch(
    c: &mut PgConnection,
    user: Uuid,
    session: Uuid,
    now: Timestamp,
    limit: i64,
    rows: &[EvidenceKey],
    decision: &Reweighing,
) -> Result<SessionDeletionStep, Failure> {
    let noted = sqlx::query_scalar!(
        r#"SELECT deletion AS "deletion!: JsonText" FROM sessions
         WHERE user_id = $1 AND id = $2 AND deletion_at IS NOT NULL FOR NO KEY UPDATE"#,
        user,
        session
    );
    let noted = noted.fetch_optional(&mut *c).await?.ok_or(Refusal::NotFound)?;
    let mut deleted: SessionDeleted = Column("sessions", "deletion").json(&noted)?;
    let current = sqlx::query!(
        "UPDATE users SET knowledge_version = knowledge_version + 1 WHERE id = $1 AND knowledge_version = $2",
        user,
        signed(decision.version),
    );
    if current.execute(&mut *c).await?.rows_affected() == 0 {
        return Err(Refusal::Stale.into());
    }
    let left = if !rows.is_empty() {
        delete_evidence(c, user, rows, decision, &mut deleted).await?;
        SessionRemainder::Knowledge
    } else if delete_mentions(c, user, session, limit, &mut deleted).await? {
        SessionRemainder::Knowledge
    } else if delete_events(c, user, session, limit).await? || delete_messages(c, user, session, limit).await? {
        SessionRemainder::Rows
    } else {
        sqlx::query!("DELETE FROM sessions WHERE user_id = $1 AND id = $2", user, session).execute(&mut *c).await?;
        return Ok(SessionDeletionStep { deleted, left: SessionRemainder::Nothing });
    };
    save_progress(c, user, session, &deleted, now).await?;
    Ok(SessionDeletionStep { deleted, left })
}

async fn save_progress(c: &mut PgConnection, user: Uuid, session: Uuid, deleted: &SessionDeleted, now: Timestamp) -> Result<(), Failure> {
    let noted = sqlx::query!(
        "UPDATE sessions SET deletion = $3::text::json, deletion_at = $4 WHERE user_id = $1 AND id = $2",
        user,
        session,
        json(deleted, "counts")?,
        codec::time(now),
    );
    noted.execute(c).await?;
    Ok(())
}

async fn delete_evidence(
    c: &mut PgConnection,
    user: Uuid,
    rows: &[EvidenceKey],
    decision: &Reweighing,
    deleted: &mut SessionDeleted,
) -> Result<(), Failure> {
    let facts: Vec<_> = rows.iter().map(|row| row.fact_id).collect();
    let messages: Vec<_> = rows.iter().map(|row| row.message_id).collect();
    let stances: Vec<_> = rows.iter().map(|row| row.stance.as_str().into()).collect::<Vec<std::borrow::Cow<'_, str>>>();
    let gone = sqlx::query!(
        "DELETE FROM evidence v USING unnest($2::uuid[], $3::uuid[], $4::text[]) AS g (fact, message, stance)
         WHERE v.user_id = $1 AND v.fact_id = g.fact AND v.message_id = g.message AND v.stance = g.stance",
        user,
        &facts[..],
        &messages[..],
        &stances[..],
    );
    gone.execute(&mut *c).await?;
    for fact in &decision.changed {
        WriteTransaction(c).upsert_fact(UserId(user), fact).await?;
    }
    let gone: Vec<_> = decision.gone.iter().map(|f| f.0).collect();
    sqlx::query!("DELETE FROM facts WHERE user_id = $1 AND id = ANY($2)", user, &gone[..]).execute(&mut *c).await?;
    deleted.facts_deleted += decision.gone.len() as u64;
    deleted.facts_reweighed += decision.changed.len() as u64;
    deleted.entities_deleted += delete::delete_unused_entities(c, user, &decision.entities).await?;
    Ok(())
}

/// Deletes mentions and subtracts them from their entities' counts.
///
/// A message counts once per entity, however often it names the entity.
async fn delete_mentions(
    c: &mut PgConnection,
    user: Uuid,
    session: Uuid,
    limit: i64,
    deleted: &mut SessionDeleted,
) -> Result<bool, Failure> {
    let gone = sqlx::query!(
        "DELETE FROM mentions WHERE user_id = $1 AND ctid = ANY(ARRAY(
             SELECT ctid FROM mentions WHERE user_id = $1 AND session_id = $2 ORDER BY entity_id LIMIT $3)) RETURNING entity_id, message_id",
        user,
        session,
        limit,
    );
    let mut pairs: BTreeSet<_> = gone.fetch_all(&mut *c).await?.into_iter().map(|row| (row.entity_id, row.message_id)).collect();
    if pairs.is_empty() {
        return Ok(false);
    }
    let messages: Vec<_> = pairs.iter().map(|(_, message)| *message).collect::<BTreeSet<_>>().into_iter().collect();
    let mut counts: BTreeMap<Uuid, i64> = pairs.iter().map(|(entity, _)| (*entity, 0)).collect();
    let still = sqlx::query!("SELECT entity_id, message_id FROM mentions WHERE user_id = $1 AND message_id = ANY($2)", user, &messages[..]);
    for row in still.fetch_all(&mut *c).await? {
        pairs.remove(&(row.entity_id, row.message_id));
    }
    for (entity, _) in &pairs {
        *counts.entry(*entity).or_default() += 1;
    }
    let (entities, counts): (Vec<_>, Vec<_>) = counts.into_iter().unzip();
    // The new first message may also be in this session. Then a later step replaces it.
    let counted = sqlx::query!(
        "UPDATE entities e SET mention_count = greatest(0, mention_count - gone.number),
             first_message = CASE
                 WHEN first_message = ANY($4) THEN (
                     SELECT m.message_id FROM mentions m WHERE m.user_id = $1 AND m.entity_id = e.id ORDER BY m.said_at, m.message_id LIMIT 1)
                 ELSE first_message END
         FROM unnest($2::uuid[], $3::bigint[]) AS gone (id, number) WHERE e.user_id = $1 AND e.id = gone.id",
        user,
        &entities[..],
        &counts[..],
        &messages[..],
    );
    counted.execute(&mut *c).await?;
    deleted.entities_deleted += delete::delete_unused_entities(c, user, &entities).await?;
    Ok(true)
}

async fn delete_events(c: &mut PgConnection, user: Uuid, session: Uuid, limit: i64) -> Result<bool, Failure> {
    let gone = sqlx::query!(
        "DELETE FROM events WHERE user_id = $1 AND session_id = $2 AND seq = ANY(ARRAY(
             SELECT seq FROM events WHERE user_id = $1 AND session_id = $2 ORDER BY seq LIMIT $3))",
        user,
        session,
        limit,
    );
    Ok(gone.execute(c).await?.rows_affected() > 0)
}

/// Deletes messages with their vectors, terms and jobs, and with their entries in merge records.
async fn delete_messages(c: &mut PgConnection, user: Uuid, session: Uuid, limit: i64) -> Result<bool, Failure> {
    let ids = sqlx::query_scalar!(
        "SELECT id FROM messages WHERE user_id = $1 AND session_id = $2 ORDER BY position LIMIT $3",
        user,
        session,
        limit
    );
    let ids = ids.fetch_all(&mut *c).await?;
    if ids.is_empty() {
        return Ok(false);
    }
    let merged = sqlx::query_scalar!(
        r#"SELECT gone_id AS "gone!" FROM merged_mentions WHERE user_id = $1 AND message_id = ANY($2)
         UNION SELECT gone_id FROM merged_evidence WHERE user_id = $1 AND message_id = ANY($2)"#,
        user,
        &ids[..],
    );
    let merged = merged.fetch_all(&mut *c).await?;
    sqlx::query!("DELETE FROM messages WHERE user_id = $1 AND id = ANY($2)", user, &ids[..]).execute(&mut *c).await?;
    if !merged.is_empty() {
        delete::delete_unused_merge_records(c, user, &merged).await?;
    }
    Ok(true)
}
