//! Forgets facts and messages, and undoes that for a while.
//!
//! A forgetting is one transaction: it hides messages, and moves facts, evidence and mentions into a record. So no statement can find
//! them. Undoing moves them back. After the time for that, the messages and the record are deleted for good.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{CommitError, StoreError};
use recall_domain::{
    Caller, Decision, Entity, EntityId, EventDraft, Evidence, Fact, FactId, ForgettingId, Mention, MessageId, SessionId, Timestamp,
    UserText,
};

/// Everything that one forgetting changes. Committed as a whole or not at all.
#[derive(Clone, Debug)]
pub struct ForgetPlan {
    /// Fresh id.
    pub id: ForgettingId,
    /// The knowledge version on which the plan is based. If the store has another one, the plan is stale.
    pub version: u64,
    /// Now.
    pub now: Timestamp,
    /// Until when it can be undone.
    pub until: Timestamp,
    /// Messages that vanish.
    pub hidden: Vec<MessageId>,
    /// Messages that stay as evidence for other facts, without their text.
    pub redacted: Vec<MessageId>,
    /// Entities on either side of the facts for which a redacted message stays evidence. Its other mentions vanish.
    pub kept_mentions: Vec<(MessageId, EntityId)>,
    /// Titles that were made from these messages.
    pub titles: Vec<ReplacedTitle>,
    /// The changes of the knowledge.
    pub knowledge: ForgottenKnowledge,
    /// The sessions whose logs contain what is forgotten, each with its new events. Older events of these logs are deleted.
    pub events: Vec<(SessionId, Vec<EventDraft>)>,
}

/// The knowledge that a forgetting removes or changes, as it was before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForgottenKnowledge {
    /// Deleted facts.
    pub facts: Vec<Fact>,
    /// Re-weighed facts, before and after.
    pub changed: Vec<(Fact, Fact)>,
    /// Deleted evidence, which includes all evidence of the deleted facts.
    pub evidence: Vec<Evidence>,
    /// Evidence that loses its excerpt.
    pub excerpts: Vec<Evidence>,
}

/// The title of a session that was made from a forgotten message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplacedTitle {
    /// The session.
    pub session: SessionId,
    /// The title that quotes the message.
    pub before: UserText,
    /// The title that replaces it.
    pub after: Option<UserText>,
}

/// A deleted mention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForgottenMention {
    /// Its message.
    pub message: MessageId,
    /// Its position in the message.
    pub ordinal: u32,
    /// The entity.
    pub entity: EntityId,
    /// The mention.
    pub mention: Mention,
    /// Why it means the entity.
    pub decision: Option<Decision>,
}

/// A forgetting that can still be undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Forgetting {
    /// Its id.
    pub id: ForgettingId,
    /// Until when it can be undone.
    pub until: Timestamp,
    /// The messages that it hid or redacted, as far as their sessions still exist.
    pub messages: Vec<(MessageId, SessionId)>,
    /// The knowledge that it removed or changed.
    pub knowledge: ForgottenKnowledge,
}

/// Everything that undoing a forgetting changes. Committed as a whole or not at all.
#[derive(Clone, Debug)]
pub struct RestorePlan {
    /// The forgetting.
    pub id: ForgettingId,
    /// The knowledge version on which the plan is based.
    pub version: u64,
    /// Now.
    pub now: Timestamp,
    /// Facts to write.
    pub facts: Vec<Fact>,
    /// Evidence to insert.
    pub evidence: Vec<Evidence>,
    /// Evidence whose excerpt returns.
    pub excerpts: Vec<Evidence>,
    /// The sessions concerned, each with its new events.
    pub events: Vec<(SessionId, Vec<EventDraft>)>,
}

/// Forgets, restores, and deletes for good.
#[async_trait]
pub trait ForgetStore: Send + Sync {
    /// Commits a forgetting in ONE transaction. Jobs of its messages end.
    async fn forget(&self, caller: &Caller, plan: &ForgetPlan) -> Result<(), CommitError>;
    /// Returns a forgetting; `None` if it is unknown or already deleted for good.
    async fn forgetting(&self, caller: &Caller, id: ForgettingId) -> Result<Option<Forgetting>, StoreError>;
    /// Returns entities by id, forgotten ones too, as undoing brings them back. For a merged id it returns the surviving entity.
    async fn entities_to_restore(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError>;
    /// Undoes a forgetting in ONE transaction. Messages that were not processed are queued again.
    async fn restore_forgotten(&self, caller: &Caller, plan: &RestorePlan) -> Result<(), CommitError>;
    /// Deletes what was forgotten for good. Does nothing if it was undone.
    async fn purge_forgotten(&self, caller: &Caller, id: ForgettingId, now: Timestamp) -> Result<(), StoreError>;
    /// Returns up to `limit` forgettings of all users that can no longer be undone. Like the job queue, it creates callers.
    async fn expired_forgettings(&self, now: Timestamp, limit: u32) -> Result<Vec<(Caller, ForgettingId)>, StoreError>;
    /// Returns up to `limit` answers that cite one of the messages or facts.
    async fn answers_citing(
        &self,
        caller: &Caller,
        messages: &[MessageId],
        facts: &[FactId],
        limit: u32,
    ) -> Result<Vec<MessageId>, StoreError>;
}
