//! Counts the work for a text, so that a test can check without a clock that the work is linear. Only tests count.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Adds to the number of steps.
#[inline]
pub(crate) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|s| s.set(s.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// Returns and resets the number of steps of this thread.
#[cfg(test)]
pub(crate) fn taken() -> u64 {
    STEPS.with(|s| s.replace(0))
}
