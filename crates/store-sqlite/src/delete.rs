//! Deletes a session and removes its effects from the knowledge.
//!
//! The caller's function re-weighs the facts outside the write transaction. The transaction then checks that no knowledge was
//! committed meanwhile. If some was, the facts are re-weighed again. So the writer never waits for the caller's function.

use sqlx::SqliteConnection;
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{bytes, id_list, millis, signed},
    failure::Failure,
    knowledge, rows,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Fact, FactId, SessionId, Timestamp, UserId};
use recall_ports::{Reweigh, SessionDeleted};
use recall_store::KnowledgeStatements;
use recall_store::Refusal;

/// Attempts before the deletion fails as transient. An attempt fails if a commit of the same user comes between its read and its
/// write.
const ATTEMPTS: u32 = 20;

/// What becomes of the facts that lose evidence, and the version it is based on.
pub(super) struct Reweighing {
    pub(super) version: u64,
    pub(super) changed: Vec<Fact>,
    pub(super) gone: Vec<FactId>,
    /// Subjects and objects of all affected facts.
    pub(super) entities: Vec<Uuid>,
}

impl Reweighing {
    /// Writes the changed facts and deletes the others. The caller deletes the evidence.
    pub(super) async fn write(&self, c: &mut SqliteConnection, user: Uuid) -> Result<(), Failure> {
        for fact in &self.changed {
            WriteTransaction(c).upsert_fact(UserId(user), fact).await?;
        }
        sqlx::query("DELETE FROM facts WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
            .bind(bytes(&user))
            .bind(id_list(self.gone.iter().map(|f| &f.0)))
            .execute(c)
            .await?;
        Ok(())
    }
}

pub(super) async fn delete_session(
    store: &SqliteStore,
    user: UserId,
    session: SessionId,
    since: Option<Timestamp>,
    reweigh: Reweigh<'_>,
) -> Result<SessionDeleted, Failure> {
    for _ in 0..ATTEMPTS {
        let decision = plan_reweighing(store, user, session, reweigh).await?;
        let done = store.write(move |c| Box::pin(async move { apply(c, user.0, session.0, since, decision).await })).await;
        match done {
            Err(Failure::Refused(Refusal::Stale)) => {}
            done => return done,
        }
    }
    Err(Refusal::AttemptsExhausted(ATTEMPTS).into())
}

/// Reads the affected facts in one snapshot and re-weighs each.
async fn plan_reweighing(store: &SqliteStore, user: UserId, session: SessionId, reweigh: Reweigh<'_>) -> Result<Reweighing, Failure> {
    let mut snapshot = store.readers.for_server().begin().await?;
    let version = knowledge::version(&mut snapshot, user.0).await?;
    let facts = sqlx::query(
        "SELECT * FROM facts WHERE user_id = ?1
         AND id IN (SELECT fact_id FROM evidence WHERE user_id = ?1 AND session_id = ?2)",
    )
    .bind(bytes(&user.0))
    .bind(bytes(&session.0))
    .fetch_all(&mut *snapshot)
    .await?;
    let facts = facts.iter().map(rows::fact).collect::<Result<Vec<_>, _>>()?;
    let decision = reweigh_facts(&mut snapshot, user.0, session.0, version, facts, reweigh).await?;
    snapshot.commit().await?;
    Ok(decision)
}

/// Re-weighs each fact without the evidence of the session.
pub(super) async fn reweigh_facts(
    c: &mut SqliteConnection,
    user: Uuid,
    session: Uuid,
    version: u64,
    facts: Vec<Fact>,
    reweigh: Reweigh<'_>,
) -> Result<Reweighing, Failure> {
    let mut decision = Reweighing { version, changed: Vec::new(), gone: Vec::new(), entities: Vec::new() };
    for fact in facts {
        let left = sqlx::query(
            "SELECT * FROM evidence WHERE user_id = ? AND fact_id = ? AND session_id <> ? ORDER BY created_at, message_id, stance",
        )
        .bind(bytes(&user))
        .bind(bytes(&fact.id.0))
        .bind(bytes(&session))
        .fetch_all(&mut *c)
        .await?;
        let left = left.iter().map(rows::evidence).collect::<Result<Vec<_>, _>>()?;
        decision.entities.extend([fact.subject.0, fact.object.0]);
        match reweigh(&fact, &left) {
            Some(changed) => decision.changed.push(changed),
            None => decision.gone.push(fact.id),
        }
    }
    Ok(decision)
}

async fn apply(
    c: &mut SqliteConnection,
    user: Uuid,
    session: Uuid,
    since: Option<Timestamp>,
    decision: Reweighing,
) -> Result<SessionDeleted, Failure> {
    let messages: i64 = sqlx::query_scalar(
        "SELECT message_count FROM sessions WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL AND (?3 IS NULL OR updated_at < ?3)",
    )
    .bind(bytes(&user))
    .bind(bytes(&session))
    .bind(since.map(millis))
    .fetch_optional(&mut *c)
    .await?
    .ok_or(Refusal::NotFound)?;
    let current = sqlx::query(
        "UPDATE users SET knowledge_version = knowledge_version + 1, feed_generation = feed_generation + 1
         WHERE id = ? AND knowledge_version = ? AND importing = 0",
    )
    .bind(bytes(&user))
    .bind(signed(decision.version));
    if current.execute(&mut *c).await?.rows_affected() == 0 {
        recall_store::reject_while_locked(&mut WriteTransaction(c), UserId(user)).await?;
        return Err(Refusal::Stale.into());
    }

    let mentioned = sqlx::query("SELECT DISTINCT entity_id FROM mentions WHERE user_id = ? AND session_id = ?")
        .bind(bytes(&user))
        .bind(bytes(&session))
        .fetch_all(&mut *c)
        .await?;
    let mentioned = mentioned.iter().map(|row| Columns::of(row, "mentions").id("entity_id")).collect::<Result<Vec<_>, _>>()?;
    subtract_mentions(c, user, session, &mentioned).await?;

    decision.write(c, user).await?;
    // Cascades to messages, vectors, terms, events, jobs, mentions and evidence.
    sqlx::query("DELETE FROM sessions WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&session)).execute(&mut *c).await?;

    let mut concerned = mentioned;
    concerned.extend(&decision.entities);
    let merged = sqlx::query("SELECT gone_id FROM entity_merges WHERE user_id = ? AND into_id IN (SELECT unhex(value) FROM json_each(?))")
        .bind(bytes(&user))
        .bind(id_list(&concerned))
        .fetch_all(&mut *c)
        .await?;
    let merged = merged.iter().map(|row| Columns::of(row, "entity_merges").id("gone_id")).collect::<Result<Vec<_>, _>>()?;
    if !merged.is_empty() {
        delete_unused_merge_records(c, user, &merged).await?;
    }
    let entities = delete_unused_entities(c, user, &concerned).await?;
    Ok(SessionDeleted {
        messages: messages.unsigned_abs(),
        facts_deleted: decision.gone.len() as u64,
        facts_reweighed: decision.changed.len() as u64,
        entities_deleted: entities,
    })
}

/// Deletes merge records whose merged entity has no mention or evidence left. Its name must not remain stored either.
pub(super) async fn delete_unused_merge_records(c: &mut SqliteConnection, user: Uuid, gone: &[Uuid]) -> Result<(), Failure> {
    sqlx::query(
        "DELETE FROM merges WHERE user_id = ?1 AND gone_id IN (SELECT unhex(value) FROM json_each(?2))
         AND NOT EXISTS (SELECT 1 FROM merged_mentions m WHERE m.user_id = ?1 AND m.gone_id = merges.gone_id)
         AND NOT EXISTS (SELECT 1 FROM merged_evidence v JOIN merged_facts f ON f.user_id = ?1 AND f.gone_id = v.gone_id AND f.id = v.fact_id
                         WHERE v.user_id = ?1 AND v.gone_id = merges.gone_id AND merges.gone_id IN (f.subject_id, f.object_id))",
    )
    .bind(bytes(&user))
    .bind(id_list(gone))
    .execute(c)
    .await?;
    Ok(())
}

/// Deletes those entities that no mention or fact references any more. Returns their number.
pub(super) async fn delete_unused_entities(c: &mut SqliteConnection, user: Uuid, concerned: &[Uuid]) -> Result<u64, Failure> {
    let gone = sqlx::query(
        "DELETE FROM entities WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))
         AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = ?1 AND m.entity_id = entities.id)
         AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.subject_id = entities.id)
         AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.object_id = entities.id)",
    )
    .bind(bytes(&user))
    .bind(id_list(concerned));
    Ok(gone.execute(c).await?.rows_affected())
}

/// Subtracts a session's mentions from the entities' counts, and replaces a first message that is in the session.
async fn subtract_mentions(c: &mut SqliteConnection, user: Uuid, session: Uuid, entities: &[Uuid]) -> Result<(), Failure> {
    sqlx::query(
        "UPDATE entities SET
             mention_count = MAX(0, mention_count - (
                 SELECT COUNT(DISTINCT m.message_id) FROM mentions m
                 WHERE m.user_id = ?1 AND m.session_id = ?2 AND m.entity_id = entities.id)),
             first_message = CASE
                 WHEN first_message IN (SELECT id FROM messages WHERE user_id = ?1 AND session_id = ?2) THEN (
                     SELECT m.message_id FROM mentions m
                     WHERE m.user_id = ?1 AND m.entity_id = entities.id AND m.session_id <> ?2
                     ORDER BY m.said_at, m.message_id LIMIT 1)
                 ELSE first_message END
         WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?3))",
    )
    .bind(bytes(&user))
    .bind(bytes(&session))
    .bind(id_list(entities))
    .execute(c)
    .await?;
    Ok(())
}
