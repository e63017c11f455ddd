//! Shares scarce resources, such as database statements and searches, between callers.
//!
//! A connection pool has one queue for all callers, so a caller with a thousand statements would delay everybody else. A [`FairShare`] in
//! front of the pool limits each caller to a few places.

use std::{num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use recall_domain::UserId;

/// Callers remembered. A forgotten caller starts with a full share.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

tokio::task_local! {
    static ACTING_USER: UserId;
}

/// Runs work on behalf of a user. Its reads count for that user, reads of shared memory included.
pub async fn asked_by<F: Future>(user: UserId, work: F) -> F::Output {
    ACTING_USER.scope(user, work).await
}

/// Limits how many units of a resource one caller may hold at once. Others wait in order.
#[derive(Debug)]
pub struct FairShare {
    at_once: usize,
    callers: Mutex<LruCache<UserId, Arc<Semaphore>>>,
}

impl FairShare {
    /// Gives each caller at most half of `all`, at least 1, so that others always find room.
    pub fn half_of(all: u32) -> Self {
        let at_once = usize::try_from(all / 2).unwrap_or(usize::MAX).max(1);
        Self { at_once, callers: Mutex::new(LruCache::new(REMEMBERED)) }
    }

    /// Waits for a share. Work outside a request counts for `user`, the owner of the data.
    pub async fn share(&self, user: UserId) -> Option<OwnedSemaphorePermit> {
        let acting_user = ACTING_USER.try_with(|user| *user).unwrap_or(user);
        let share = {
            let mut callers = self.callers.lock();
            callers.get_or_insert_mut(acting_user, || Arc::new(Semaphore::new(self.at_once))).clone()
        };
        // The semaphore is never closed, so this always succeeds.
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
    fn shared_memory_reads_count_for_the_reader() {
        let share = FairShare::half_of(2);
        let of_one = asked_by(user(1), share.share(UserId::SHARED)).now_or_never();
        assert!(of_one.is_some());
        assert!(asked_by(user(1), share.share(UserId::SHARED)).now_or_never().is_none());
        assert!(asked_by(user(2), share.share(UserId::SHARED)).now_or_never().is_some());
    }
}
