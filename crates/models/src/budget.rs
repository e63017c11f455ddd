//! Daily token budgets. The store counts the tokens, so servers share the budgets and a restart keeps the counts.

use std::sync::Arc;

use tracing::warn;

use recall_domain::{Caller, Day, MessageId, ModelOperation, Spending, TokenCount, ViewerRole};
use recall_ports::{Clock, UsageStore};

/// Most tokens that one request can report; a higher number is reduced to it.
const MAX_REQUEST_TOKENS: u64 = 1 << 32;

/// Daily token limits; a day is a UTC day.
pub struct Budget {
    clock: Arc<dyn Clock>,
    usage: Option<Arc<dyn UsageStore>>,
    per_user: Option<u64>,
    visitors: Option<u64>,
    total: Option<u64>,
}

impl Budget {
    /// Makes a budget of tokens per day, for each user and for all users together; `None` sets no limit.
    pub fn new(clock: Arc<dyn Clock>, usage: Arc<dyn UsageStore>, per_user: Option<u64>, total: Option<u64>) -> Self {
        Self { clock, usage: Some(usage), per_user, visitors: None, total }
    }

    /// Sets a limit for all visitors together; the limit for each user applies to them too.
    ///
    /// A visitor can start a new visit at any time, so a limit for each visitor would have no effect.
    #[must_use]
    pub fn for_visitors(self, tokens: u64) -> Self {
        Self { visitors: Some(tokens), ..self }
    }

    /// Makes a budget without limits and counts, for use without a store.
    pub fn without(clock: Arc<dyn Clock>) -> Self {
        Self { clock, usage: None, per_user: None, visitors: None, total: None }
    }

    /// Whether the caller may use more tokens today.
    ///
    /// Running requests are counted when they end, so a day can exceed its budget by a few requests. If the usage cannot be
    /// read, nothing is allowed.
    pub async fn allows(&self, caller: &Caller) -> bool {
        let visitors = self.visitors.filter(|_| caller.role() == ViewerRole::Anonymous);
        let bounded = visitors.is_some() || self.per_user.is_some() || self.total.is_some();
        let Some(usage) = self.usage.as_ref().filter(|_| bounded) else { return true };
        match usage.spent(caller, Day::of(self.clock.now())).await {
            Ok(spent) => {
                let room = |limit: Option<u64>, used: u64| limit.is_none_or(|limit| used < limit);
                room(self.per_user, spent.own) && room(visitors, spent.visitors) && room(self.total, spent.all)
            }
            Err(e) => {
                warn!(error = %e, "today's token usage cannot be read; the model is not used");
                false
            }
        }
    }

    /// Counts the tokens of one request, in equal shares for its messages.
    pub async fn spend(&self, caller: &Caller, operation: ModelOperation, tokens: TokenCount, messages: &[MessageId]) {
        let Some(usage) = &self.usage else { return };
        let tokens = TokenCount { input: tokens.input.min(MAX_REQUEST_TOKENS), output: tokens.output.min(MAX_REQUEST_TOKENS) };
        let messages = messages.iter().copied().zip(tokens.shares(messages.len())).collect();
        let spending = Spending { operation, tokens, messages };
        if let Err(e) = usage.spend(caller, Day::of(self.clock.now()), &spending).await {
            // The result is kept: the tokens are spent in any case.
            warn!(error = %e, tokens = tokens.total(), "used tokens could not be counted");
        }
    }
}
