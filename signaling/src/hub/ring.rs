//! The buffer of recent events of one stream, bounded by count and bytes.
//!
//! Invariant: the entries are contiguous.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::source::NumberedEvent;

#[derive(Debug)]
pub(super) struct Ring {
    events: VecDeque<(Arc<NumberedEvent>, usize)>,
    bytes: usize,
    max_events: usize,
    max_bytes: usize,
}

impl Ring {
    pub(super) fn new(max_events: usize, max_bytes: usize) -> Self {
        Self { events: VecDeque::new(), bytes: 0, max_events, max_bytes }
    }

    /// Adds the newest event. After a gap in the numbers, the older events are dropped.
    ///
    /// A reader that needs them reads the log, which also knows which events are missing.
    pub(super) fn push(&mut self, event: Arc<NumberedEvent>) {
        if self.events.back().is_some_and(|(last, _)| last.seq + 1 != event.seq) {
            self.clear();
        }
        let size = size_of_event(&event);
        self.bytes += size;
        self.events.push_back((event, size));
        while self.events.len() > self.max_events || self.bytes > self.max_bytes {
            let Some((_, size)) = self.events.pop_front() else {
                break;
            };
            self.bytes -= size;
        }
        // Free the memory of a burst.
        if self.events.capacity() > 64 && self.events.len() * 4 < self.events.capacity() {
            self.events.shrink_to(self.events.len() * 2);
        }
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.bytes = 0;
    }

    /// Returns the event with number `seq`, if the ring still has it.
    pub(super) fn get(&self, seq: u64) -> Option<&Arc<NumberedEvent>> {
        let (first, _) = self.events.front()?;
        let index = usize::try_from(seq.checked_sub(first.seq)?).ok()?;
        self.events.get(index).map(|(event, _)| event)
    }
}

/// The size of an event in memory.
fn size_of_event(event: &NumberedEvent) -> usize {
    event.data.get().len() + event.id.len() + event.kind.len() + event.ts.len() + size_of::<NumberedEvent>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn event(seq: u64, size: usize) -> Arc<NumberedEvent> {
        Arc::new(NumberedEvent {
            seq,
            id: String::new(),
            kind: String::new(),
            ts: String::new(),
            data: serde_json::value::to_raw_value(&"x".repeat(size)).unwrap(),
        })
    }

    #[test]
    fn gap_drops_older_events() {
        let mut ring = Ring::new(10, 10_000);
        ring.push(event(1, 1));
        ring.push(event(3, 1));
        assert!(ring.get(1).is_none() && ring.get(2).is_none());
        assert_eq!(ring.get(3).unwrap().seq, 3);
        assert!(ring.get(4).is_none());
    }

    proptest! {
        #[test]
        fn ring_stays_within_its_bounds(sizes in proptest::collection::vec(0usize..400, 1..100)) {
            let mut ring = Ring::new(8, 1500);
            for (index, size) in sizes.iter().enumerate() {
                let seq = index as u64 + 1;
                ring.push(event(seq, *size));
                let held: Vec<_> = (1..=seq).filter_map(|seq| ring.get(seq)).collect();
                prop_assert!(held.len() <= 8);
                prop_assert!(held.iter().map(|event| size_of_event(event)).sum::<usize>() <= 1500);
                prop_assert_eq!(ring.bytes, held.iter().map(|event| size_of_event(event)).sum::<usize>());
                prop_assert!(held.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq));
            }
        }
    }
}
