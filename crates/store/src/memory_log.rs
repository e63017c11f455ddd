//! Numbers the events of all sessions of a user as one log, that of the memory.
//!
//! The numbers come from a counter in the row of the user, which is locked after that of the session. The log is complete from its floor
//! on. A transaction that deletes events raises the floor past them, so a reader who has not read them learns of a gap.

use async_trait::async_trait;
use uuid::Uuid;

use super::{Refusal, Transaction, json};
use recall_domain::{EventBody, EventId, Timestamp, UserId};

/// Returns the name of the log of a memory. `database` is the random name of the database.
///
/// Both are part of it: a cursor of another user or of another database must not be taken for one of this log.
pub fn memory_epoch(database: &str, user: UserId) -> String {
    let mut name = Uuid::new_v5(&user.0, database.as_bytes()).simple().to_string();
    name.truncate(16);
    name
}

/// An event that only the log of the memory has: about a session as a whole, or about the user.
#[derive(Clone, Debug)]
pub struct SessionChange {
    /// Its number in the log of the memory.
    pub memory_seq: i64,
    /// Its id.
    pub id: EventId,
    /// Its kind.
    pub kind: &'static str,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its body, in JSON.
    pub data: String,
}

/// Statements on `session_changes` and on the counters of the log of a memory.
#[async_trait]
pub trait MemoryLogStatements: Transaction {
    /// Adds one to the head of the log and returns it; `None` if the user is unknown.
    async fn reserve_memory_number(&mut self, user: UserId) -> Result<Option<i64>, Self::Error>;
    /// Inserts a change under a number that was reserved in the same transaction.
    async fn insert_session_change(&mut self, user: UserId, change: &SessionChange) -> Result<(), Self::Error>;
    /// Makes `floor` the number of the oldest event of the memory, unless that is higher.
    async fn raise_memory_floor(&mut self, user: UserId, floor: i64) -> Result<(), Self::Error>;
    /// Returns users with changes from before `before`, with the number of the newest of these. Looks at the oldest `limit` changes.
    async fn changes_to_prune(&mut self, before: Timestamp, limit: u32) -> Result<Vec<(UserId, i64)>, Self::Error>;
    /// Deletes the changes up to a number. Returns how many.
    async fn delete_changes_until(&mut self, user: UserId, last: i64) -> Result<u64, Self::Error>;
}

/// Records an event that only the log of the memory has.
///
/// # Errors
/// `NotFound` if the user is unknown.
pub(super) async fn record_change<T: MemoryLogStatements>(
    tx: &mut T,
    user: UserId,
    body: &EventBody,
    now: Timestamp,
) -> Result<(), T::Error> {
    let memory_seq = tx.reserve_memory_number(user).await?.ok_or(Refusal::NotFound)?;
    // The number is never used again, so neither is the id.
    let id = EventId(Uuid::new_v5(&user.0, &memory_seq.to_be_bytes()));
    let change = SessionChange { memory_seq, id, kind: body.kind(), created_at: now, data: json(body, "an event")? };
    tx.insert_session_change(user, &change).await
}

/// Ends the replay of events up to a number. Events without one are in no log of a memory.
pub(super) async fn expire_until<T: MemoryLogStatements>(tx: &mut T, user: UserId, last: Option<i64>) -> Result<(), T::Error> {
    match last {
        Some(last) if last > 0 => tx.raise_memory_floor(user, last + 1).await,
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_differ_between_users_and_databases() {
        let (anna, ben) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let epochs = [memory_epoch("a", anna), memory_epoch("a", ben), memory_epoch("b", anna)];
        assert!(epochs.iter().all(|epoch| epoch.len() == 16), "{epochs:?}");
        assert_eq!(epochs.iter().collect::<std::collections::HashSet<_>>().len(), 3, "{epochs:?}");
        assert_eq!(memory_epoch("a", anna), epochs[0]);
    }
}
