//! Counts what reading a text costs, so that a test can tell linear work from worse without a clock. Costs nothing elsewhere.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// So many steps were done.
#[inline]
pub(crate) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|s| s.set(s.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// The steps done in this thread since the last call.
#[cfg(test)]
pub(crate) fn taken() -> u64 {
    STEPS.with(|s| s.replace(0))
}
