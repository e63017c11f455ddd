//! Commits one plan or one answer in one transaction. Only this file changes knowledge.

use sqlx::SqliteConnection;
use uuid::Uuid;

use super::super::{
    account_deletion,
    codec::{Word, bytes, id_list, json, millis, signed},
    events,
    failure::Failure,
    jobs,
    messages::append,
    rows::Columns,
};
use super::{list::folded, merge};
use recall_domain::{Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind};
use recall_ports::{AnswerCommit, Claim, KnowledgeCommit};

/// Commits a plan. Merged entities are deleted last, when nothing references them any more.
pub(super) async fn commit_plan(
    c: &mut SqliteConnection,
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
    let session = sqlx::query("SELECT 1 FROM sessions WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&plan.session.0));
    session.fetch_optional(&mut *c).await?.ok_or(Failure::NotFound)?;
    let current = sqlx::query(
        "UPDATE users SET knowledge_version = knowledge_version + 1
         WHERE id = ? AND knowledge_version = ? AND erasing = 0 AND importing = 0",
    )
    .bind(bytes(&user))
    .bind(signed(plan.version));
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
async fn write_entities(c: &mut SqliteConnection, user: Uuid, plan: &KnowledgeCommit) -> Result<(), Failure> {
    for (gone, into) in &plan.merged {
        merge::record_merge(c, user, *gone, *into, plan).await?;
    }
    for fact in &plan.deleted_facts {
        sqlx::query("DELETE FROM facts WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&fact.0)).execute(&mut *c).await?;
    }
    for (gone, _) in &plan.merged {
        // A user has only one viewer entity, and the entity that stays is written next.
        let other = sqlx::query("UPDATE entities SET is_viewer = 0 WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&gone.0));
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
async fn write_facts(c: &mut SqliteConnection, user: Uuid, plan: &KnowledgeCommit) -> Result<(), Failure> {
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
        sqlx::query("DELETE FROM evidence WHERE user_id = ? AND fact_id = ? AND message_id = ? AND stance = ?")
            .bind(bytes(&user))
            .bind(bytes(&fact.0))
            .bind(bytes(&message.0))
            .bind(stance.word())
            .execute(&mut *c)
            .await?;
    }
    Ok(())
}

/// Stores an answer and ends its job.
pub(super) async fn commit_answer(
    c: &mut SqliteConnection,
    caller: &Caller,
    answer: AnswerCommit,
    claim: &Claim,
) -> Result<Message, Failure> {
    let user = caller.user().0;
    let held = jobs::verify_claim(c, caller.user(), claim).await?;
    let AnswerCommit { message, answer_to, citations, events } = answer;
    let (session, now) = (message.session, message.created_at);
    // The question must be in the same session, because the messages of a session are deleted together.
    sqlx::query("SELECT 1 FROM messages WHERE user_id = ? AND id = ? AND session_id = ?")
        .bind(bytes(&user))
        .bind(bytes(&answer_to.0))
        .bind(bytes(&session.0))
        .fetch_optional(&mut *c)
        .await?
        .ok_or(Failure::NotFound)?;
    let new = append::PendingMessage { message, answer_to: Some(answer_to), citations };
    let stored = append::store(c, caller, session, vec![new]).await?.pop().ok_or(Failure::NotFound)?;
    events::append(c, user, session, &events, now).await?;
    jobs::finish(c, &held, now).await?;
    Ok(stored)
}

async fn upsert_entity(c: &mut SqliteConnection, user: Uuid, e: &Entity) -> Result<(), Failure> {
    let mut search = folded(&e.name);
    for alias in &e.aliases {
        search.push('\n');
        search.push_str(&folded(alias));
    }
    sqlx::query(
        "INSERT INTO entities (user_id, id, name, entity_type, aliases, description, mention_count, confidence, is_viewer,
                               first_message, search, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (user_id, id) DO UPDATE SET name = excluded.name, entity_type = excluded.entity_type, aliases = excluded.aliases,
             description = excluded.description, mention_count = excluded.mention_count, confidence = excluded.confidence,
             is_viewer = excluded.is_viewer, first_message = excluded.first_message, search = excluded.search,
             created_at = excluded.created_at, updated_at = excluded.updated_at",
    )
    .bind(bytes(&user))
    .bind(bytes(&e.id.0))
    .bind(&e.name)
    .bind(e.entity_type.word())
    .bind(json(&e.aliases, "aliases")?)
    .bind(&e.description)
    .bind(signed(e.mention_count))
    .bind(e.confidence)
    .bind(e.is_viewer)
    .bind(e.first_message.as_ref().map(|m| bytes(&m.0)))
    .bind(search)
    .bind(millis(e.created_at))
    .bind(millis(e.updated_at))
    .execute(c)
    .await?;
    Ok(())
}

async fn insert_key(c: &mut SqliteConnection, user: Uuid, entity: EntityId, key: &EntityKey) -> Result<(), Failure> {
    sqlx::query("INSERT INTO entity_keys (user_id, key, entity_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
        .bind(bytes(&user))
        .bind(key.as_str())
        .bind(bytes(&entity.0))
        .execute(c)
        .await?;
    Ok(())
}

async fn insert_hint(c: &mut SqliteConnection, user: Uuid, entity: EntityId, hint: &str) -> Result<(), Failure> {
    sqlx::query("INSERT INTO entity_hints (user_id, hint, entity_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
        .bind(bytes(&user))
        .bind(hint)
        .bind(bytes(&entity.0))
        .execute(c)
        .await?;
    Ok(())
}

/// Records what was found in a message. Mentions of an earlier run are replaced.
async fn record_extraction(
    c: &mut SqliteConnection,
    user: Uuid,
    message: MessageId,
    kind: MessageKind,
    mentions: &[(EntityId, Mention)],
    decisions: &[Decision],
) -> Result<(), Failure> {
    let row = sqlx::query("UPDATE messages SET kind = ?, status = 'processed' WHERE user_id = ? AND id = ? RETURNING session_id, sent_at")
        .bind(kind.word())
        .bind(bytes(&user))
        .bind(bytes(&message.0))
        .fetch_optional(&mut *c)
        .await?
        .ok_or(Failure::NotFound)?;
    let columns = Columns::of(&row, "messages");
    let (session, said_at) = (columns.id("session_id")?, columns.integer("sent_at")?);
    let earlier = sqlx::query("DELETE FROM mentions WHERE user_id = ? AND message_id = ?").bind(bytes(&user)).bind(bytes(&message.0));
    earlier.execute(&mut *c).await?;
    for (i, (entity, m)) in mentions.iter().enumerate() {
        let decision = decisions.get(i);
        sqlx::query(
            "INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type,
                                   span_start, span_end, confidence, description, score, reason)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(bytes(&user))
        .bind(bytes(&message.0))
        .bind(signed(i as u64))
        .bind(bytes(&entity.0))
        .bind(bytes(&session))
        .bind(said_at)
        .bind(&m.name)
        .bind(m.entity_type.word())
        .bind(m.span.start)
        .bind(m.span.end)
        .bind(m.confidence)
        .bind(&m.description)
        .bind(decision.map(|d| d.score))
        .bind(decision.map(|d| d.reason.as_str()))
        .execute(&mut *c)
        .await?;
    }
    Ok(())
}

/// Inserts a fact or overwrites all its columns.
pub(in super::super) async fn upsert_fact(c: &mut SqliteConnection, user: Uuid, f: &Fact) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO facts (user_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                            valid_from, valid_to, last_support, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (user_id, id) DO UPDATE SET subject_id = excluded.subject_id, relation = excluded.relation,
             object_id = excluded.object_id, support = excluded.support, opposition = excluded.opposition,
             weighed_at = excluded.weighed_at, status = excluded.status, flagged = excluded.flagged,
             valid_from = excluded.valid_from, valid_to = excluded.valid_to, last_support = excluded.last_support,
             created_at = excluded.created_at, updated_at = excluded.updated_at",
    )
    .bind(bytes(&user))
    .bind(bytes(&f.id.0))
    .bind(bytes(&f.subject.0))
    .bind(&f.relation)
    .bind(bytes(&f.object.0))
    .bind(f.support)
    .bind(f.opposition)
    .bind(millis(f.weighed_at))
    .bind(f.status.word())
    .bind(f.flagged)
    .bind(f.valid_from.map(millis))
    .bind(f.valid_to.map(millis))
    .bind(f.last_support.map(millis))
    .bind(millis(f.created_at))
    .bind(millis(f.updated_at))
    .execute(c)
    .await?;
    Ok(())
}

/// Frees the statements (subject, relation, object) of the facts that are about to be written.
///
/// When a merge is undone, one fact may get the statement that another still has, in any order.
async fn release_statements(c: &mut SqliteConnection, user: Uuid, facts: &[Fact]) -> Result<(), Failure> {
    sqlx::query("UPDATE facts SET relation = hex(id) WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
        .bind(bytes(&user))
        .bind(id_list(facts.iter().map(|f| &f.id.0)))
        .execute(c)
        .await?;
    Ok(())
}

/// Inserts evidence. Existing evidence stays unchanged: a message counts once, however often it is delivered.
async fn insert_evidence(c: &mut SqliteConnection, user: Uuid, e: &Evidence) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO evidence (user_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, fact_id, message_id, stance) DO NOTHING",
    )
    .bind(bytes(&user))
    .bind(bytes(&e.fact.0))
    .bind(bytes(&e.message.0))
    .bind(e.stance.word())
    .bind(bytes(&e.session.0))
    .bind(e.confidence)
    .bind(e.span.map(|s| s.start))
    .bind(e.span.map(|s| s.end))
    .bind(e.excerpt.as_str())
    .bind(millis(e.created_at))
    .execute(c)
    .await?;
    Ok(())
}

/// Merges a fact into another and deletes it.
///
/// Its evidence moves, except for what the other fact already has. This frees its statement (subject, relation, object) for the
/// facts that are written next.
async fn move_evidence(c: &mut SqliteConnection, user: Uuid, gone: FactId, into: FactId, plan: &KnowledgeCommit) -> Result<(), Failure> {
    let exists = sqlx::query("SELECT 1 FROM facts WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&into.0));
    if exists.fetch_optional(&mut *c).await?.is_none() {
        // The target is created by this same plan.
        let new = plan.facts.iter().find(|f| f.id == into).ok_or(Failure::NotFound)?;
        upsert_fact(c, user, new).await?;
    }
    sqlx::query("UPDATE OR IGNORE evidence SET fact_id = ?3 WHERE user_id = ?1 AND fact_id = ?2")
        .bind(bytes(&user))
        .bind(bytes(&gone.0))
        .bind(bytes(&into.0))
        .execute(&mut *c)
        .await?;
    sqlx::query("DELETE FROM facts WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&gone.0)).execute(c).await?;
    Ok(())
}
