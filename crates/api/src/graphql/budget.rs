//! What one answer may hold, and how much of it is made at a time.
//!
//! Costs are estimated before an operation runs; the budget counts what it really finds. Every field that is resolved, and every
//! item of a list, passes [`AnswerBudget::enter`]. Once the budget is spent no field goes further, and the driver of the operation
//! ([`super::batch`]) drops it, so memory is never spent on more than the budget. The same gate makes a large answer in slices, so
//! that it holds no thread of the runtime.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use async_graphql::Value;
use axum::http::StatusCode;

use crate::error::ApiError;

/// Fields that are resolved, or as much other work, before the task lets others run.
const SLICE: usize = 50;
/// Fields from which on an answer is large: few large ones are made at a time, because each takes megabytes.
const LARGE: usize = 5_000;
/// Bytes that may be read for each byte of an answer: what is not asked for is read as well.
const LOADED_PER_BYTE: usize = 10;
/// Bytes that JSON adds to a field: quotes, colon and comma.
const JSON_BYTES: usize = 4;

/// Bounds of one answer.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLimits {
    /// Fields and items of lists.
    pub nodes: usize,
    /// Bytes of JSON, estimated.
    pub bytes: usize,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        // GraphiQL's introspection query passes; the browser tests run it.
        Self { nodes: 50_000, bytes: 2_000_000 }
    }
}

/// The budget of one answer.
#[derive(Debug)]
pub(crate) struct AnswerBudget {
    limits: AnswerLimits,
    /// What the fields of an object cost that the library resolves by itself.
    typenames: usize,
    nodes: AtomicUsize,
    bytes: AtomicUsize,
    loaded: AtomicUsize,
    slice: AtomicUsize,
    /// Fields that wait for a slice, each with whether it still does.
    waiting: Mutex<VecDeque<(Waker, Arc<AtomicBool>)>>,
}

impl Default for AnswerBudget {
    fn default() -> Self {
        Self::new(AnswerLimits::default(), 0)
    }
}

impl AnswerBudget {
    /// `typenames` is how many `__typename` fields an object has at most.
    pub(crate) fn new(limits: AnswerLimits, typenames: usize) -> Self {
        let count = || AtomicUsize::new(0);
        Self { limits, typenames, nodes: count(), bytes: count(), loaded: count(), slice: count(), waiting: Mutex::default() }
    }

    /// Refuses an answer that exceeds the budget.
    ///
    /// # Errors
    /// `RESPONSE_TOO_LARGE`.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        if self.is_exceeded() { Err(self.refusal()) } else { Ok(()) }
    }

    /// Counts a field under a name and lets it be resolved, now or in a later slice; never, once the budget is spent.
    pub(crate) async fn enter(&self, name: &str, is_object: bool) {
        let typenames = if is_object { self.typenames } else { 0 };
        // "__typename":"Session"
        self.spend(name.len() + JSON_BYTES + typenames * 24);
        self.work(1 + typenames).await;
    }

    /// Counts work that is as much as resolving so many fields, and waits until a slice has room for it; for ever, once the budget
    /// is spent. What a field does after it has waited for a read passes here, because all that waited go on at once.
    pub(crate) async fn work(&self, fields: usize) {
        self.nodes.fetch_add(fields, Ordering::Relaxed);
        let mut waits = None;
        std::future::poll_fn(|context| self.poll(context, &mut waits, fields)).await;
    }

    fn poll(&self, context: &mut Context<'_>, waits: &mut Option<Arc<AtomicBool>>, fields: usize) -> Poll<()> {
        if self.is_exceeded() || waits.as_ref().is_some_and(|waits| waits.load(Ordering::Relaxed)) {
            return Poll::Pending;
        }
        if self.slice.load(Ordering::Relaxed) >= SLICE {
            // In a queue, so that the next slice polls the fields that it resolves and no others.
            let still = waits.insert(Arc::new(AtomicBool::new(true))).clone();
            self.waiting().push_back((context.waker().clone(), still));
            return Poll::Pending;
        }
        self.slice.fetch_add(fields, Ordering::Relaxed);
        Poll::Ready(())
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<(Waker, Arc<AtomicBool>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a value of the answer.
    pub(crate) fn value(&self, value: &Value) {
        self.spend(size(value));
    }

    /// Counts bytes of the answer.
    pub(crate) fn spend(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that were read from the store, whether they become part of the answer or not.
    pub(crate) fn load(&self, bytes: usize) {
        self.loaded.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Begins a slice.
    pub(super) fn resume(&self) {
        self.slice.store(0, Ordering::Relaxed);
        let next: Vec<_> = {
            let mut waiting = self.waiting();
            let count = waiting.len().min(SLICE);
            waiting.drain(..count).collect()
        };
        for (waker, still) in next {
            still.store(false, Ordering::Relaxed);
            waker.wake();
        }
    }

    /// Whether fields wait for the next slice.
    pub(super) fn is_paused(&self) -> bool {
        !self.waiting().is_empty()
    }

    /// Whether the answer is one of those of which few are made at a time.
    pub(super) fn is_large(&self) -> bool {
        self.nodes.load(Ordering::Relaxed) > LARGE
    }

    /// Begins another answer of the same operation.
    pub(super) fn reset(&self) {
        self.nodes.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.loaded.store(0, Ordering::Relaxed);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.nodes.load(Ordering::Relaxed) > self.limits.nodes
            || self.bytes.load(Ordering::Relaxed) > self.limits.bytes
            || self.loaded.load(Ordering::Relaxed) > self.limits.bytes.saturating_mul(LOADED_PER_BYTE)
    }

    /// Says what was exceeded.
    pub(super) fn refusal(&self) -> ApiError {
        let (count, what) = match self.nodes.load(Ordering::Relaxed) > self.limits.nodes {
            true => (self.limits.nodes, "fields"),
            false => (self.limits.bytes, "bytes"),
        };
        let message = format!("The answer has more than {count} {what}, which is the limit. Ask for smaller pages or fewer fields.");
        ApiError::refused(StatusCode::BAD_REQUEST, "RESPONSE_TOO_LARGE", message)
    }
}

/// Bytes of a value as JSON, about.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Enum(name) => name.len() + 2,
        Value::Binary(bytes) => bytes.len() * 4,
        Value::Number(_) => 8,
        Value::Null | Value::Boolean(_) => 4,
        Value::List(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value) + JSON_BYTES).sum::<usize>() + 2,
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::{Name, indexmap::IndexMap};
    use futures_util::FutureExt;

    use super::*;

    fn budget(nodes: usize, bytes: usize) -> AnswerBudget {
        AnswerBudget::new(AnswerLimits { nodes, bytes }, 0)
    }

    #[test]
    fn spent_budget_lets_no_field_further() {
        let budget = budget(2, 1_000);
        assert!(budget.enter("a", false).now_or_never().is_some());
        assert!(budget.enter("b", true).now_or_never().is_some());
        assert!(!budget.is_exceeded());
        assert!(budget.enter("c", false).now_or_never().is_none());
        assert!(budget.is_exceeded());
        assert!(budget.refusal().message().contains("more than 2 fields"));
    }

    #[test]
    fn bytes_are_counted_as_json() {
        let budget = budget(1_000, 50);
        budget.value(&Value::from("x".repeat(49)));
        assert!(budget.is_exceeded());
        assert!(budget.refusal().message().contains("more than 50 bytes"));
        let nested = Value::Object(IndexMap::from_iter([(Name::new("list"), Value::List(vec![Value::from(1); 100]))]));
        assert!(size(&nested) >= 900);
    }

    #[test]
    fn large_answer_is_made_in_slices() {
        let budget = budget(SLICE * 3, usize::MAX);
        for _ in 0..SLICE {
            assert!(budget.enter("a", false).now_or_never().is_some());
        }
        assert!(budget.enter("a", false).now_or_never().is_none() && budget.is_paused());
        budget.resume();
        assert!(budget.enter("a", false).now_or_never().is_some() && !budget.is_paused());
    }

    #[test]
    fn typename_fields_of_an_object_are_counted() {
        let budget = AnswerBudget::new(AnswerLimits { nodes: 10, bytes: 10_000 }, 9);
        assert!(budget.enter("leaf", false).now_or_never().is_some());
        assert!(budget.enter("object", true).now_or_never().is_none());
    }
}
