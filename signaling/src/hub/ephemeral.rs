//! The events of one stream that are not numbered and may be lost, bounded by count.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

/// How many are kept for subscribers that have not taken them yet.
const MAX_KEPT: usize = 256;

/// One event without number.
#[derive(Debug)]
pub(super) struct Ephemeral {
    pub(super) kind: String,
    pub(super) data: Value,
    /// The head of the log when it was said. Whoever has not got there yet gets the numbered
    /// events first, so that a fragment of an answer never comes after the answer.
    pub(super) after: u64,
}

#[derive(Debug, Default)]
pub(super) struct EphemeralLog {
    kept: VecDeque<Arc<Ephemeral>>,
    /// Number of the first kept one.
    first: u64,
}

impl EphemeralLog {
    pub(super) fn push(&mut self, ephemeral: Ephemeral) {
        if self.kept.len() >= MAX_KEPT {
            self.kept.pop_front();
            self.first += 1;
        }
        self.kept.push_back(Arc::new(ephemeral));
    }

    /// Number of the next one to come.
    pub(super) fn next(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// The first one from number `from` on, with its number.
    pub(super) fn get(&self, from: u64) -> Option<(u64, &Arc<Ephemeral>)> {
        let number = from.max(self.first);
        let index = usize::try_from(number - self.first).ok()?;
        Some((number, self.kept.get(index)?))
    }

    /// Number of the first one from number `from` on that was said at `position` or later.
    pub(super) fn skip_before(&self, position: u64, from: u64) -> u64 {
        let mut number = from;
        while let Some((found, ephemeral)) = self.get(number) {
            if ephemeral.after >= position {
                return found;
            }
            number = found + 1;
        }
        number
    }

    /// Forgets all, when nobody listens any more.
    pub(super) fn clear(&mut self) {
        self.first = self.next();
        self.kept = VecDeque::new();
    }
}
