//! Where visits are kept: what the secrets in browsers' cookies stand for that came without a login.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Adopted, Adoption, Caller, EntityId, Timestamp, TokenDigest, Visit, VisitLimits};

/// Visits. One is found by the digest of its secret; like logins these functions say whose it is instead of being told.
///
/// A visitor's messages and sessions are taken out of the visit in the transaction that stores them; when none is left, or the
/// visit is over, storing is refused as [`StoreError::QuotaUsed`]. With the first message it is not empty any more.
#[async_trait]
pub trait VisitStore: Send + Sync {
    /// Keeps a new visit of a new user. Where there are as many as there may be, the empty one that was used least lately ends for
    /// it: from the same place if that has too many, else from anywhere. Whether it did; else all of them are in use.
    async fn begin_visit(&self, caller: &Caller, visit: &Visit, room: &VisitLimits) -> Result<bool, StoreError>;
    /// A visit that is not over, and whose it is.
    async fn visit(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, StoreError>;
    /// Notes that it was used `now`: it ends no sooner than `ends_at`, or as long as it is empty `empty_until`. One that is over
    /// stays so.
    async fn use_visit(&self, digest: TokenDigest, now: Timestamp, ends_at: Timestamp, empty_until: Timestamp) -> Result<(), StoreError>;
    /// Whose visits are over; everything of theirs is to be deleted.
    async fn ended_visits(&self, now: Timestamp, limit: u32) -> Result<Vec<Caller>, StoreError>;
    /// Gives everything of a visit to an account: sessions with messages, logs and jobs, entities, facts with their evidence, merges
    /// that can be undone. All keeps its ids. In the same transaction the visit ends, the visitor's jobs go and the deletion of the
    /// visitor begins, so that nothing is there or done twice and nothing is lost. `None` when there is no such visit (any more).
    async fn adopt(&self, account: &Caller, digest: TokenDigest, now: Timestamp) -> Result<Option<Adoption>, StoreError>;
    /// What came from visits and is still to be compared with what the account knows: the visitor first.
    async fn adopted(&self, caller: &Caller, limit: u32) -> Result<Vec<Adopted>, StoreError>;
    /// That was done for one.
    async fn settle_adopted(&self, caller: &Caller, entity: EntityId) -> Result<(), StoreError>;
    /// Whose accounts have such entities.
    async fn unsettled_adoptions(&self, limit: u32) -> Result<Vec<Caller>, StoreError>;
}
