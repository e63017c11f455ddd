//! Limits the size of one response and the work done on it at a time.
//!
//! Costs are estimated before an operation runs; this budget counts what the operation really returns. Every resolved field and list
//! item passes [`ResponseBudget::enter_field`]. When the budget is exceeded, no field continues, and the driver of the operation
//! ([`super::batch`]) drops it. So memory use is bounded by the budget. The same gate splits a large response into slices, so
//! that it does not block a thread of the runtime.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;

use async_graphql::Value;
use axum::http::StatusCode;

use crate::{error::ApiError, limits::ResponseLimits};

/// Fields resolved (or equivalent work) before the task yields.
const FIELDS_PER_SLICE: usize = 50;
/// Responses with more fields are large. Few large ones are built at once, because each takes megabytes.
const LARGE_RESPONSE_FIELDS: usize = 5_000;
/// Bytes that may be read per byte of the response. Reads include columns that the response does not contain.
const LOADED_BYTES_PER_RESPONSE_BYTE: usize = 10;
/// Bytes that JSON adds to a field: quotes, colon and comma.
const JSON_BYTES: usize = 4;

/// The budget of one response.
#[derive(Debug)]
pub(crate) struct ResponseBudget {
    limits: ResponseLimits,
    /// Largest number of `__typename` fields of an object. The library resolves them without calling a resolver.
    typenames: usize,
    nodes: AtomicUsize,
    bytes: AtomicUsize,
    loaded: AtomicUsize,
    slice: AtomicUsize,
    /// Fields that wait for the next slice. The flag is true while a field still waits.
    waiting: Mutex<VecDeque<(Waker, Arc<AtomicBool>)>>,
}

impl Default for ResponseBudget {
    fn default() -> Self {
        Self::new(ResponseLimits::default(), 0)
    }
}

impl ResponseBudget {
    /// Creates a budget. `typenames` is the largest number of `__typename` fields of an object.
    pub(crate) fn new(limits: ResponseLimits, typenames: usize) -> Self {
        let count = || AtomicUsize::new(0);
        Self { limits, typenames, nodes: count(), bytes: count(), loaded: count(), slice: count(), waiting: Mutex::default() }
    }

    /// Checks that the response is within the budget.
    ///
    /// # Errors
    /// `RESPONSE_TOO_LARGE`.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        if self.is_exceeded() { Err(self.limit_error()) } else { Ok(()) }
    }

    /// Counts a field and waits for a slice in which it can be resolved. Never returns once the budget is exceeded.
    pub(crate) async fn enter_field(&self, name: &str, is_object: bool) {
        let typenames = if is_object { self.typenames } else { 0 };
        // "__typename":"Session"
        self.count_bytes(name.len() + JSON_BYTES + typenames * 24);
        self.wait_for_slice(1 + typenames).await;
    }

    /// Counts work equal to resolving `fields` fields, and waits for a slice with room for it. Never returns once the budget is exceeded.
    ///
    /// Fields call this after a batched read, because all fields that waited for the read continue at once.
    pub(crate) async fn wait_for_slice(&self, fields: usize) {
        self.nodes.fetch_add(fields, Ordering::Relaxed);
        let mut waits = None;
        std::future::poll_fn(|context| self.poll(context, &mut waits, fields)).await;
    }

    fn poll(&self, context: &mut Context<'_>, waits: &mut Option<Arc<AtomicBool>>, fields: usize) -> Poll<()> {
        if self.is_exceeded() || waits.as_ref().is_some_and(|waits| waits.load(Ordering::Relaxed)) {
            return Poll::Pending;
        }
        if self.slice.load(Ordering::Relaxed) >= FIELDS_PER_SLICE {
            // The queue lets the next slice poll only the fields that it resolves.
            let is_waiting = waits.insert(Arc::new(AtomicBool::new(true))).clone();
            self.waiting().push_back((context.waker().clone(), is_waiting));
            return Poll::Pending;
        }
        self.slice.fetch_add(fields, Ordering::Relaxed);
        Poll::Ready(())
    }

    fn waiting(&self) -> parking_lot::MutexGuard<'_, VecDeque<(Waker, Arc<AtomicBool>)>> {
        self.waiting.lock()
    }

    /// Counts a value of the response.
    pub(crate) fn count_value(&self, value: &Value) {
        self.count_bytes(json_bytes(value));
    }

    /// Counts bytes of the response.
    pub(crate) fn count_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes read from the store, even if the response does not contain them.
    pub(crate) fn count_loaded_bytes(&self, bytes: usize) {
        self.loaded.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Starts the next slice and wakes the fields that it resolves.
    pub(super) fn start_slice(&self) {
        self.slice.store(0, Ordering::Relaxed);
        let next: Vec<_> = {
            let mut waiting = self.waiting();
            let count = waiting.len().min(FIELDS_PER_SLICE);
            waiting.drain(..count).collect()
        };
        for (waker, is_waiting) in next {
            is_waiting.store(false, Ordering::Relaxed);
            waker.wake();
        }
    }

    /// Returns whether fields wait for the next slice.
    pub(super) fn is_paused(&self) -> bool {
        !self.waiting().is_empty()
    }

    /// Returns whether the response is large. Few of those are built at once.
    pub(super) fn is_large(&self) -> bool {
        self.nodes.load(Ordering::Relaxed) > LARGE_RESPONSE_FIELDS
    }

    /// Resets the counts for the next response of a subscription.
    pub(super) fn reset(&self) {
        self.nodes.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.loaded.store(0, Ordering::Relaxed);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.nodes.load(Ordering::Relaxed) > self.limits.nodes
            || self.bytes.load(Ordering::Relaxed) > self.limits.bytes
            || self.loaded.load(Ordering::Relaxed) > self.limits.bytes.saturating_mul(LOADED_BYTES_PER_RESPONSE_BYTE)
    }

    /// Returns the error that names the exceeded limit.
    pub(super) fn limit_error(&self) -> ApiError {
        let (count, what) = match self.nodes.load(Ordering::Relaxed) > self.limits.nodes {
            true => (self.limits.nodes, "fields"),
            false => (self.limits.bytes, "bytes"),
        };
        let message = format!("The response has more than {count} {what}, which is the limit. Ask for smaller pages or fewer fields.");
        ApiError::refused(StatusCode::BAD_REQUEST, "RESPONSE_TOO_LARGE", message)
    }
}

/// Estimates the bytes of a value as JSON.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Enum(name) => name.len() + 2,
        Value::Binary(bytes) => bytes.len() * 4,
        Value::Number(_) => 8,
        Value::Null | Value::Boolean(_) => 4,
        Value::List(items) => items.iter().map(|item| json_bytes(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + json_bytes(value) + JSON_BYTES).sum::<usize>() + 2,
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::{Name, indexmap::IndexMap};
    use futures_util::FutureExt;

    use super::*;

    fn budget(nodes: usize, bytes: usize) -> ResponseBudget {
        ResponseBudget::new(ResponseLimits { nodes, bytes }, 0)
    }

    #[test]
    fn exceeded_budget_blocks_further_fields() {
        let budget = budget(2, 1_000);
        assert!(budget.enter_field("a", false).now_or_never().is_some());
        assert!(budget.enter_field("b", true).now_or_never().is_some());
        assert!(!budget.is_exceeded());
        assert!(budget.enter_field("c", false).now_or_never().is_none());
        assert!(budget.is_exceeded());
        assert!(budget.limit_error().message().contains("more than 2 fields"));
    }

    #[test]
    fn bytes_are_counted_as_json() {
        let budget = budget(1_000, 50);
        budget.count_value(&Value::from("x".repeat(49)));
        assert!(budget.is_exceeded());
        assert!(budget.limit_error().message().contains("more than 50 bytes"));
        let nested = Value::Object(IndexMap::from_iter([(Name::new("list"), Value::List(vec![Value::from(1); 100]))]));
        assert!(json_bytes(&nested) >= 900);
    }

    #[test]
    fn large_response_is_built_in_slices() {
        let budget = budget(FIELDS_PER_SLICE * 3, usize::MAX);
        for _ in 0..FIELDS_PER_SLICE {
            assert!(budget.enter_field("a", false).now_or_never().is_some());
        }
        assert!(budget.enter_field("a", false).now_or_never().is_none() && budget.is_paused());
        budget.start_slice();
        assert!(budget.enter_field("a", false).now_or_never().is_some() && !budget.is_paused());
    }

    #[test]
    fn typename_fields_of_an_object_are_counted() {
        let budget = ResponseBudget::new(ResponseLimits { nodes: 10, bytes: 10_000 }, 9);
        assert!(budget.enter_field("leaf", false).now_or_never().is_some());
        assert!(budget.enter_field("object", true).now_or_never().is_none());
    }
}
