//! Usage of model servers. It is stored, so that all servers share it and a restart loses nothing.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Caller, Day, DayUsage, MessageId, Spending, TokenCount};

/// Tokens of one day. Other users appear only in the totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageTotals {
    /// Tokens of the caller.
    pub own: u64,
    /// Tokens of all visitors.
    pub visitors: u64,
    /// Tokens of all users.
    pub all: u64,
}

/// Tokens used, by day and by message.
#[async_trait]
pub trait UsageStore: Send + Sync {
    /// Adds the usage of a request to its day and messages. Deleted messages are skipped; the day counts all tokens.
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError>;
    /// Returns the tokens of a day.
    async fn spent(&self, caller: &Caller, day: Day) -> Result<UsageTotals, StoreError>;
    /// Returns the caller's usage by day from `since`, latest first. Days without requests are left out.
    async fn usage_since(&self, caller: &Caller, since: Day) -> Result<Vec<DayUsage>, StoreError>;
    /// Returns the tokens used for messages. Messages without model requests are left out.
    async fn usage_of_messages(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, TokenCount)>, StoreError>;
}
