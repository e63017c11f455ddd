//! Commits one plan or one answer in one transaction. Only this file changes knowledge.

use async_trait::async_trait;

use super::{
    MergeStatements, MessageStatements, PendingMessage, Refusal, append_events, enqueue, jobs,
    merge::{self, Side},
    messages, reject_while_locked,
};
use recall_domain::{
    Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind, SessionId, Stance,
    UserId,
};
use recall_ports::{AnswerCommit, Claim, KnowledgeCommit};

/// Statements on entities, facts, evidence and mentions.
#[async_trait]
pub trait KnowledgeStatements: MessageStatements + MergeStatements {
    /// Checks that a session exists, and keeps others from numbering its events until the transaction ends. Returns false if it is
    /// unknown or being deleted.
    async fn lock_session(&mut self, user: UserId, session: SessionId) -> Result<bool, Self::Error>;
    /// Counts one more commit. Returns false, and counts nothing, if `version` is not the current one or the user is locked.
    async fn advance_knowledge(&mut self, user: UserId, version: u64) -> Result<bool, Self::Error>;
    /// Whether a message is in a session.
    async fn is_in_session(&mut self, user: UserId, message: MessageId, session: SessionId) -> Result<bool, Self::Error>;

    /// Inserts an entity or overwrites all its columns.
    async fn upsert_entity(&mut self, user: UserId, entity: &Entity) -> Result<(), Self::Error>;
    /// Records that an entity is not the user's own.
    async fn clear_viewer_mark(&mut self, user: UserId, entity: EntityId) -> Result<(), Self::Error>;
    /// Adds a key to an entity, unless another entity has it.
    async fn insert_key(&mut self, user: UserId, entity: EntityId, key: &EntityKey) -> Result<(), Self::Error>;
    /// Adds a hint to an entity.
    async fn insert_hint(&mut self, user: UserId, entity: EntityId, hint: &str) -> Result<(), Self::Error>;

    /// Whether a fact exists.
    async fn fact_exists(&mut self, user: UserId, fact: FactId) -> Result<bool, Self::Error>;
    /// Inserts a fact or overwrites all its columns.
    async fn upsert_fact(&mut self, user: UserId, fact: &Fact) -> Result<(), Self::Error>;
    /// Deletes facts with their evidence.
    async fn delete_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Self::Error>;
    /// Frees the statements (subject, relation, object) of facts that are about to be written.
    async fn release_statements(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Self::Error>;

    /// Inserts evidence. Existing evidence stays unchanged: a message counts once, however often it is delivered.
    async fn insert_evidence(&mut self, user: UserId, evidence: &Evidence) -> Result<(), Self::Error>;
    /// Moves evidence to another fact, except for what that fact already has.
    async fn move_evidence(&mut self, user: UserId, from: FactId, to: FactId) -> Result<(), Self::Error>;
    /// Deletes one piece of evidence.
    async fn delete_evidence(&mut self, user: UserId, fact: FactId, message: MessageId, stance: Stance) -> Result<(), Self::Error>;

    /// Records the kind of a message, marks it as processed, and replaces its mentions; each may have a decision. Returns false if the
    /// message is unknown.
    async fn record_extraction(
        &mut self,
        user: UserId,
        message: MessageId,
        kind: MessageKind,
        mentions: &[(EntityId, Mention)],
        decisions: &[Decision],
    ) -> Result<bool, Self::Error>;
}

/// Commits a plan and, with a claim, the end of its job. Returns the numbers of its events.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid, `NotFound` if the session or a row that the plan names is unknown, `Stale` if the
/// knowledge changed since the plan was made, `BeingErased` or `BeingImported` if the user is locked.
pub async fn commit_plan<T: KnowledgeStatements>(
    tx: &mut T,
    caller: &Caller,
    plan: &KnowledgeCommit,
    claim: Option<&Claim>,
) -> Result<Vec<u64>, T::Error> {
    let user = caller.user();
    // Checked first: a worker that lost its lease must stop, not read again and retry.
    let held = match claim {
        Some(claim) => Some(jobs::held_job(tx, user, claim).await?),
        None => None,
    };
    if !tx.lock_session(user, plan.session).await? {
        return Err(Refusal::NotFound.into());
    }
    if !tx.advance_knowledge(user, plan.version).await? {
        reject_while_locked(tx, user).await?;
        return Err(Refusal::Stale.into());
    }

    write_entities(tx, user, plan).await?;
    write_facts(tx, user, plan).await?;
    // Merged entities are deleted last, when nothing references them any more.
    for (gone, into) in &plan.merged {
        tx.move_entity_rows(user, *gone, *into).await?;
        tx.redirect_entity(user, *gone, *into).await?;
        tx.delete_entity(user, *gone).await?;
    }

    let seqs = append_events(tx, user, plan.session, &plan.events, plan.now).await?;
    if let Some(work) = plan.follow_up {
        enqueue(tx, caller, plan.session, &[(work, plan.now)]).await?;
    }
    if let Some(held) = &held {
        jobs::finish(tx, held, plan.now).await?;
    }
    Ok(seqs)
}

/// Writes the entities of a plan, their keys and hints, and what was found in the message.
///
/// Also records merges before they change anything, and undoes earlier merges.
async fn write_entities<T: KnowledgeStatements>(tx: &mut T, user: UserId, plan: &KnowledgeCommit) -> Result<(), T::Error> {
    for (gone, into) in &plan.merged {
        merge::record(tx, user, *gone, *into, plan).await?;
    }
    if !plan.deleted_facts.is_empty() {
        tx.delete_facts(user, &plan.deleted_facts).await?;
    }
    for (gone, _) in &plan.merged {
        // A user has only one viewer entity, and the entity that stays is written next.
        tx.clear_viewer_mark(user, *gone).await?;
    }
    for entity in &plan.entities {
        tx.upsert_entity(user, entity).await?;
    }
    for (gone, into) in &plan.merged {
        tx.record_entity(user, *gone, *into, Side::After).await?;
    }
    for unmerge in &plan.unmerged {
        merge::undo(tx, user, unmerge).await?;
    }
    for (entity, key) in &plan.keys {
        tx.insert_key(user, *entity, key).await?;
    }
    for (entity, hint) in &plan.hints {
        tx.insert_hint(user, *entity, hint).await?;
    }
    if let Some((message, kind, mentions)) = &plan.message
        && !tx.record_extraction(user, *message, *kind, mentions, &plan.decisions).await?
    {
        return Err(Refusal::NotFound.into());
    }
    Ok(())
}

/// Writes the facts and the evidence of a plan, and removes those that it drops.
async fn write_facts<T: KnowledgeStatements>(tx: &mut T, user: UserId, plan: &KnowledgeCommit) -> Result<(), T::Error> {
    for (gone, into) in &plan.dropped_facts {
        join_facts(tx, user, *gone, *into, plan).await?;
    }
    if !plan.unmerged.is_empty() {
        // When a merge is undone, one fact may get the statement that another still has, in any order.
        tx.release_statements(user, &plan.facts).await?;
    }
    for fact in &plan.facts {
        tx.upsert_fact(user, fact).await?;
    }
    for evidence in &plan.evidence {
        tx.insert_evidence(user, evidence).await?;
    }
    for (fact, message, stance) in &plan.dropped_evidence {
        tx.delete_evidence(user, *fact, *message, *stance).await?;
    }
    Ok(())
}

/// Merges a fact into another and deletes it.
///
/// This frees its statement (subject, relation, object) for the facts that are written next.
async fn join_facts<T: KnowledgeStatements>(
    tx: &mut T,
    user: UserId,
    gone: FactId,
    into: FactId,
    plan: &KnowledgeCommit,
) -> Result<(), T::Error> {
    if !tx.fact_exists(user, into).await? {
        // The target is created by this same plan.
        let new = plan.facts.iter().find(|f| f.id == into).ok_or(Refusal::NotFound)?;
        tx.upsert_fact(user, new).await?;
    }
    tx.move_evidence(user, gone, into).await?;
    tx.delete_facts(user, &[gone]).await
}

/// Stores an answer and ends its job.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid, `NotFound` if the question is unknown or in another session.
pub async fn commit_answer<T: KnowledgeStatements>(
    tx: &mut T,
    caller: &Caller,
    answer: &AnswerCommit,
    claim: &Claim,
) -> Result<Message, T::Error> {
    let user = caller.user();
    let held = jobs::held_job(tx, user, claim).await?;
    let AnswerCommit { message, answer_to, citations, events } = answer;
    let (session, now) = (message.session, message.created_at);
    // The question must be in the same session, because the messages of a session are deleted together.
    if !tx.is_in_session(user, *answer_to, session).await? {
        return Err(Refusal::NotFound.into());
    }
    let new = PendingMessage { message, answer_to: Some(*answer_to), citations };
    let stored = messages::store(tx, caller, session, &[new]).await?.pop().ok_or(Refusal::NotFound)?;
    append_events(tx, user, session, events, now).await?;
    jobs::finish(tx, &held, now).await?;
    Ok(stored)
}
