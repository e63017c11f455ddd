//! Words to rows. Knows nothing of messages, sessions or vectors.

use std::{
    collections::{HashMap, hash_map::Entry as Place},
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
};

use recall_text::is_mark;

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

/// Entries of one term. Every second term of a chat is said once, and needs no list of its own.
#[derive(Debug)]
enum List {
    One(Entry),
    Many(Vec<Entry>),
}

impl List {
    fn entries(&self) -> &[Entry] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Many(entries) => entries,
        }
    }
}

/// Takes a key for its own hash: the keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
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

/// Postings with term counts. Terms are known by 64-bit hashes with a random key; among 100,000 terms the chance that any
/// two are taken for one is below one in a thousand million.
#[derive(Debug, Default)]
pub(super) struct Postings {
    key: RandomState,
    lists: HashMap<u64, List, BuildHasherDefault<Hashed>>,
    bytes: usize,
}

impl Postings {
    /// Notes that a row has the terms. Rows come in ascending order. Returns the length of the row.
    pub(super) fn push(&mut self, row: u32, terms: &[(String, u32)]) -> f32 {
        let mut length = 0_u32;
        for (term, count) in terms.iter().filter(|(term, _)| !is_mark(term)) {
            length = length.saturating_add(*count);
            let entry = Entry::new(row, *count);
            match self.lists.entry(self.key.hash_one(term.as_str())) {
                Place::Vacant(place) => {
                    // The pair and its control byte in the table at a usual load.
                    self.bytes += (size_of::<(u64, List)>() + 1) * 8 / 5;
                    place.insert(List::One(entry));
                }
                Place::Occupied(mut place) => match place.get_mut() {
                    List::One(first) => {
                        let both = vec![*first, entry];
                        self.bytes += both.capacity() * size_of::<Entry>();
                        place.insert(List::Many(both));
                    }
                    List::Many(entries) => {
                        let before = entries.capacity();
                        entries.push(entry);
                        self.bytes += (entries.capacity() - before) * size_of::<Entry>();
                    }
                },
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
        self.lists.get(&self.key.hash_one(term)).map_or(&[], List::entries)
    }
}
