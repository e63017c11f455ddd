//! GraphQL type `Usage`.

use async_graphql::{Object, SimpleObject};

use super::enums::ModelOperation;
use crate::graphql::scope::Needs;
use recall_domain::{Day, DayUsage, TokenCount};

/// Tokens that model servers used for the viewer, without embeddings.
pub(crate) struct UsageNode {
    pub(crate) today: Day,
    pub(crate) days: Vec<DayUsage>,
}

/// Tokens that model servers used for the viewer, without embeddings.
#[Object(name = "Usage", guard = "Needs::Read")]
impl UsageNode {
    /// Tokens used today (UTC). The daily token budget counts these.
    async fn today(&self) -> TokenUsage {
        sum(self.days.iter().filter(|d| d.day == self.today))
    }

    /// Tokens used on all days of the period.
    async fn total(&self) -> TokenUsage {
        sum(self.days.iter())
    }

    /// Tokens by day and purpose, latest first. Days without use are left out.
    async fn days(&self) -> Vec<UsageOfDay> {
        let of_day = |d: &DayUsage| UsageOfDay {
            date: d.day.to_string(),
            operation: d.operation.into(),
            requests: d.requests,
            input_tokens: d.tokens.input,
            output_tokens: d.tokens.output,
        };
        self.days.iter().map(of_day).collect()
    }
}

/// Tokens that models read and wrote.
#[derive(SimpleObject)]
pub(crate) struct TokenUsage {
    /// Tokens read.
    input_tokens: u64,
    /// Tokens written.
    output_tokens: u64,
}

impl From<TokenCount> for TokenUsage {
    fn from(t: TokenCount) -> Self {
        Self { input_tokens: t.input, output_tokens: t.output }
    }
}

/// Tokens of one day and one purpose.
#[derive(SimpleObject)]
pub(crate) struct UsageOfDay {
    /// The day in UTC, such as `2026-01-31`.
    date: String,
    /// The purpose.
    operation: ModelOperation,
    /// The number of requests.
    requests: u64,
    /// Tokens read.
    input_tokens: u64,
    /// Tokens written.
    output_tokens: u64,
}

/// Adds up the tokens of days.
pub(super) fn sum<'a>(days: impl Iterator<Item = &'a DayUsage>) -> TokenUsage {
    let all = days.fold(TokenCount::default(), |a, d| TokenCount {
        input: a.input.saturating_add(d.tokens.input),
        output: a.output.saturating_add(d.tokens.output),
    });
    all.into()
}
