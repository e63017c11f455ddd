//! Decides what becomes of the facts that lose evidence with a session.
//!
//! The caller's function re-weighs the facts between a read snapshot and the write transaction. The transaction then checks that no
//! knowledge was committed meanwhile. If some was, the facts are re-weighed again. So the caller's function blocks no other writer.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;

use super::Refusal;
use recall_domain::{EntityId, Evidence, Fact, FactId, MessageId, SessionId, Stance, Timestamp, UserId};
use recall_ports::{Reweigh, SessionDeletionStep, StoreError};

/// Attempts before a deletion fails as transient. An attempt fails if a commit of the same user comes between its read and its write.
const ATTEMPTS: u32 = 20;

/// A session to delete.
#[derive(Clone, Copy, Debug)]
pub struct SessionDeletion {
    /// Its owner.
    pub user: UserId,
    /// The session.
    pub session: SessionId,
    /// How much of it to delete.
    pub extent: DeletionExtent,
}

/// How much of a session one transaction deletes.
#[derive(Clone, Copy, Debug)]
pub enum DeletionExtent {
    /// All of it, unless somebody wrote in it since a moment.
    Whole {
        /// The moment.
        unused_since: Option<Timestamp>,
        /// When it is deleted.
        now: Timestamp,
    },
    /// Some rows of a hidden session.
    Step {
        /// About how many rows.
        limit: u32,
        /// When the step is made.
        now: Timestamp,
    },
}

/// The key of an evidence row.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceKey {
    /// Its fact.
    pub fact: FactId,
    /// Its message.
    pub message: MessageId,
    /// Its effect on the fact.
    pub stance: Stance,
}

/// The facts that a deletion affects, read in one snapshot.
#[derive(Debug)]
pub struct AffectedFacts {
    /// The knowledge version of the snapshot.
    version: u64,
    /// The evidence rows that a step deletes. Empty if the whole session is deleted, and with it all of its evidence.
    rows: Vec<EvidenceKey>,
    /// The facts that lose their last evidence from the session.
    facts: Vec<Fact>,
    /// Their evidence from other sessions; that of one fact in a row, oldest first.
    elsewhere: Vec<Evidence>,
}

/// What becomes of the affected facts, and the knowledge version it is based on.
#[derive(Clone, Debug)]
pub struct Reweighed {
    pub(super) version: u64,
    pub(super) rows: Vec<EvidenceKey>,
    pub(super) changed: Vec<Fact>,
    pub(super) gone: Vec<FactId>,
    /// Subjects and objects of all affected facts.
    pub(super) entities: Vec<EntityId>,
}

/// The statements of the snapshot.
#[async_trait]
pub trait ReweighingReads: Send {
    /// The engine's failures.
    type Error: Send;

    /// The knowledge version of a user; 0 for a user who never wrote.
    async fn knowledge_version(&mut self, user: UserId) -> Result<u64, Self::Error>;
    /// Returns the first evidence rows from a session, ordered by fact.
    async fn evidence_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<EvidenceKey>, Self::Error>;
    /// Returns all facts with evidence from a session.
    async fn facts_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<Fact>, Self::Error>;
    /// Returns facts by id.
    async fn facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<Fact>, Self::Error>;
    /// Returns the evidence of facts from other sessions, ordered by fact, then oldest first.
    async fn evidence_elsewhere(&mut self, user: UserId, session: SessionId, facts: &[FactId]) -> Result<Vec<Evidence>, Self::Error>;
}

/// A store whose snapshots and write transactions take turns.
#[async_trait]
pub trait SessionDeleter: Sync {
    /// Runs [`load_affected_facts`] in one snapshot.
    async fn load_affected(&self, deletion: SessionDeletion) -> Result<AffectedFacts, StoreError>;
    /// Runs [`write_deletion`](super::write_deletion) in a write transaction. `None` if it returns `Stale`.
    async fn write_deletion(&self, deletion: SessionDeletion, reweighed: Reweighed) -> Result<Option<SessionDeletionStep>, StoreError>;
}

/// Deletes a session, or some rows of a hidden one.
///
/// # Errors
/// `NotFound` if the session is unknown, was used, or is not hidden as the extent requires; `BeingErased` or `BeingImported` if the
/// user is locked; `Transient` if other commits came first each time.
pub async fn delete_session<S: SessionDeleter>(
    store: &S,
    deletion: SessionDeletion,
    reweigh: Reweigh<'_>,
) -> Result<SessionDeletionStep, StoreError> {
    for _ in 0..ATTEMPTS {
        let reweighed = store.load_affected(deletion).await?.reweigh(reweigh);
        if let Some(step) = store.write_deletion(deletion, reweighed).await? {
            return Ok(step);
        }
    }
    Err(Refusal::AttemptsExhausted(ATTEMPTS).into())
}

/// Reads the facts that a deletion affects.
///
/// # Errors
/// If a statement fails.
pub async fn load_affected_facts<R: ReweighingReads>(reads: &mut R, deletion: SessionDeletion) -> Result<AffectedFacts, R::Error> {
    let SessionDeletion { user, session, extent } = deletion;
    let version = reads.knowledge_version(user).await?;
    let (rows, facts) = match extent {
        DeletionExtent::Whole { .. } => (Vec::new(), reads.facts_of_session(user, session).await?),
        DeletionExtent::Step { limit, .. } => {
            let mut rows = reads.evidence_of_session(user, session, limit.saturating_add(1)).await?;
            let next = rows.split_off(rows.len().min(limit as usize));
            let mut complete: BTreeSet<FactId> = rows.iter().map(|row| row.fact).collect();
            if let Some(row) = next.first() {
                // This fact has more evidence in the session.
                complete.remove(&row.fact);
            }
            let complete: Vec<_> = complete.into_iter().collect();
            let facts = if complete.is_empty() { Vec::new() } else { reads.facts(user, &complete).await? };
            (rows, facts)
        }
    };
    let ids: Vec<_> = facts.iter().map(|fact| fact.id).collect();
    let elsewhere = if ids.is_empty() { Vec::new() } else { reads.evidence_elsewhere(user, session, &ids).await? };
    Ok(AffectedFacts { version, rows, facts, elsewhere })
}

impl AffectedFacts {
    /// Re-weighs each fact with its remaining evidence.
    fn reweigh(self, reweigh: Reweigh<'_>) -> Reweighed {
        let chunks = self.elsewhere.chunk_by(|a, b| a.fact == b.fact);
        let by_fact: HashMap<FactId, &[Evidence]> = chunks.filter_map(|chunk| Some((chunk.first()?.fact, chunk))).collect();
        let entities = self.facts.iter().flat_map(|fact| [fact.subject, fact.object]).collect();
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for fact in &self.facts {
            match reweigh(fact, by_fact.get(&fact.id).copied().unwrap_or_default()) {
                Some(fact) => changed.push(fact),
                None => gone.push(fact.id),
            }
        }
        Reweighed { version: self.version, rows: self.rows, changed, gone, entities }
    }
}
