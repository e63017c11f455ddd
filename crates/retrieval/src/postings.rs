//! The inverted index: maps terms to rows.

use std::{
    collections::{HashMap, hash_map::Entry as MapEntry},
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
};

use recall_text::is_mark;

/// Marks a missing row.
pub(super) const NONE: u32 = u32::MAX;
/// Largest stored count. BM25 saturates long before.
const MAX_COUNT: u32 = 15;
/// Number of rows that fit into the bits of an [`Entry`] that the count leaves.
pub(super) const MAX_ROWS: usize = 1 << 28;

/// A row and the count of a term in it: the row in the upper 28 bits, the count in the lower 4.
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

/// Entries of one term. Half of the terms of a chat occur once and need no list.
#[derive(Debug)]
enum PostingList {
    One(Entry),
    Many(Vec<Entry>),
}

impl PostingList {
    fn entries(&self) -> &[Entry] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Many(entries) => entries,
        }
    }
}

/// Returns the key itself as hash, because the keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0.rotate_left(8) ^ u64::from(*b));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Postings with term counts.
///
/// Terms are identified by 64-bit hashes with a random key. Among 100,000 terms, the probability of any collision is
/// below one in a billion.
#[derive(Debug, Default)]
pub(super) struct Postings {
    key: RandomState,
    lists: HashMap<u64, PostingList, BuildHasherDefault<IdentityHasher>>,
    bytes: usize,
}

impl Postings {
    /// Adds a row with its terms and returns its length. Rows must be added in ascending order.
    pub(super) fn push(&mut self, row: u32, terms: &[(impl AsRef<str>, u32)]) -> f32 {
        let mut length = 0_u32;
        for (term, count) in terms.iter().map(|(term, count)| (term.as_ref(), count)).filter(|(term, _)| !is_mark(term)) {
            length = length.saturating_add(*count);
            let entry = Entry::new(row, *count);
            match self.lists.entry(self.key.hash_one(term)) {
                MapEntry::Vacant(slot) => {
                    // The pair and its control byte in the table at an average load.
                    self.bytes += (size_of::<(u64, PostingList)>() + 1) * 8 / 5;
                    slot.insert(PostingList::One(entry));
                }
                MapEntry::Occupied(mut slot) => match slot.get_mut() {
                    PostingList::One(first) => {
                        let both = vec![*first, entry];
                        self.bytes += both.capacity() * size_of::<Entry>();
                        slot.insert(PostingList::Many(both));
                    }
                    PostingList::Many(entries) => {
                        let before = entries.capacity();
                        entries.push(entry);
                        self.bytes += (entries.capacity() - before) * size_of::<Entry>();
                    }
                },
            }
        }
        length as f32
    }

    /// Returns the approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the entries of a term, ascending by row.
    pub(super) fn entries(&self, term: &str) -> &[Entry] {
        self.lists.get(&self.key.hash_one(term)).map_or(&[], PostingList::entries)
    }
}
