//! How many tokens may be used a day. Counted in the store: instances share the budget, and a restart does not begin anew.

use std::sync::Arc;

use tracing::warn;

use recall_domain::{Caller, Day, MessageId, ModelOperation, Spending, TokenCount, ViewerRole};
use recall_ports::{Clock, UsageStore};

/// Most tokens that a server is believed to have used for one request.
const MOST: u64 = 1 << 32;

/// Tokens of the day, in UTC.
pub struct Budget {
    clock: Arc<dyn Clock>,
    usage: Option<Arc<dyn UsageStore>>,
    per_user: Option<u64>,
    of_visitors: Option<u64>,
    in_all: Option<u64>,
}

impl Budget {
    /// A budget of so many tokens a day for each user and for all of them; `None` sets no bound.
    pub fn new(clock: Arc<dyn Clock>, usage: Arc<dyn UsageStore>, per_user: Option<u64>, in_all: Option<u64>) -> Self {
        Self { clock, usage: Some(usage), per_user, of_visitors: None, in_all }
    }

    /// All visitors together may use no more than this, and none more than any user: a visit is easily begun again, so a budget of
    /// each would be none.
    #[must_use]
    pub fn for_visitors(self, tokens: u64) -> Self {
        Self { of_visitors: Some(tokens), ..self }
    }

    /// Neither bounds nor counts anything, for where there is no store.
    pub fn without(clock: Arc<dyn Clock>) -> Self {
        Self { clock, usage: None, per_user: None, of_visitors: None, in_all: None }
    }

    /// Whether the caller may use any more today. What is running is not counted until it is done, so that a day may end a few
    /// requests above its budget. A bound that cannot be compared with what was used allows nothing.
    pub async fn allows(&self, caller: &Caller) -> bool {
        let of_visitors = self.of_visitors.filter(|_| caller.role() == ViewerRole::Anonymous);
        let bounded = of_visitors.is_some() || self.per_user.is_some() || self.in_all.is_some();
        let Some(usage) = self.usage.as_ref().filter(|_| bounded) else { return true };
        match usage.spent(caller, Day::of(self.clock.now())).await {
            Ok(spent) => {
                let room = |limit: Option<u64>, used: u64| limit.is_none_or(|limit| used < limit);
                room(self.per_user, spent.own) && room(of_visitors, spent.visitors) && room(self.in_all, spent.all)
            }
            Err(e) => {
                warn!(error = %e, "what was used today cannot be read; no model is asked");
                false
            }
        }
    }

    /// Counts what one request used, in equal shares for the messages it was made for.
    pub async fn spend(&self, caller: &Caller, operation: ModelOperation, tokens: TokenCount, messages: &[MessageId]) {
        let Some(usage) = &self.usage else { return };
        let tokens = TokenCount { input: tokens.input.min(MOST), output: tokens.output.min(MOST) };
        let messages = messages.iter().copied().zip(tokens.shares(messages.len())).collect();
        let spending = Spending { operation, tokens, messages };
        if let Err(e) = usage.spend(caller, Day::of(self.clock.now()), &spending).await {
            // The work is done and paid for; losing it as well would help nobody.
            warn!(error = %e, tokens = tokens.total(), "tokens that were used could not be counted");
        }
    }
}
