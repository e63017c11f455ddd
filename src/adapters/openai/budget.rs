//! How many tokens may be used a day. Counted in this process from its start: several instances each have the whole
//! budget, and a restart begins anew.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::domain::{Timestamp, UserId};
use crate::ports::Clock;

/// Tokens of the day, in UTC.
pub struct Budget {
    clock: Arc<dyn Clock>,
    per_user: Option<u64>,
    in_all: Option<u64>,
    day: Mutex<Day>,
}

#[derive(Default)]
struct Day {
    number: i64,
    in_all: u64,
    users: HashMap<UserId, u64>,
}

impl Budget {
    /// A budget of so many tokens a day for each user and for all of them; `None` sets no bound.
    pub fn new(clock: Arc<dyn Clock>, per_user: Option<u64>, in_all: Option<u64>) -> Self {
        Self { clock, per_user, in_all, day: Mutex::default() }
    }

    /// Whether the user may use any more today. What is running is not counted until it is done, so that a day may end a
    /// few requests above its budget.
    pub fn allows(&self, user: UserId) -> bool {
        let (mine, all) = self.spent(user);
        self.per_user.is_none_or(|limit| mine < limit) && self.in_all.is_none_or(|limit| all < limit)
    }

    /// Counts tokens.
    pub fn spend(&self, user: UserId, tokens: u64) {
        let now = self.clock.now();
        let mut day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
        day.turn_to(now);
        day.in_all = day.in_all.saturating_add(tokens);
        let mine = day.users.entry(user).or_default();
        *mine = mine.saturating_add(tokens);
    }

    /// Tokens used today by a user and by all.
    pub fn spent(&self, user: UserId) -> (u64, u64) {
        let now = self.clock.now();
        let mut day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
        day.turn_to(now);
        (day.users.get(&user).copied().unwrap_or_default(), day.in_all)
    }
}

impl Day {
    fn turn_to(&mut self, now: Timestamp) {
        let number = now.timestamp().div_euclid(86_400);
        if number != self.number {
            *self = Self { number, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    struct Hands(Mutex<i64>);
    impl Clock for Hands {
        fn now(&self) -> Timestamp {
            Timestamp::from_timestamp(*self.0.lock().unwrap(), 0).unwrap()
        }
    }

    #[test]
    fn a_day_has_its_tokens_and_the_next_one_its_own() {
        let clock = Arc::new(Hands(Mutex::new(86_400 * 20_000)));
        let budget = Budget::new(clock.clone(), Some(100), Some(150));
        let [anna, boris, carl] = [1, 2, 3].map(|n| UserId(Uuid::from_u128(n)));
        budget.spend(anna, 99);
        assert!(budget.allows(anna));
        budget.spend(anna, 1);
        assert!(!budget.allows(anna) && budget.allows(boris));
        budget.spend(boris, u64::MAX);
        assert!(!budget.allows(carl), "the budget of all is used up");
        assert_eq!(budget.spent(anna), (100, u64::MAX));
        *clock.0.lock().unwrap() += 86_400;
        assert!(budget.allows(anna) && budget.allows(carl));
        assert_eq!(budget.spent(anna), (0, 0));
    }

    #[test]
    fn without_a_bound_everything_is_allowed_and_counted() {
        let budget = Budget::new(Arc::new(Hands(Mutex::new(0))), None, None);
        let user = UserId(Uuid::from_u128(1));
        budget.spend(user, u64::MAX);
        assert!(budget.allows(user));
        assert_eq!(budget.spent(user).0, u64::MAX);
    }
}
