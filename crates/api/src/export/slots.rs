//! Slots for exports: one for each user, with a total limit. When all are in use, a new export evicts the slowest one.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use recall_domain::UserId;

/// Time for which an export is not evicted, however slow it is.
const MIN_RUNTIME: Duration = Duration::from_secs(10);

/// The slots of all exports.
#[derive(Debug)]
pub(super) struct ExportSlots {
    limit: usize,
    running: Mutex<HashMap<UserId, Arc<Running>>>,
}

/// A running export.
#[derive(Debug)]
struct Running {
    since: Instant,
    /// Bytes that the client has read.
    sent: AtomicU64,
    evict: CancellationToken,
}

impl Running {
    /// Average speed in bytes per second.
    fn bytes_per_second(&self, now: Instant) -> f64 {
        self.sent.load(Ordering::Relaxed) as f64 / now.duration_since(self.since).as_secs_f64().max(1.0)
    }
}

impl ExportSlots {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, running: Mutex::default() })
    }

    /// Takes a slot; `None` if the user has one already.
    ///
    /// When all are in use, it evicts the slowest export that is older than `MIN_RUNTIME`; `None` if there is no such export.
    pub(super) fn take(self: &Arc<Self>, user: UserId, now: Instant) -> Option<ExportSlot> {
        let mut running = self.running.lock();
        if running.contains_key(&user) {
            return None;
        }
        if running.len() >= self.limit {
            let old = running.iter().filter(|(_, export)| now.duration_since(export.since) >= MIN_RUNTIME);
            let (slowest, _) = old.min_by(|(_, a), (_, b)| a.bytes_per_second(now).total_cmp(&b.bytes_per_second(now)))?;
            let slowest = *slowest;
            running.remove(&slowest)?.evict.cancel();
        }
        let export = Arc::new(Running { since: now, sent: AtomicU64::new(0), evict: CancellationToken::new() });
        running.insert(user, export.clone());
        drop(running);
        Some(ExportSlot { slots: self.clone(), user, export })
    }
}

/// The slot of a running export, free when dropped.
#[derive(Debug)]
pub(super) struct ExportSlot {
    slots: Arc<ExportSlots>,
    user: UserId,
    export: Arc<Running>,
}

impl ExportSlot {
    /// Adds bytes that the client has read.
    pub(super) fn add_sent_bytes(&self, bytes: usize) {
        self.export.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Waits until another export evicts this one.
    pub(super) async fn evicted(&self) {
        self.export.evict.cancelled().await;
    }
}

impl Drop for ExportSlot {
    fn drop(&mut self) {
        let mut running = self.slots.running.lock();
        // After an eviction, the user's slot may already belong to a later export.
        if running.get(&self.user).is_some_and(|export| Arc::ptr_eq(export, &self.export)) {
            running.remove(&self.user);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    #[test]
    fn slowest_export_is_evicted_when_all_slots_are_in_use() {
        let (slots, start) = (ExportSlots::new(2), Instant::now());
        let (slow, quick) = (slots.take(user(1), start).unwrap(), slots.take(user(2), start).unwrap());
        slow.add_sent_bytes(1_000);
        quick.add_sent_bytes(9_000_000);
        assert!(slots.take(user(1), start).is_none(), "one for each user");
        assert!(slots.take(user(3), start + MIN_RUNTIME / 2).is_none(), "both have just started");
        let later = start + MIN_RUNTIME;
        let third = slots.take(user(3), later).unwrap();
        assert!(slow.export.evict.is_cancelled() && !quick.export.evict.is_cancelled());
        assert!(slots.take(user(1), later + MIN_RUNTIME / 2).is_some(), "the next one is the slowest that is not new");
        assert!(quick.export.evict.is_cancelled() && !third.export.evict.is_cancelled());
    }

    #[test]
    fn slot_is_freed_once_and_only_by_its_own_export() {
        let (slots, start) = (ExportSlots::new(1), Instant::now());
        let first = slots.take(user(1), start).unwrap();
        let later = start + MIN_RUNTIME;
        let second = slots.take(user(2), later).unwrap();
        drop(second);
        let again = slots.take(user(1), later).unwrap();
        drop(first);
        assert!(slots.take(user(2), later).is_none(), "the evicted export freed nothing");
        drop(again);
        assert!(slots.take(user(2), later).is_some());
    }
}
