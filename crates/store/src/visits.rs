//! Limits the number of visits.

use async_trait::async_trait;

use super::Transaction;
use recall_domain::{Timestamp, UserId, Visit, VisitLimits};

/// Statements on `visits`.
#[async_trait]
pub trait VisitStatements: Transaction {
    /// Counts the active visits from one address, or all of them.
    async fn count_visits(&mut self, now: Timestamp, origin: Option<&str>) -> Result<u64, Self::Error>;
    /// Evicts the least recently used empty visit from one address, or of all. Returns whether there was one.
    ///
    /// Its quota becomes zero too: a request in flight must not store data that would then be deleted.
    async fn evict_empty_visit(&mut self, now: Timestamp, origin: Option<&str>) -> Result<bool, Self::Error>;
    /// Inserts a visitor and the visit.
    async fn insert_visit(&mut self, user: UserId, visit: &Visit, origin: Option<&str>) -> Result<(), Self::Error>;
}

/// Stores a new visit. Evicts empty visits where a limit is reached; returns false if there are none.
///
/// # Errors
/// If a statement fails.
pub async fn begin_visit<T: VisitStatements>(tx: &mut T, user: UserId, visit: &Visit, limits: &VisitLimits) -> Result<bool, T::Error> {
    let address = limits.origin.map(|origin| origin.to_string());
    let of_origin = address.as_deref().map(|address| (Some(address), limits.most_of_origin));
    for (origin, most) in of_origin.into_iter().chain([(None, limits.most)]) {
        let is_full = tx.count_visits(visit.created_at, origin).await? >= most;
        if is_full && !tx.evict_empty_visit(visit.created_at, origin).await? {
            return Ok(false);
        }
    }
    tx.act_for(user).await?;
    tx.insert_visit(user, visit, address.as_deref()).await?;
    Ok(true)
}
