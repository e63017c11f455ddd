//! The bounded buffer of ephemeral events of one stream, which are not numbered and may be lost.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

/// Maximum number of events kept for subscribers that have not read them yet.
const MAX_KEPT: usize = 256;

/// An ephemeral event.
#[derive(Debug)]
pub(super) struct Ephemeral {
    pub(super) kind: String,
    pub(super) data: Value,
    /// The head of the log when the event was sent. A subscriber before that head gets the numbered
    /// events first.
    pub(super) after: u64,
}

#[derive(Debug, Default)]
pub(super) struct EphemeralLog {
    kept: VecDeque<Arc<Ephemeral>>,
    /// Internal number of the first kept event.
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

    /// Returns the number that the next event will get.
    pub(super) fn next(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Returns the first event with number `from` or higher, and its number.
    pub(super) fn get(&self, from: u64) -> Option<(u64, &Arc<Ephemeral>)> {
        let number = from.max(self.first);
        let index = usize::try_from(number - self.first).ok()?;
        Some((number, self.kept.get(index)?))
    }

    /// Returns the number of the first event from `from` on that was sent at `position` or later.
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

    /// Removes all events.
    pub(super) fn clear(&mut self) {
        self.first = self.next();
        self.kept = VecDeque::new();
    }
}
