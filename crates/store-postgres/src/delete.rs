//! Deletes a session and removes its effects from the knowledge.
//!
//! The caller's function re-weighs the facts outside the write transaction. The transaction then checks that no knowledge was
//! committed meanwhile. If some was, the facts are re-weighed again. So no row is locked while the caller's function runs.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{signed, time},
    failure::Failure,
    knowledge,
    rows::{self, EvidenceRow, FactRow},
    sessions,
    transaction::WriteTransaction,
};
use recall_domain::{Evidence, Fact, FactId, SessionId, Timestamp, UserId};
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

pub(super) async fn delete_session(
    store: &PostgresStore,
    user: UserId,
    session: SessionId,
    since: Option<Timestamp>,
    reweigh: Reweigh<'_>,
) -> Result<SessionDeleted, Failure> {
    for _ in 0..ATTEMPTS {
        let decision = plan_reweighing(store, user, session, reweigh).await?;
        let input = (user.0, session.0, since, decision);
        match store.write(user, &input, |c, (user, session, since, decision)| Box::pin(apply(c, *user, *session, *since, decision))).await {
            Err(Failure::Refused(Refusal::Stale)) => {}
            done => return done,
        }
    }
    Err(Refusal::AttemptsExhausted(ATTEMPTS).into())
}

/// Loads the facts with evidence in the session, and their evidence elsewhere, with the knowledge version. Ordered by fact.
async fn affected_facts(c: &mut PgConnection, user: UserId, session: SessionId) -> Result<(u64, Vec<Fact>, Vec<Evidence>), Failure> {
    let version = knowledge::version(c, user.0).await?;
    let ids = sqlx::query_scalar!("SELECT DISTINCT fact_id FROM evidence WHERE user_id = $1 AND session_id = $2", user.0, session.0);
    let ids = ids.fetch_all(&mut *c).await?;
    let (facts, left) = with_other_evidence(c, user.0, session.0, &ids).await?;
    Ok((version, facts, left))
}

/// Loads facts and their evidence outside the session, ordered by fact.
pub(super) async fn with_other_evidence(
    c: &mut PgConnection,
    user: Uuid,
    session: Uuid,
    ids: &[Uuid],
) -> Result<(Vec<Fact>, Vec<Evidence>), Failure> {
    let facts = rows::facts!(FROM "facts WHERE user_id = $1 AND id = ANY($2)", user, ids);
    let facts = facts.fetch_all(&mut *c).await?.into_iter().map(FactRow::read).collect::<Result<Vec<_>, _>>()?;
    let left = rows::evidence!(
        FROM "evidence v WHERE user_id = $1 AND fact_id = ANY($2) AND session_id <> $3
         ORDER BY fact_id, created_at, message_id, stance",
        user,
        ids,
        session,
    );
    let left = left.fetch_all(&mut *c).await?.into_iter().map(EvidenceRow::read).collect::<Result<Vec<_>, _>>()?;
    Ok((facts, left))
}

/// Reads the affected facts in one snapshot and re-weighs each.
async fn plan_reweighing(store: &PostgresStore, user: UserId, session: SessionId, reweigh: Reweigh<'_>) -> Result<Reweighing, Failure> {
    let input = (user, session);
    let (version, facts, left) = store.snapshot(user, &input, |c, &(user, session)| Box::pin(affected_facts(c, user, session))).await?;
    Ok(reweigh_facts(version, facts, &left, reweigh))
}

/// Re-weighs each fact with its remaining evidence.
pub(super) fn reweigh_facts(version: u64, facts: Vec<Fact>, left: &[Evidence], reweigh: Reweigh<'_>) -> Reweighing {
    let mut by_fact: HashMap<FactId, &[Evidence]> = HashMap::new();
    for chunk in left.chunk_by(|a, b| a.fact == b.fact) {
        by_fact.extend(chunk.first().map(|e| (e.fact, chunk)));
    }
    let mut decision = Reweighing { version, changed: Vec::new(), gone: Vec::new(), entities: Vec::new() };
    for fact in facts {
        decision.entities.extend([fact.subject.0, fact.object.0]);
        match reweigh(&fact, by_fact.get(&fact.id).copied().unwrap_or_default()) {
            Some(changed) => decision.changed.push(changed),
            None => decision.gone.push(fact.id),
        }
    }
    decision
}

async fn apply(
    c: &mut PgConnection,
    user: Uuid,
    session: Uuid,
    since: Option<Timestamp>,
    decision: &Reweighing,
) -> Result<SessionDeleted, Failure> {
    sessions::lock(c, user, session).await?;
    let messages = sqlx::query_scalar!(
        "SELECT message_count FROM sessions WHERE user_id = $1 AND id = $2 AND ($3::timestamptz IS NULL OR updated_at < $3)",
        user,
        session,
        since.map(time),
    );
    let messages = messages.fetch_optional(&mut *c).await?.ok_or(Refusal::NotFound)?;
    let current = sqlx::query!(
        "UPDATE users SET knowledge_version = knowledge_version + 1, feed_generation = feed_generation + 1
         WHERE id = $1 AND knowledge_version = $2 AND NOT importing",
        user,
        signed(decision.version),
    );
    if current.execute(&mut *c).await?.rows_affected() == 0 {
        recall_store::reject_while_locked(&mut WriteTransaction(c), UserId(user)).await?;
        return Err(Refusal::Stale.into());
    }

    let mentioned = sqlx::query_scalar!("SELECT DISTINCT entity_id FROM mentions WHERE user_id = $1 AND session_id = $2", user, session);
    let mentioned = mentioned.fetch_all(&mut *c).await?;
    subtract_mentions(c, user, session, &mentioned).await?;

    for fact in &decision.changed {
        WriteTransaction(c).upsert_fact(UserId(user), fact).await?;
    }
    let gone: Vec<_> = decision.gone.iter().map(|f| f.0).collect();
    sqlx::query!("DELETE FROM facts WHERE user_id = $1 AND id = ANY($2)", user, &gone[..]).execute(&mut *c).await?;
    // Cascades to messages, vectors, terms, events, jobs, mentions and evidence.
    sqlx::query!("DELETE FROM sessions WHERE user_id = $1 AND id = $2", user, session).execute(&mut *c).await?;

    let mut concerned = mentioned;
    concerned.extend(&decision.entities);
    let merged = sqlx::query_scalar!("SELECT gone_id FROM entity_merges WHERE user_id = $1 AND into_id = ANY($2)", user, &concerned[..]);
    let merged = merged.fetch_all(&mut *c).await?;
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
pub(super) async fn delete_unused_merge_records(c: &mut PgConnection, user: Uuid, gone: &[Uuid]) -> Result<(), Failure> {
    let merges = sqlx::query!(
        "DELETE FROM merges g WHERE user_id = $1 AND gone_id = ANY($2)
         AND NOT EXISTS (SELECT 1 FROM merged_mentions m WHERE m.user_id = $1 AND m.gone_id = g.gone_id)
         AND NOT EXISTS (SELECT 1 FROM merged_evidence v JOIN merged_facts f ON f.user_id = $1 AND f.gone_id = v.gone_id AND f.id = v.fact_id
                         WHERE v.user_id = $1 AND v.gone_id = g.gone_id AND g.gone_id IN (f.subject_id, f.object_id))",
        user,
        gone,
    );
    merges.execute(c).await?;
    Ok(())
}

/// Deletes those entities that no mention or fact references any more. Returns their number.
pub(super) async fn delete_unused_entities(c: &mut PgConnection, user: Uuid, concerned: &[Uuid]) -> Result<u64, Failure> {
    let entities = sqlx::query!(
        "DELETE FROM entities e WHERE user_id = $1 AND id = ANY($2)
         AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = $1 AND m.entity_id = e.id)
         AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = $1 AND f.subject_id = e.id)
         AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = $1 AND f.object_id = e.id)",
        user,
        concerned,
    );
    Ok(entities.execute(c).await?.rows_affected())
}

/// Subtracts a session's mentions from the entities' counts, and replaces a first message that is in the session.
async fn subtract_mentions(c: &mut PgConnection, user: Uuid, session: Uuid, entities: &[Uuid]) -> Result<(), Failure> {
    let update = sqlx::query!(
        "UPDATE entities e SET
             mention_count = greatest(0, mention_count - (
                 SELECT count(DISTINCT m.message_id) FROM mentions m
                 WHERE m.user_id = $1 AND m.session_id = $2 AND m.entity_id = e.id)),
             first_message = CASE
                 WHEN first_message IN (SELECT id FROM messages WHERE user_id = $1 AND session_id = $2) THEN (
                     SELECT m.message_id FROM mentions m
                     WHERE m.user_id = $1 AND m.entity_id = e.id AND m.session_id <> $2
                     ORDER BY m.said_at, m.message_id LIMIT 1)
                 ELSE first_message END
         WHERE user_id = $1 AND id = ANY($3)",
        user,
        session,
        entities,
    );
    update.execute(c).await?;
    Ok(())
}
