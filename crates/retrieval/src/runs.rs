//! Compact lists of rows that share a property, such as a date or a speaker.

/// Ascending rows, stored as runs of consecutive rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// First row and the row after the last.
    runs: Vec<(u32, u32)>,
    rows: usize,
}

impl Runs {
    /// Adds a row. Rows must be added in ascending order, each once.
    pub(super) fn push(&mut self, row: u32) {
        self.rows += 1;
        match self.runs.last_mut() {
            Some((_, end)) if *end == row => *end += 1,
            _ => self.runs.push((row, row + 1)),
        }
    }

    /// Returns the rows, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|(start, end)| *start..*end)
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Returns the bytes held.
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
        fn pushed_rows_are_returned(rows in prop::collection::btree_set(0..200_u32, 0..150)) {
            let mut runs = Runs::default();
            rows.iter().for_each(|r| runs.push(*r));
            prop_assert_eq!(runs.iter().collect::<Vec<_>>(), rows.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(runs.len(), rows.len());
        }
    }
}
