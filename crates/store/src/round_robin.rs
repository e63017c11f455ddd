//! Remembers which user the workers served last.
//!
//! Users take turns, however many sessions each has waiting. A claim starts after the user who was served last, in the order of user
//! ids, and takes the oldest head of each user before the second head of any user. Each process keeps the last served user in memory
//! and forgets it at a restart.

use parking_lot::Mutex;
use uuid::Uuid;

use recall_domain::UserId;

/// The user who was served last.
#[derive(Debug, Default)]
pub struct RoundRobin(Mutex<Uuid>);

impl RoundRobin {
    /// The user who was served last; the lowest possible id at first.
    pub fn last(&self) -> UserId {
        UserId(*self.0.lock())
    }

    /// Remembers the last of these users in round-robin order, which starts after `before`.
    pub fn served(&self, before: UserId, users: impl Iterator<Item = UserId>) {
        if let Some(last) = users.max_by_key(|user| (*user <= before, *user)) {
            *self.0.lock() = last.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_served_user_follows_round_robin_order() {
        let order = RoundRobin::default();
        let id = |n| UserId(Uuid::from_u128(n));
        order.served(id(0), [id(3), id(7)].into_iter());
        assert_eq!(order.last(), id(7));
        order.served(id(7), [id(2), id(9), id(1)].into_iter());
        assert_eq!(order.last(), id(2), "after 7 come 9, 1 and 2");
        order.served(id(2), std::iter::empty());
        assert_eq!(order.last(), id(2));
    }
}
