//! What model servers cost. Kept in the store, so that all instances see the same and a restart forgets nothing.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Caller, Day, DayUsage, MessageId, Spending, TokenCount};

/// Tokens of one day. Of others nothing but the sums is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageTotals {
    /// The caller's.
    pub own: u64,
    /// Those of all visitors together.
    pub visitors: u64,
    /// Those of all users together.
    pub all: u64,
}

/// Tokens used, by day and by message.
#[async_trait]
pub trait UsageStore: Send + Sync {
    /// Adds what a request used to its day and to its messages. Messages that are no more are passed over; the day counts all.
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError>;
    /// Tokens of a day.
    async fn spent(&self, caller: &Caller, day: Day) -> Result<UsageTotals, StoreError>;
    /// The caller's days from `since` on, latest first; a day without requests is left out.
    async fn usage_since(&self, caller: &Caller, since: Day) -> Result<Vec<DayUsage>, StoreError>;
    /// Tokens used for messages; those that no model was asked about are left out.
    async fn usage_of_messages(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, TokenCount)>, StoreError>;
}
