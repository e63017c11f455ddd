//! The one way this crate takes a `std` mutex.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex` even when a holder panicked. Every critical section in this crate leaves its data
/// valid at each step, and refusing to serve all other peers after one panic would turn a small
/// failure into a whole outage.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
