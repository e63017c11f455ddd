//! Rows that share something for a while: a date, a speaker.

/// A list of ascending rows, kept as runs of rows that follow each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// First row and the row after the last.
    runs: Vec<(u32, u32)>,
    rows: usize,
}

impl Runs {
    /// Adds a row. Rows come in ascending order, each once.
    pub(super) fn push(&mut self, row: u32) {
        self.rows += 1;
        match self.runs.last_mut() {
            Some((_, end)) if *end == row => *end += 1,
            _ => self.runs.push((row, row + 1)),
        }
    }

    /// The rows, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|(start, end)| *start..*end)
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.runs.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_pushed_comes_back(rows in prop::collection::btree_set(0..200_u32, 0..150)) {
            let mut runs = Runs::default();
            rows.iter().for_each(|r| runs.push(*r));
            prop_assert_eq!(runs.iter().collect::<Vec<_>>(), rows.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(runs.len(), rows.len());
        }
    }
}
