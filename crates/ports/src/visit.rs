//! Stores visits.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Adopted, Adoption, Caller, EntityId, Timestamp, TokenDigest, Visit, VisitLimits};

/// Stores visits, found by the digest of their secret. Like those for logins, these functions return the owner of a visit.
///
/// The transaction that stores a message or session of a visitor also deducts it from the visit's limits. If nothing is left, or the
/// visit has ended, it fails with [`StoreError::QuotaUsed`]. The first message makes the visit non-empty.
#[async_trait]
pub trait VisitStore: Send + Sync {
    /// Stores a new visit of a new user. Returns false if all visits are in use.
    ///
    /// At the limit it evicts the least recently used empty visit: from the same address if that one is at its limit, otherwise from any.
    async fn begin_visit(&self, caller: &Caller, visit: &Visit, room: &VisitLimits) -> Result<bool, StoreError>;
    /// Returns an active visit and its owner.
    async fn visit(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, StoreError>;
    /// Records a use at `now`: the visit ends no earlier than `ends_at`, or `empty_until` while it is empty. An ended visit stays ended.
    async fn use_visit(&self, digest: TokenDigest, now: Timestamp, ends_at: Timestamp, empty_until: Timestamp) -> Result<(), StoreError>;
    /// Returns the owners of ended visits, whose data must be deleted.
    async fn ended_visits(&self, now: Timestamp, limit: u32) -> Result<Vec<Caller>, StoreError>;
    /// Moves all data of a visit to an account; `None` if the visit does not exist (any more).
    ///
    /// It moves sessions with messages, logs and jobs, entities, facts with evidence, and recorded merges. All ids stay the same. The same
    /// transaction ends the visit, deletes the visitor's jobs and begins the deletion of the visitor. So nothing is duplicated or lost.
    async fn adopt(&self, account: &Caller, digest: TokenDigest, now: Timestamp) -> Result<Option<Adoption>, StoreError>;
    /// Returns adopted entities that must still be compared with the account's entities, the visitor first.
    async fn adopted(&self, caller: &Caller, limit: u32) -> Result<Vec<Adopted>, StoreError>;
    /// Records that the comparison is done for an entity.
    async fn settle_adopted(&self, caller: &Caller, entity: EntityId) -> Result<(), StoreError>;
    /// Returns the accounts with such entities.
    async fn unsettled_adoptions(&self, limit: u32) -> Result<Vec<Caller>, StoreError>;
}
