//! Locks a `std` mutex. The whole crate uses this function.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, even if a thread panicked while it held the lock.
///
/// Every critical section in this crate leaves its data valid at each step. So one panic need not
/// stop the service for all other peers.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
