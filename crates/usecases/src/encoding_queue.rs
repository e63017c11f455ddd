//! The texts that wait to be encoded until the server is idle. They wait in memory: what a stopped server has not encoded is encoded when a search finds it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use recall_domain::{Caller, MessageId};

/// Most texts that wait. Those that were added first are dropped.
const MOST_WAITING: usize = 50_000;

/// A text that is not encoded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unencoded {
    pub(crate) caller: Caller,
    pub(crate) id: MessageId,
    pub(crate) is_chunk: bool,
}

/// The texts that wait to be encoded, in this process. Those that were added last come first: they are asked for most.
#[derive(Debug)]
pub(crate) struct EncodingQueue {
    waiting: Mutex<LruCache<Unencoded, ()>>,
    /// Number of texts that were taken and are being encoded.
    taken: AtomicUsize,
    /// Held while some are encoded.
    running: Arc<Semaphore>,
}

impl Default for EncodingQueue {
    fn default() -> Self {
        Self { waiting: Mutex::new(LruCache::unbounded()), taken: AtomicUsize::new(0), running: Arc::new(Semaphore::new(1)) }
    }
}

impl EncodingQueue {
    /// Adds texts. One that waits already comes first now.
    pub(crate) fn add(&self, texts: impl Iterator<Item = Unencoded>) {
        let mut waiting = self.waiting.lock();
        for text in texts {
            waiting.put(text, ());
            if waiting.len() > MOST_WAITING {
                waiting.pop_lru();
            }
        }
        self.tell(waiting.len());
    }

    /// Tells operators how many texts are not encoded: what was taken is encoded now.
    pub(crate) fn report(&self) {
        let waiting = self.waiting.lock();
        self.taken.store(0, Ordering::Relaxed);
        self.tell(waiting.len());
    }

    fn tell(&self, waiting: usize) {
        metrics::gauge!("recall_unencoded_texts").set((waiting + self.taken.load(Ordering::Relaxed)) as f64);
    }

    /// Takes up to `most` texts of one user and kind; `None` if nothing waits.
    pub(crate) fn take(&self, most: usize) -> Option<Vec<Unencoded>> {
        let mut waiting = self.waiting.lock();
        let first = *waiting.iter().next()?.0;
        let is_alike = |text: &Unencoded| (text.caller, text.is_chunk) == (first.caller, first.is_chunk);
        let taken: Vec<Unencoded> = waiting.iter().map(|(text, ())| *text).take_while(is_alike).take(most).collect();
        for text in &taken {
            waiting.pop(text);
        }
        self.taken.store(taken.len(), Ordering::Relaxed);
        Some(taken)
    }

    /// Removes the texts of a user.
    pub(crate) fn remove(&self, caller: &Caller) {
        let mut waiting = self.waiting.lock();
        let of_user: Vec<Unencoded> = waiting.iter().map(|(text, ())| *text).filter(|text| text.caller.user() == caller.user()).collect();
        for text in &of_user {
            waiting.pop(text);
        }
    }

    /// Returns what is held while texts are encoded; `None` if nothing waits, or others are encoded.
    pub(crate) fn start(&self) -> Option<OwnedSemaphorePermit> {
        let is_empty = self.waiting.lock().is_empty();
        if is_empty { None } else { self.running.clone().try_acquire_owned().ok() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use recall_domain::{UserId, ViewerRole};

    fn unencoded((user, n, is_chunk): (u128, u128, bool)) -> Unencoded {
        let caller = Caller::verified(UserId(Uuid::from_u128(user)), ViewerRole::User);
        Unencoded { caller, id: MessageId(Uuid::from_u128(n)), is_chunk }
    }

    fn queue(texts: &[(u128, u128, bool)]) -> EncodingQueue {
        let queue = EncodingQueue::default();
        queue.add(texts.iter().copied().map(unencoded));
        queue
    }

    fn steps(queue: &EncodingQueue) -> Vec<Vec<u128>> {
        std::iter::from_fn(|| queue.take(2)).map(|step| step.iter().map(|text| text.id.0.as_u128()).collect()).collect()
    }

    #[test]
    fn texts_of_one_user_and_kind_are_taken_together_and_the_last_ones_first() {
        let queue = queue(&[(1, 1, false), (1, 2, false), (1, 3, false), (2, 4, false), (2, 5, true)]);
        assert_eq!(steps(&queue), [vec![5], vec![4], vec![3, 2], vec![1]]);
    }

    #[test]
    fn text_that_waits_already_comes_first_and_once() {
        let queue = queue(&[(1, 1, false), (1, 2, false), (1, 1, false)]);
        assert_eq!(steps(&queue), [vec![1, 2]]);
    }

    #[test]
    fn texts_of_a_user_are_removed() {
        let queue = queue(&[(1, 1, false), (2, 2, false), (1, 3, true)]);
        queue.remove(&unencoded((1, 0, false)).caller);
        assert_eq!(steps(&queue), [vec![2]]);
    }

    #[test]
    fn first_texts_are_dropped_when_too_many_wait() {
        let queue = EncodingQueue::default();
        queue.add((0..=MOST_WAITING as u128).map(|n| unencoded((1, n, false))));
        let waiting = queue.waiting.lock();
        assert_eq!(waiting.len(), MOST_WAITING);
        assert!(!waiting.contains(&unencoded((1, 0, false))) && waiting.contains(&unencoded((1, 1, false))));
    }

    #[test]
    fn one_task_at_a_time_encodes_what_waits() {
        assert!(queue(&[]).start().is_none());
        let queue = queue(&[(1, 1, false)]);
        let running = queue.start().unwrap();
        assert!(queue.start().is_none());
        drop(running);
        assert!(queue.start().is_some());
    }
}
