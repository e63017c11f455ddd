//! Words to rows. Knows nothing of messages, sessions or vectors.

use std::collections::HashMap;

use crate::understand::marks::is_mark;

/// No such row.
pub(super) const NONE: u32 = u32::MAX;
/// Counts above this make no difference: BM25 is saturated long before.
const MAX_COUNT: u32 = 15;
/// Rows are numbered with the bits that the count leaves.
pub(super) const MAX_ROWS: usize = 1 << 28;

/// A row and how often it has a term, in four bytes: row in the upper 28 bits, count in the lower 4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry(u32);

impl Entry {
    fn new(row: u32, count: u32) -> Self {
        Self(row << 4 | count.clamp(1, MAX_COUNT))
    }

    pub(super) fn row(self) -> u32 {
        self.0 >> 4
    }

    pub(super) fn count(self) -> f32 {
        (self.0 & MAX_COUNT) as f32
    }
}

/// Postings with term counts.
#[derive(Debug, Default)]
pub(super) struct Postings {
    lists: HashMap<Box<str>, Vec<Entry>>,
    bytes: usize,
}

impl Postings {
    /// Notes that a row has the terms. Rows come in ascending order. Returns the length of the row.
    pub(super) fn push(&mut self, row: u32, terms: &[(String, u32)]) -> f32 {
        let mut length = 0_u32;
        for (term, count) in terms.iter().filter(|(term, _)| !is_mark(term)) {
            length = length.saturating_add(*count);
            let entry = Entry::new(row, *count);
            if let Some(list) = self.lists.get_mut(term.as_str()) {
                let before = list.capacity();
                list.push(entry);
                self.bytes += (list.capacity() - before) * size_of::<Entry>();
            } else {
                // The pair and its control byte in the table at a usual load, the word, the first entry.
                self.bytes += (size_of::<(Box<str>, Vec<Entry>)>() + 1) * 8 / 5 + term.len() + size_of::<Entry>();
                self.lists.insert(term.as_str().into(), vec![entry]);
            }
        }
        length as f32
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rows with the term, ascending.
    pub(super) fn of(&self, term: &str) -> &[Entry] {
        self.lists.get(term).map_or(&[], Vec::as_slice)
    }
}
