//! Places for exports: one for each user, and a limit for all. When all are taken, a new export ends the slowest one.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use recall_domain::UserId;

/// How long an export is left alone, however slow it is.
const LEFT_ALONE: Duration = Duration::from_secs(10);

/// The places for exports.
#[derive(Debug)]
pub(super) struct ExportSlots {
    limit: usize,
    running: Mutex<HashMap<UserId, Arc<Running>>>,
}

/// A running export.
#[derive(Debug)]
struct Running {
    since: Instant,
    /// Bytes that the client has taken.
    taken: AtomicU64,
    cut: CancellationToken,
}

impl Running {
    /// Bytes a second.
    fn pace(&self, now: Instant) -> f64 {
        self.taken.load(Ordering::Relaxed) as f64 / now.duration_since(self.since).as_secs_f64().max(1.0)
    }
}

impl ExportSlots {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, running: Mutex::default() })
    }

    /// Takes a place, unless the user has one. When all are taken, ends the slowest export that is not new; without one there is no
    /// place.
    pub(super) fn take(self: &Arc<Self>, user: UserId, now: Instant) -> Option<Place> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.contains_key(&user) {
            return None;
        }
        if running.len() >= self.limit {
            let old = running.iter().filter(|(_, export)| now.duration_since(export.since) >= LEFT_ALONE);
            let (slowest, _) = old.min_by(|(_, a), (_, b)| a.pace(now).total_cmp(&b.pace(now)))?;
            let slowest = *slowest;
            running.remove(&slowest)?.cut.cancel();
        }
        let export = Arc::new(Running { since: now, taken: AtomicU64::new(0), cut: CancellationToken::new() });
        running.insert(user, export.clone());
        drop(running);
        Some(Place { slots: self.clone(), user, export })
    }
}

/// The place of a running export; it is free when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    slots: Arc<ExportSlots>,
    user: UserId,
    export: Arc<Running>,
}

impl Place {
    /// Notes that the client has taken so many bytes more.
    pub(super) fn took(&self, bytes: usize) {
        self.export.taken.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Waits until another export takes this place.
    pub(super) async fn lost(&self) {
        self.export.cut.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut running = self.slots.running.lock().unwrap_or_else(PoisonError::into_inner);
        // A lost place may be that of a later export by now.
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
    fn slowest_export_gives_way_when_all_places_are_taken() {
        let (slots, start) = (ExportSlots::new(2), Instant::now());
        let (slow, quick) = (slots.take(user(1), start).unwrap(), slots.take(user(2), start).unwrap());
        slow.took(1_000);
        quick.took(9_000_000);
        assert!(slots.take(user(1), start).is_none(), "one for each user");
        assert!(slots.take(user(3), start + LEFT_ALONE / 2).is_none(), "both have just begun");
        let later = start + LEFT_ALONE;
        let third = slots.take(user(3), later).unwrap();
        assert!(slow.export.cut.is_cancelled() && !quick.export.cut.is_cancelled());
        assert!(slots.take(user(1), later + LEFT_ALONE / 2).is_some(), "the next one is the slowest that is not new");
        assert!(quick.export.cut.is_cancelled() && !third.export.cut.is_cancelled());
    }

    #[test]
    fn places_are_free_once_and_for_their_own_export() {
        let (slots, start) = (ExportSlots::new(1), Instant::now());
        let first = slots.take(user(1), start).unwrap();
        let later = start + LEFT_ALONE;
        let second = slots.take(user(2), later).unwrap();
        drop(second);
        let again = slots.take(user(1), later).unwrap();
        drop(first);
        assert!(slots.take(user(2), later).is_none(), "the lost place freed nothing");
        drop(again);
        assert!(slots.take(user(2), later).is_some());
    }
}
