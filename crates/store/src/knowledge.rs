//! Commits one plan or one answer in one transaction. Only this file changes knowledge.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;

use super::{
    MergeStatements, MessageStatements, PendingMessage, Refusal, append_events, documents, enqueue, jobs,
    merge::{self, Side},
    messages, reject_while_locked,
};
use recall_domain::{
    Caller, Citation, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind, SessionId,
    Stance, UserId,
};
use recall_ports::{AnswerCommit, AnsweredQuestion, Claim, KnowledgeCommit, KnowledgeReads, MessagePlanner, NewMessage};

/// A transaction that has planned messages for this long takes no more of them: other writes of the user wait for it.
const BATCH_TIME: Duration = Duration::from_millis(10);

/// Statements on entities, facts, evidence and mentions.
#[async_trait]
pub trait KnowledgeStatements: MessageStatements + MergeStatements {
    /// Checks that a session exists, and keeps others from numbering its events until the transaction ends. Returns false if it is
    /// unknown or being deleted.
    async fn lock_session(&mut self, user: UserId, session: SessionId) -> Result<bool, Self::Error>;
    /// The reads of a plan, in this transaction.
    fn reads(&mut self, user: UserId) -> Box<dyn KnowledgeReads + '_>;
    /// Counts one more commit. Returns false, and counts nothing, if `version` is not the current one or the user is locked.
    async fn advance_knowledge(&mut self, user: UserId, version: u64) -> Result<bool, Self::Error>;
    /// Returns whether a message of a session is remembered; `None` if the session has no such message.
    async fn is_remembered(&mut self, user: UserId, message: MessageId, session: SessionId) -> Result<Option<bool>, Self::Error>;

    /// Whether one of the messages, at least one, is hidden because it was forgotten.
    async fn any_hidden(&mut self, user: UserId, messages: &[MessageId]) -> Result<bool, Self::Error>;

    /// Inserts entities or overwrites all their columns.
    async fn upsert_entities(&mut self, user: UserId, entities: &[Entity]) -> Result<(), Self::Error>;
    /// Records that an entity is not the user's own.
    async fn clear_viewer_mark(&mut self, user: UserId, entity: EntityId) -> Result<(), Self::Error>;
    /// Adds keys to entities, unless they have them.
    async fn insert_keys(&mut self, user: UserId, keys: &[(EntityId, EntityKey)]) -> Result<(), Self::Error>;
    /// Adds hints to entities, unless they have them.
    async fn insert_hints(&mut self, user: UserId, hints: &[(EntityId, String)]) -> Result<(), Self::Error>;

    /// Whether a fact exists.
    async fn fact_exists(&mut self, user: UserId, fact: FactId) -> Result<bool, Self::Error>;
    /// Inserts facts or overwrites all their columns.
    async fn upsert_facts(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Self::Error>;
    /// Deletes facts with their evidence.
    async fn delete_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Self::Error>;
    /// Frees the statements (subject, relation, object) of facts that are about to be written.
    async fn release_statements(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Self::Error>;

    /// Inserts evidence. Existing evidence stays unchanged: a message counts once, however often it is delivered.
    async fn insert_evidence(&mut self, user: UserId, evidence: &[Evidence]) -> Result<(), Self::Error>;
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

/// Plans messages of one session and commits the plans. With a claim it also ends their jobs; see
/// [`KnowledgeStore::learn`](recall_ports::KnowledgeStore::learn).
///
/// Each plan sees what the one before it has written, so the result is the same as with a transaction for each.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid; see [`commit_plan`] for the others.
pub async fn learn<T: KnowledgeStatements>(
    tx: &mut T,
    caller: &Caller,
    messages: &[Arc<dyn MessagePlanner>],
    claim: Option<&Claim>,
) -> Result<Vec<Vec<Fact>>, T::Error> {
    let (user, started) = (caller.user(), Instant::now());
    let jobs = match (claim, messages.first()) {
        (Some(claim), _) => jobs::held_jobs(tx, user, claim, messages.len()).await?,
        (None, Some(first)) if tx.lock_session(user, first.session()).await? => Vec::new(),
        (None, _) => return Err(Refusal::NotFound.into()),
    };
    let mut learned = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        let job = jobs.get(i);
        let is_next = claim.is_none() || job.is_some_and(|job| job.message == message.message());
        if !is_next || (i > 0 && started.elapsed() > BATCH_TIME) {
            break;
        }
        let mut plan = message.plan(tx.reads(user).as_mut()).await?;
        plan.follow_up = plan.follow_up.filter(|_| job.is_none_or(|job| job.answer));
        write_plan(tx, caller, &plan).await?;
        if let Some(job) = job {
            tx.delete_job(job).await?;
        }
        learned.push(plan);
    }
    let last = learned.last().ok_or(Refusal::NotOurs)?;
    if let Some(message) = messages.first()
        && let Some(event) = message.chunk_event()
    {
        let count = u32::try_from(learned.len()).unwrap_or(u32::MAX);
        documents::count_understood(tx, user, message.session(), count, (event, last.now)).await?;
    }
    if let Some(job) = jobs.first() {
        tx.promote_next(job, last.now).await?;
    }
    Ok(learned.into_iter().map(|plan| plan.facts).collect())
}

/// Stores a message and commits what it states. Returns the changed facts.
///
/// # Errors
/// See [`commit_plan`] and [`append_messages`](super::append_messages).
pub async fn append_and_learn<T: KnowledgeStatements>(
    tx: &mut T,
    caller: &Caller,
    message: &NewMessage,
    planner: &Arc<dyn MessagePlanner>,
) -> Result<Vec<Fact>, T::Error> {
    messages::append_messages(tx, caller, message.session, std::slice::from_ref(message)).await?;
    Ok(learn(tx, caller, std::slice::from_ref(planner), None).await?.pop().unwrap_or_default())
}

/// Commits a plan. Returns the numbers of its events.
///
/// # Errors
/// `NotFound` if the session or a row that the plan names is unknown, `Stale` if the knowledge changed since the plan was made,
/// `BeingErased` or `BeingImported` if the user is locked.
pub async fn commit_plan<T: KnowledgeStatements>(tx: &mut T, caller: &Caller, plan: &KnowledgeCommit) -> Result<Vec<u64>, T::Error> {
    if !tx.lock_session(caller.user(), plan.session).await? {
        return Err(Refusal::NotFound.into());
    }
    write_plan(tx, caller, plan).await
}

async fn write_plan<T: KnowledgeStatements>(tx: &mut T, caller: &Caller, plan: &KnowledgeCommit) -> Result<Vec<u64>, T::Error> {
    let user = caller.user();
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
    if !plan.entities.is_empty() {
        tx.upsert_entities(user, &plan.entities).await?;
    }
    for (gone, into) in &plan.merged {
        tx.record_entity(user, *gone, *into, Side::After).await?;
    }
    for unmerge in &plan.unmerged {
        merge::undo(tx, user, unmerge).await?;
    }
    if !plan.keys.is_empty() {
        tx.insert_keys(user, &plan.keys).await?;
    }
    if !plan.hints.is_empty() {
        tx.insert_hints(user, &plan.hints).await?;
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
    if !plan.facts.is_empty() {
        tx.upsert_facts(user, &plan.facts).await?;
    }
    if !plan.evidence.is_empty() {
        tx.insert_evidence(user, &plan.evidence).await?;
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
        tx.upsert_facts(user, std::slice::from_ref(new)).await?;
    }
    tx.move_evidence(user, gone, into).await?;
    tx.delete_facts(user, &[gone]).await
}

/// Stores an answer and ends its job.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid, `NotFound` if the question is unknown or in another session, `Stale` if a source was
/// forgotten meanwhile.
pub async fn commit_answer<T: KnowledgeStatements>(
    tx: &mut T,
    caller: &Caller,
    answer: &AnswerCommit,
    claim: &Claim,
) -> Result<Message, T::Error> {
    let user = caller.user();
    let held = jobs::held_job(tx, user, claim).await?;
    let AnswerCommit { message, events } = answer;
    let answers = message.answers.as_ref().ok_or(Refusal::Unstorable("an answer without a question"))?;
    let (session, now) = (message.session, message.created_at);
    // The question must be in the same session, because the messages of a session are deleted together.
    let may_be_remembered = tx.is_remembered(user, answers.question, session).await?.ok_or(Refusal::NotFound)?;
    reject_forgotten_sources(tx, user, answers).await?;
    let new = PendingMessage { message, may_be_remembered };
    let stored = messages::store(tx, caller, session, &[new]).await?.pop().ok_or(Refusal::NotFound)?;
    append_events(tx, user, session, events, now).await?;
    jobs::finish(tx, &held, now).await?;
    Ok(stored)
}

/// Refuses an answer that cites what was forgotten while it was made. The job is retried.
async fn reject_forgotten_sources<T: KnowledgeStatements>(tx: &mut T, user: UserId, answer: &AnsweredQuestion) -> Result<(), T::Error> {
    let own = || answer.citations.iter().chain(&answer.nearest).filter(|c| !c.shared);
    let cited = |c: &Citation| c.message_id.or(c.chunk.as_ref().map(|chunk| chunk.chunk_id));
    let messages: Vec<MessageId> = own().filter_map(cited).collect();
    let mut forgotten = !messages.is_empty() && tx.any_hidden(user, &messages).await?;
    for fact in own().filter_map(|c| c.fact_id) {
        forgotten = forgotten || !tx.fact_exists(user, fact).await?;
    }
    if forgotten { Err(Refusal::Stale.into()) } else { Ok(()) }
}
