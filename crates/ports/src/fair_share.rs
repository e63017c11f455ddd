//! Shares what is scarce between callers: statements at once, searches at once.
//!
//! A pool of connections has one queue for all callers. A caller with a thousand statements has a thousand places in it, and
//! everybody else waits behind them. A [`FairShare`] before the pool leaves each caller a few places.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use lru::LruCache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use recall_domain::UserId;

/// Callers remembered. One who was forgotten begins with a full share.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

tokio::task_local! {
    static ASKER: UserId;
}

/// Does work on behalf of a user. What it reads counts for that user, shared memory included.
pub async fn asked_by<F: Future>(user: UserId, work: F) -> F::Output {
    ASKER.scope(user, work).await
}

/// How many one caller may have of something at once. More wait, in order.
#[derive(Debug)]
pub struct FairShare {
    at_once: usize,
    callers: Mutex<LruCache<UserId, Arc<Semaphore>>>,
}

impl FairShare {
    /// At most half of `all` for each, so that there is always room for another one; at least 1.
    pub fn half_of(all: u32) -> Self {
        let at_once = usize::try_from(all / 2).unwrap_or(usize::MAX).max(1);
        Self { at_once, callers: Mutex::new(LruCache::new(REMEMBERED)) }
    }

    /// Waits for a share. Work of no request counts for `user`, whose data it reads.
    pub async fn share(&self, user: UserId) -> Option<OwnedSemaphorePermit> {
        let asker = ASKER.try_with(|asker| *asker).unwrap_or(user);
        let share = {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            callers.get_or_insert_mut(asker, || Arc::new(Semaphore::new(self.at_once))).clone()
        };
        // Never closed, so there is always one.
        share.acquire_owned().await.ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    #[test]
    fn caller_with_many_waits_leaves_room_for_others() {
        let share = FairShare::half_of(4);
        let first = share.share(user(1)).now_or_never();
        let second = share.share(user(1)).now_or_never();
        assert!(first.is_some() && second.is_some());
        assert!(share.share(user(1)).now_or_never().is_none());
        assert!(share.share(user(2)).now_or_never().is_some());
        drop(first);
        assert!(share.share(user(1)).now_or_never().is_some());
    }

    #[test]
    fn readers_of_shared_memory_are_counted_by_who_asks() {
        let share = FairShare::half_of(2);
        let of_one = asked_by(user(1), share.share(UserId::SHARED)).now_or_never();
        assert!(of_one.is_some());
        assert!(asked_by(user(1), share.share(UserId::SHARED)).now_or_never().is_none());
        assert!(asked_by(user(2), share.share(UserId::SHARED)).now_or_never().is_some());
    }
}
