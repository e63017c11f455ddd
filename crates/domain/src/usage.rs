//! Usage of model servers: tokens by day and by message.

use std::fmt;

use chrono::{DateTime, NaiveDate};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::{MessageId, Timestamp};

/// A day in UTC, as the number of days since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Day(pub i32);

impl Day {
    /// Returns the day of a moment.
    pub fn of(at: Timestamp) -> Self {
        Self(i32::try_from(at.timestamp().div_euclid(86_400)).unwrap_or(i32::MAX))
    }

    /// Returns the day `days` earlier.
    #[must_use]
    pub fn before(self, days: u32) -> Self {
        Self(self.0.saturating_sub(i32::try_from(days).unwrap_or(i32::MAX)))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let date = DateTime::from_timestamp(i64::from(self.0).saturating_mul(86_400), 0).map_or(NaiveDate::MAX, |t| t.date_naive());
        write!(f, "{}", date.format("%Y-%m-%d"))
    }
}

/// The purpose of a model request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum ModelOperation {
    /// To extract the facts of messages.
    Extract,
    /// To answer a question.
    Answer,
}

/// Input and output tokens.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TokenCount {
    /// Read by the model.
    pub input: u64,
    /// Written by it.
    pub output: u64,
}

impl TokenCount {
    /// Returns the sum of both.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Splits the count into equal shares. The first shares get the remainder, so that the sum is unchanged.
    pub fn shares(self, count: usize) -> impl Iterator<Item = Self> {
        let n = count.max(1) as u64;
        let share = move |all: u64, i: u64| all / n + u64::from(i < all % n);
        (0..count as u64).map(move |i| Self { input: share(self.input, i), output: share(self.output, i) })
    }
}

/// Usage of one model request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spending {
    /// Its purpose.
    pub operation: ModelOperation,
    /// Its tokens in total.
    pub tokens: TokenCount,
    /// The messages that it was made for, each with its share.
    pub messages: Vec<(MessageId, TokenCount)>,
}

/// Usage of one kind of request on one day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DayUsage {
    /// The day.
    pub day: Day,
    /// The purpose.
    pub operation: ModelOperation,
    /// Number of requests.
    pub requests: u64,
    /// Their tokens.
    pub tokens: TokenCount,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn days_begin_at_midnight_in_utc() {
        let at = |s: i64| Day::of(Timestamp::from_timestamp(s, 0).unwrap());
        assert_eq!((at(-1), at(0), at(86_399), at(86_400)), (Day(-1), Day(0), Day(0), Day(1)));
        assert_eq!((Day(20_000).to_string(), Day(-1).to_string()), ("2024-10-04".to_owned(), "1969-12-31".to_owned()));
        assert_eq!(Day(3).before(5), Day(-2));
        assert!(!Day(i32::MAX).to_string().is_empty());
    }

    proptest! {
        #[test]
        fn shares_make_up_the_whole(input in 0u64..10_000, output in 0u64..10_000, count in 1usize..20) {
            let shares: Vec<_> = TokenCount { input, output }.shares(count).collect();
            prop_assert_eq!(shares.len(), count);
            prop_assert_eq!(shares.iter().map(|s| s.input).sum::<u64>(), input);
            prop_assert_eq!(shares.iter().map(|s| s.output).sum::<u64>(), output);
            prop_assert!(shares.iter().all(|s| s.input.abs_diff(input / count as u64) <= 1));
        }
    }
}
