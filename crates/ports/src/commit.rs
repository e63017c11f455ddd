//! What changes knowledge: one plan, committed whole or not at all, and the record from which a merge can be undone.

use std::collections::HashSet;

use super::{JobWork, StoreError};
use recall_domain::{
    Decision, Entity, EntityId, EntityKey, EventDraft, Evidence, Fact, FactId, Mention, MessageId, MessageKind, SessionId, Stance,
    Timestamp,
};

/// A message with what was found in it: its kind and the things it mentions, in order.
pub type ProcessedMessage = (MessageId, MessageKind, Vec<(EntityId, Mention)>);

/// What one message, or one change by the user, does to the knowledge of one user. Committed whole or not at all.
#[derive(Clone, Debug)]
pub struct KnowledgeCommit {
    /// The knowledge version the plan was made from; another one in the store makes it stale.
    pub version: u64,
    /// The session whose log gets the events.
    pub session: SessionId,
    /// The message behind it: its kind, mentions and new status are written. `None` for a change that no message caused.
    pub message: Option<ProcessedMessage>,
    /// New or changed entities, whole.
    pub entities: Vec<Entity>,
    /// Why each mention of the message means what it means, in the order of its mentions; empty when nobody decided.
    pub decisions: Vec<Decision>,
    /// Keys that find an entity, added to those it has.
    pub keys: Vec<(EntityId, EntityKey)>,
    /// Parts of names that find an entity only on further evidence, added to those it has.
    pub hints: Vec<(EntityId, String)>,
    /// New or changed facts, whole.
    pub facts: Vec<Fact>,
    /// New evidence. A (fact, message, stance) that is there already is left alone.
    pub evidence: Vec<Evidence>,
    /// Entities that were merged away into another: their facts, mentions, evidence and keys have moved (facts by `facts` and `dropped_facts`).
    pub merged: Vec<(EntityId, EntityId)>,
    /// Why, for the record from which a merge can be undone.
    pub merge_decision: Option<Decision>,
    /// Merges that are undone: who was gone is among `entities` again, and gets back keys, hints and mentions.
    pub unmerged: Vec<Unmerge>,
    /// Facts that were merged into another one: their evidence moves to it.
    pub dropped_facts: Vec<(FactId, FactId)>,
    /// Facts that go with their evidence, before anything else is written.
    pub deleted_facts: Vec<FactId>,
    /// Evidence that goes, after everything else was written.
    pub dropped_evidence: Vec<(FactId, MessageId, Stance)>,
    /// Events in order.
    pub events: Vec<EventDraft>,
    /// Work to be queued, in the same transaction.
    pub follow_up: Option<JobWork>,
    /// Now.
    pub now: Timestamp,
}

/// A merge to be undone.
#[derive(Clone, Debug)]
pub struct Unmerge {
    /// Who was merged away.
    pub gone: EntityId,
    /// Who holds its place.
    pub from: EntityId,
    /// All mentions that are to mean the one that was gone: message and place in it.
    pub mentions: Vec<(MessageId, u32)>,
}

/// What two entities, their facts and mentions were before they were made one.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeRecord {
    /// The one that went, as it was.
    pub gone: Entity,
    /// The one that stayed, as it was.
    pub before: Entity,
    /// What that became by the merge.
    pub after: Entity,
    /// Who holds the place of the one that went now: the one that stayed, unless that was merged on.
    pub holder: EntityId,
    /// When.
    pub merged_at: Timestamp,
    /// Why.
    pub decision: Decision,
    /// Every fact that the merge changed, as it was.
    pub facts: Vec<Fact>,
    /// Their evidence, as far as its messages are still there.
    pub evidence: Vec<Evidence>,
    /// Mentions of the one that went: message and place in it.
    pub mentions: Vec<(MessageId, u32)>,
    /// Messages stored since that mention or state anything.
    pub since: HashSet<MessageId>,
}

/// One entity that was merged away and can come back.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// Its id.
    pub entity: EntityId,
    /// Its name.
    pub name: String,
    /// When.
    pub merged_at: Timestamp,
    /// Why.
    pub decision: Decision,
}

impl KnowledgeCommit {
    /// A plan that changes nothing.
    pub fn empty(version: u64, session: SessionId, now: Timestamp) -> Self {
        Self {
            version,
            session,
            message: None,
            entities: Vec::new(),
            decisions: Vec::new(),
            keys: Vec::new(),
            hints: Vec::new(),
            facts: Vec::new(),
            evidence: Vec::new(),
            merged: Vec::new(),
            merge_decision: None,
            unmerged: Vec::new(),
            dropped_facts: Vec::new(),
            deleted_facts: Vec::new(),
            dropped_evidence: Vec::new(),
            events: Vec::new(),
            follow_up: None,
            now,
        }
    }
}

/// Why a commit was refused.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The knowledge changed since it was read: read again and decide anew.
    #[error("the plan is stale")]
    Stale,
    /// The job is not held by this claim any more, or was done before. Nothing was written and nothing is to be done.
    #[error("the job is no longer ours")]
    NotOurs,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
