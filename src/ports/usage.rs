//! What model servers cost. Kept in the store, so that all instances see the same and a restart forgets nothing.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Caller, Day, DayUsage, MessageId, Spending, TokenCount};

/// Tokens used, by day and by message.
#[async_trait]
pub trait UsageStore: Send + Sync {
    /// Adds what a request used to its day and to its messages. Messages that are no more are passed over; the day counts all.
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError>;
    /// Tokens of a day: the caller's, and those of all users together, of whom nothing else is told.
    async fn spent(&self, caller: &Caller, day: Day) -> Result<(u64, u64), StoreError>;
    /// The caller's days from `since` on, latest first; a day without requests is left out.
    async fn usage_since(&self, caller: &Caller, since: Day) -> Result<Vec<DayUsage>, StoreError>;
    /// Tokens used for messages; those that no model was asked about are left out.
    async fn usage_of_messages(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, TokenCount)>, StoreError>;
}
