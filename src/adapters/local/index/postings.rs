//! Words to rows, and BM25 over them. Knows nothing of messages, sessions or vectors.

use std::collections::HashMap;

use super::rank::Tuning;

/// No such row.
pub(super) const NONE: u32 = u32::MAX;
/// Counts above this make no difference: BM25 is saturated long before.
const MAX_COUNT: u32 = 15;
/// Rows are numbered with the bits that the count leaves.
pub(super) const MAX_ROWS: usize = 1 << 28;

/// Postings with term counts, four bytes each: row in the upper 28 bits, count in the lower 4.
#[derive(Debug, Default)]
pub(super) struct Postings {
    lists: HashMap<Box<str>, Vec<u32>>,
    bytes: usize,
}

impl Postings {
    /// Notes that a row has the terms. Rows come in ascending order. Returns the length of the row.
    pub(super) fn push(&mut self, row: u32, terms: &[(String, u32)]) -> f32 {
        let mut length = 0_u32;
        for (term, count) in terms {
            length = length.saturating_add(*count);
            let entry = row << 4 | (*count).clamp(1, MAX_COUNT);
            if let Some(list) = self.lists.get_mut(term.as_str()) {
                let before = list.capacity();
                list.push(entry);
                self.bytes += (list.capacity() - before) * size_of::<u32>();
            } else {
                // The pair and its control byte in the table at a usual load, the word, the first entry.
                self.bytes += (size_of::<(Box<str>, Vec<u32>)>() + 1) * 8 / 5 + term.len() + size_of::<u32>();
                self.lists.insert(term.as_str().into(), vec![entry]);
            }
        }
        length as f32
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rows with the term and how often they have it.
    fn of(&self, term: &str) -> &[u32] {
        self.lists.get(term).map_or(&[], Vec::as_slice)
    }
}

/// What BM25 needs to know of the rows.
pub(super) struct Rows<'a> {
    /// Length of each row in terms.
    pub(super) lengths: &'a [f32],
    /// The row before it in its session, or [`NONE`].
    pub(super) previous: &'a [u32],
    /// The row after it in its session, or [`NONE`].
    pub(super) next: &'a [u32],
    /// Sum of `lengths`.
    pub(super) total_length: f64,
}

/// BM25 (Robertson et al. 1994) of every row, 0 where nothing matches. A row counts as its own terms plus, at a
/// discount, those of the message before it: an answer rarely repeats the words of its question. `tags` are lists
/// of rows (ascending) that count as having one more term: a date word, or a speaker.
pub(super) fn bm25(postings: &Postings, rows: &Rows<'_>, terms: &[String], tags: &[&[u32]], tuning: &Tuning) -> Vec<f32> {
    let count = rows.lengths.len();
    let mut scores = vec![0.0_f32; count];
    let mut counts = vec![0.0_f32; count];
    let mut touched: Vec<u32> = Vec::new();
    let average = ((rows.total_length / count.max(1) as f64) as f32 * (1.0 + tuning.previous)).max(1.0);
    let mut settle = |touched: &mut Vec<u32>, counts: &mut [f32], frequency: usize, weight: f32| {
        let (n, df) = (count as f32, frequency as f32);
        let idf = (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln();
        for row in touched.drain(..) {
            let row = row as usize;
            let tf = std::mem::take(&mut counts[row]);
            if tf > 0.0 {
                let before = rows.lengths.get(rows.previous[row] as usize).copied().unwrap_or(0.0);
                let length = rows.lengths[row] + tuning.previous * before;
                let norm = tuning.k1 * (1.0 - tuning.b + tuning.b * length / average);
                scores[row] += weight * idf * tf * (tuning.k1 + 1.0) / (tf + norm);
            }
        }
    };
    for term in terms {
        let list = postings.of(term);
        for entry in list {
            let row = (entry >> 4) as usize;
            let tf = (entry & 0xf) as f32;
            counts[row] += tf;
            touched.push(entry >> 4);
            if let Some(count) = counts.get_mut(rows.next[row] as usize) {
                *count += tuning.previous * tf;
                touched.push(rows.next[row]);
            }
        }
        settle(&mut touched, &mut counts, list.len(), 1.0);
    }
    for list in tags {
        for row in *list {
            counts[*row as usize] += 1.0;
            touched.push(*row);
        }
        settle(&mut touched, &mut counts, list.len(), tuning.tag);
    }
    scores
}
