//! Changes of knowledge: a plan that is committed as a whole, and the record for undoing a merge.

use std::collections::HashSet;

use super::{JobWork, StoreError};
use recall_domain::{
    Decision, Entity, EntityId, EntityKey, EventDraft, Evidence, Fact, FactId, Mention, MessageId, MessageKind, SessionId, Stance,
    Timestamp,
};

/// A processed message: its kind and its mentioned entities, in order.
pub type ProcessedMessage = (MessageId, MessageKind, Vec<(EntityId, Mention)>);

/// All changes that one message or manual edit makes to the knowledge of a user. Committed as a whole or not at all.
#[derive(Clone, Debug)]
pub struct KnowledgeCommit {
    /// The knowledge version on which the plan is based. If the store has another one, the plan is stale.
    pub version: u64,
    /// The session whose log gets the events.
    pub session: SessionId,
    /// The message that caused the changes; its kind, mentions and status are written. `None` for a manual change.
    pub message: Option<ProcessedMessage>,
    /// New or changed entities, complete.
    pub entities: Vec<Entity>,
    /// For each mention of the message, why it means its entity. Empty for manual changes.
    pub decisions: Vec<Decision>,
    /// Keys to add to entities.
    pub keys: Vec<(EntityId, EntityKey)>,
    /// Hints to add to entities: parts of names, which need further evidence to match.
    pub hints: Vec<(EntityId, String)>,
    /// New or changed facts, complete.
    pub facts: Vec<Fact>,
    /// New evidence. An existing (fact, message, stance) is not changed.
    pub evidence: Vec<Evidence>,
    /// Merged entities, each with the surviving one. Facts, mentions, evidence and keys move (facts by `facts` and `dropped_facts`).
    pub merged: Vec<(EntityId, EntityId)>,
    /// The reason for the merge, stored in its record.
    pub merge_decision: Option<Decision>,
    /// Merges to undo, and names to separate. The restored entity is in `entities` and gets its keys, hints and mentions.
    pub unmerged: Vec<Unmerge>,
    /// Facts merged into another fact, which gets their evidence.
    pub dropped_facts: Vec<(FactId, FactId)>,
    /// Facts to delete with their evidence, before anything else is written.
    pub deleted_facts: Vec<FactId>,
    /// Evidence to delete, after everything else is written.
    pub dropped_evidence: Vec<(FactId, MessageId, Stance)>,
    /// Events in order.
    pub events: Vec<EventDraft>,
    /// A job to queue in the same transaction.
    pub follow_up: Option<JobWork>,
    /// Now.
    pub now: Timestamp,
}

/// A merge to undo, or a name to separate.
#[derive(Clone, Debug)]
pub struct Unmerge {
    /// The merged entity, or a new one for what was said under a name.
    pub gone: EntityId,
    /// The surviving entity.
    pub from: EntityId,
    /// All mentions that move to the restored entity: message and position.
    pub mentions: Vec<(MessageId, u32)>,
    /// Which names the surviving entity loses.
    pub names: LostNames,
}

/// The names that an entity loses when another one is separated from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostNames {
    /// Those in the record of the merge. The restored entity gets them back, and the record is deleted.
    Recorded,
    /// These. There is no record of them, so `keys` and `hints` of the plan name those of the other entity.
    Given {
        /// Keys that no other name of it has.
        keys: Vec<EntityKey>,
        /// Hints that no other name of it has.
        hints: Vec<String>,
    },
}

/// The state of two entities, their facts and mentions before their merge.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeRecord {
    /// The merged entity, before the merge.
    pub gone: Entity,
    /// The surviving entity, before the merge.
    pub before: Entity,
    /// The surviving entity, after the merge.
    pub after: Entity,
    /// The entity that has the merged one's place now: the surviving one, unless that was merged too.
    pub holder: EntityId,
    /// Time of the merge.
    pub merged_at: Timestamp,
    /// The reason.
    pub decision: Decision,
    /// The facts that the merge changed, before the merge.
    pub facts: Vec<Fact>,
    /// Their evidence, as far as its messages still exist.
    pub evidence: Vec<Evidence>,
    /// Mentions of the merged entity: message and position.
    pub mentions: Vec<(MessageId, u32)>,
    /// Later messages with mentions or facts.
    pub since: HashSet<MessageId>,
}

/// A merged entity that can be restored.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// Its id.
    pub entity: EntityId,
    /// Its name.
    pub name: String,
    /// Time of the merge.
    pub merged_at: Timestamp,
    /// The reason.
    pub decision: Decision,
}

impl KnowledgeCommit {
    /// Creates a plan without changes.
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
    /// The knowledge changed since it was read; read again and make a new plan.
    #[error("the plan is stale")]
    Stale,
    /// The claim was lost, or the job was already done. Nothing was written, and the caller has nothing left to do.
    #[error("the job is no longer ours")]
    NotOurs,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
