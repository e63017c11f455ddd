//! Commits one plan or one answer in one transaction. Only this file changes knowledge.

use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    account_deletion,
    codec::{self, Word, json, signed, time},
    events,
    failure::Failure,
    jobs,
    messages::append,
    sessions,
};
use super::{list::folded, merge};
use recall_domain::{Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind};
use recall_ports::{AnswerCommit, Claim, KnowledgeCommit};

/// Commits a plan. Merged entities are deleted last, when nothing references them any more.
pub(super) async fn commit_plan(
    c: &mut PgConnection,
    caller: &Caller,
    plan: &KnowledgeCommit,
    claim: Option<&Claim>,
) -> Result<Vec<u64>, Failure> {
    let user = caller.user().0;
    // Checked first: a worker that lost its lease must stop, not read again and retry.
    let held = match claim {
        Some(claim) => Some(jobs::verify_claim(c, caller.user(), claim).await?),
        None => None,
    };
    sessions::lock(c, user, plan.session.0).await?;
    let current = sqlx::query!(
        "UPDATE users SET knowledge_version = knowledge_version + 1
         WHERE id = $1 AND knowledge_version = $2 AND NOT erasing AND NOT importing",
        user,
        signed(plan.version),
    );
    if current.execute(&mut *c).await?.rows_affected() == 0 {
        account_deletion::reject_while_locked(c, user).await?;
        return Err(Failure::Stale);
    }

    write_entities(c, user, plan).await?;
    write_facts(c, user, plan).await?;
    for (gone, into) in &plan.merged {
        merge::merge(c, user, *gone, *into).await?;
    }

    let seqs = events::append(c, user, plan.session, &plan.events, plan.now).await?;
    if let Some(work) = plan.follow_up {
        jobs::enqueue(c, caller, plan.session, &[(work, plan.now)]).await?;
    }
    if let Some(held) = &held {
        jobs::finish(c, held, plan.now).await?;
    }
    Ok(seqs)
}

/// Writes the entities of a plan, their keys and hints, and what was found in the message.
///
/// Also records merges before they change anything, and undoes earlier merges.
async fn write_entities(c: &mut PgConnection, user: Uuid, plan: &KnowledgeCommit) -> Result<(), Failure> {
    for (gone, into) in &plan.merged {
        merge::record_merge(c, user, *gone, *into, plan).await?;
    }
    for fact in &plan.deleted_facts {
        sqlx::query!("DELETE FROM facts WHERE user_id = $1 AND id = $2", user, fact.0).execute(&mut *c).await?;
    }
    for (gone, _) in &plan.merged {
        // A user has only one viewer entity, and the entity that stays is written next.
        let other = sqlx::query!("UPDATE entities SET is_viewer = false WHERE user_id = $1 AND id = $2", user, gone.0);
        other.execute(&mut *c).await?;
    }
    for entity in &plan.entities {
        upsert_entity(c, user, entity).await?;
    }
    for (gone, into) in &plan.merged {
        merge::record_entity(c, user, *gone, *into, "after").await?;
    }
    for unmerge in &plan.unmerged {
        merge::undo_merge(c, user, unmerge).await?;
    }
    for (entity, key) in &plan.keys {
        insert_key(c, user, *entity, key).await?;
    }
    for (entity, hint) in &plan.hints {
        insert_hint(c, user, *entity, hint).await?;
    }
    if let Some((message, kind, mentions)) = &plan.message {
        record_extraction(c, user, *message, *kind, mentions, &plan.decisions).await?;
    }
    Ok(())
}

/// Writes the facts and the evidence of a plan, and removes those that it drops.
async fn write_facts(c: &mut PgConnection, user: Uuid, plan: &KnowledgeCommit) -> Result<(), Failure> {
    for (gone, into) in &plan.dropped_facts {
        move_evidence(c, user, *gone, *into, plan).await?;
    }
    if !plan.unmerged.is_empty() {
        release_statements(c, user, &plan.facts).await?;
    }
    for fact in &plan.facts {
        upsert_fact(c, user, fact).await?;
    }
    for evidence in &plan.evidence {
        insert_evidence(c, user, evidence).await?;
    }
    for (fact, message, stance) in &plan.dropped_evidence {
        let dropped = sqlx::query!(
            "DELETE FROM evidence WHERE user_id = $1 AND fact_id = $2 AND message_id = $3 AND stance = $4",
            user,
            fact.0,
            message.0,
            stance.word(),
        );
        dropped.execute(&mut *c).await?;
    }
    Ok(())
}

/// Stores an answer and ends its job.
pub(super) async fn commit_answer(c: &mut PgConnection, caller: &Caller, answer: &AnswerCommit, claim: &Claim) -> Result<Message, Failure> {
    let user = caller.user().0;
    let held = jobs::verify_claim(c, caller.user(), claim).await?;
    let AnswerCommit { message, answer_to, citations, events } = answer;
    let (session, now) = (message.session, message.created_at);
    // The question must be in the same session, because the messages of a session are deleted together.
    let question =
        sqlx::query_scalar!("SELECT 1 FROM messages WHERE user_id = $1 AND id = $2 AND session_id = $3", user, answer_to.0, session.0,);
    question.fetch_optional(&mut *c).await?.ok_or(Failure::NotFound)?;
    let new = append::PendingMessage { message, answer_to: Some(*answer_to), citations };
    let stored = append::store(c, caller, session, &[new]).await?.pop().ok_or(Failure::NotFound)?;
    events::append(c, user, session, events, now).await?;
    jobs::finish(c, &held, now).await?;
    Ok(stored)
}

async fn upsert_entity(c: &mut PgConnection, user: Uuid, e: &Entity) -> Result<(), Failure> {
    let mut search = folded(&e.name);
    for alias in &e.aliases {
        search.push('\n');
        search.push_str(&folded(alias));
    }
    let description = codec::opt_text(e.description.as_deref());
    let put = sqlx::query!(
        "INSERT INTO entities (user_id, id, name, entity_type, aliases, description, mention_count, confidence, is_viewer,
                               first_message, search, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5::text::json, $6, $7, $8, $9, $10, $11, $12, $13)
         ON CONFLICT (user_id, id) DO UPDATE SET name = excluded.name, entity_type = excluded.entity_type, aliases = excluded.aliases,
             description = excluded.description, mention_count = excluded.mention_count, confidence = excluded.confidence,
             is_viewer = excluded.is_viewer, first_message = excluded.first_message, search = excluded.search,
             created_at = excluded.created_at, updated_at = excluded.updated_at",
        user,
        e.id.0,
        &*codec::text(&e.name),
        e.entity_type.word(),
        json(&e.aliases, "aliases")?,
        description.as_deref(),
        signed(e.mention_count),
        e.confidence,
        e.is_viewer,
        e.first_message.map(|m| m.0),
        search,
        time(e.created_at),
        time(e.updated_at),
    );
    put.execute(c).await?;
    Ok(())
}

async fn insert_key(c: &mut PgConnection, user: Uuid, entity: EntityId, key: &EntityKey) -> Result<(), Failure> {
    let put = sqlx::query!(
        "INSERT INTO entity_keys (user_id, key, entity_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        user,
        &*codec::key(key.as_str()),
        entity.0,
    );
    put.execute(c).await?;
    Ok(())
}

async fn insert_hint(c: &mut PgConnection, user: Uuid, entity: EntityId, hint: &str) -> Result<(), Failure> {
    let put = sqlx::query!(
        "INSERT INTO entity_hints (user_id, hint, entity_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        user,
        &*codec::key(hint),
        entity.0,
    );
    put.execute(c).await?;
    Ok(())
}

/// Records what was found in a message. Mentions of an earlier run are replaced.
async fn record_extraction(
    c: &mut PgConnection,
    user: Uuid,
    message: MessageId,
    kind: MessageKind,
    mentions: &[(EntityId, Mention)],
    decisions: &[Decision],
) -> Result<(), Failure> {
    let row = sqlx::query!(
        "UPDATE messages SET kind = $1, status = 'processed' WHERE user_id = $2 AND id = $3 RETURNING session_id, sent_at",
        kind.word(),
        user,
        message.0,
    );
    let of = row.fetch_optional(&mut *c).await?.ok_or(Failure::NotFound)?;
    sqlx::query!("DELETE FROM mentions WHERE user_id = $1 AND message_id = $2", user, message.0).execute(&mut *c).await?;
    for (i, (entity, m)) in mentions.iter().enumerate() {
        let decision = decisions.get(i);
        let (description, reason) = (codec::opt_text(m.description.as_deref()), codec::opt_text(decision.map(|d| d.reason.as_str())));
        let mention = sqlx::query!(
            "INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type,
                                   span_start, span_end, confidence, description, score, reason)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            user,
            message.0,
            signed(i as u64),
            entity.0,
            of.session_id,
            of.sent_at,
            &*codec::text(&m.name),
            m.entity_type.word(),
            i64::from(m.span.start),
            i64::from(m.span.end),
            m.confidence,
            description.as_deref(),
            decision.map(|d| d.score),
            reason.as_deref(),
        );
        mention.execute(&mut *c).await?;
    }
    Ok(())
}

/// Inserts a fact or overwrites all its columns.
pub(in super::super) async fn upsert_fact(c: &mut PgConnection, user: Uuid, f: &Fact) -> Result<(), Failure> {
    let put = sqlx::query!(
        "INSERT INTO facts (user_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                            valid_from, valid_to, last_support, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         ON CONFLICT (user_id, id) DO UPDATE SET subject_id = excluded.subject_id, relation = excluded.relation,
             object_id = excluded.object_id, support = excluded.support, opposition = excluded.opposition,
             weighed_at = excluded.weighed_at, status = excluded.status, flagged = excluded.flagged,
             valid_from = excluded.valid_from, valid_to = excluded.valid_to, last_support = excluded.last_support,
             created_at = excluded.created_at, updated_at = excluded.updated_at",
        user,
        f.id.0,
        f.subject.0,
        &*codec::text(&f.relation),
        f.object.0,
        // Adding 0.0 removes the sign of a negative zero, which SQLite does not keep either.
        f.support + 0.0,
        f.opposition + 0.0,
        time(f.weighed_at),
        f.status.word(),
        f.flagged,
        f.valid_from.map(time),
        f.valid_to.map(time),
        f.last_support.map(time),
        time(f.created_at),
        time(f.updated_at),
    );
    put.execute(c).await?;
    Ok(())
}

/// Frees the statements (subject, relation, object) of the facts that are about to be written.
///
/// When a merge is undone, one fact may get the statement that another still has, in any order.
async fn release_statements(c: &mut PgConnection, user: Uuid, facts: &[Fact]) -> Result<(), Failure> {
    let ids: Vec<_> = facts.iter().map(|f| f.id.0).collect();
    sqlx::query!("UPDATE facts SET relation = id::text WHERE user_id = $1 AND id = ANY($2)", user, &ids[..]).execute(c).await?;
    Ok(())
}

/// Inserts evidence. Existing evidence stays unchanged: a message counts once, however often it is delivered.
async fn insert_evidence(c: &mut PgConnection, user: Uuid, e: &Evidence) -> Result<(), Failure> {
    let put = sqlx::query!(
        "INSERT INTO evidence (user_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (user_id, fact_id, message_id, stance) DO NOTHING",
        user,
        e.fact.0,
        e.message.0,
        e.stance.word(),
        e.session.0,
        e.confidence,
        e.span.map(|s| i64::from(s.start)),
        e.span.map(|s| i64::from(s.end)),
        &*codec::text(e.excerpt.as_str()),
        time(e.created_at),
    );
    put.execute(c).await?;
    Ok(())
}

/// Merges a fact into another and deletes it.
///
/// Its evidence moves, except for what the other fact already has. This frees its statement (subject, relation, object) for the
/// facts that are written next.
async fn move_evidence(c: &mut PgConnection, user: Uuid, gone: FactId, into: FactId, plan: &KnowledgeCommit) -> Result<(), Failure> {
    let exists = sqlx::query_scalar!("SELECT 1 FROM facts WHERE user_id = $1 AND id = $2", user, into.0);
    if exists.fetch_optional(&mut *c).await?.is_none() {
        // The target is created by this same plan.
        let new = plan.facts.iter().find(|f| f.id == into).ok_or(Failure::NotFound)?;
        upsert_fact(c, user, new).await?;
    }
    let moved = sqlx::query!(
        "UPDATE evidence e SET fact_id = $3 WHERE user_id = $1 AND fact_id = $2 AND NOT EXISTS (
             SELECT 1 FROM evidence o
             WHERE o.user_id = $1 AND o.fact_id = $3 AND o.message_id = e.message_id AND o.stance = e.stance)",
        user,
        gone.0,
        into.0,
    );
    moved.execute(&mut *c).await?;
    sqlx::query!("DELETE FROM facts WHERE user_id = $1 AND id = $2", user, gone.0).execute(c).await?;
    Ok(())
}
