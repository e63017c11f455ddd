//! Filters citation marks in a streamed answer: `[2]`, `[2, 5]`, `[2][5]`.
//!
//! Marks of items that do not exist are removed before the text is shown. Other square brackets stay.

/// Most bytes that are held back for a possible mark.
const LONGEST: usize = 48;

/// Filters an answer piece by piece and collects its citations.
pub(crate) struct CitationMarks {
    items: usize,
    /// A possible mark from its bracket on, with the white space before it.
    held: String,
    cited: Vec<usize>,
    dropped: u64,
    /// A bracket that is not a mark was returned and may still be open. Removing a mark inside it must not create a new
    /// mark.
    open: bool,
}

impl CitationMarks {
    /// Makes a filter for the items 1 to `items`.
    pub(crate) fn new(items: usize) -> Self {
        Self { items, held: String::new(), cited: Vec::new(), dropped: 0, open: false }
    }

    /// Takes a piece and returns the text that can be shown. A possible start of a mark is held back.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            self.held.push(c);
            let inside = self.held.trim_start().starts_with('[');
            if inside && c == ']' {
                out.push_str(&self.mark());
            } else if inside && c == '[' && self.held.trim_start().len() > 1 {
                // The previous bracket was not a mark; this one may be.
                self.held.pop();
                out.push_str(&std::mem::take(&mut self.held));
                self.held.push('[');
                self.open = true;
            } else if !inside && !c.is_whitespace() || self.held.len() > LONGEST {
                out.push_str(&std::mem::take(&mut self.held));
                self.open &= c != ']';
            }
        }
        out
    }

    /// Returns the text that is still held back.
    pub(crate) fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Returns the cited items in order of first appearance.
    pub(crate) fn cited(&self) -> &[usize] {
        &self.cited
    }

    /// Returns how many marks were removed.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the text for the bracket that was just closed.
    fn mark(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let inner = held.trim().trim_start_matches('[').trim_end_matches(']');
        let parts: Vec<&str> = inner.split([',', ';']).map(str::trim).collect();
        if !parts.iter().all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_digit())) {
            return held;
        }
        let known: Vec<usize> = parts.iter().filter_map(|p| p.parse().ok()).filter(|n| (1..=self.items).contains(n)).collect();
        self.dropped += (parts.len() - known.len()) as u64;
        for n in &known {
            if !self.cited.contains(n) {
                self.cited.push(*n);
            }
        }
        let open = std::mem::take(&mut self.open);
        if known.is_empty() {
            return if open { "…".to_owned() } else { String::new() };
        }
        let space: String = held.chars().take_while(|c| c.is_whitespace()).collect();
        known.iter().fold(space, |text, n| format!("{text}[{n}]"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(pieces: &[&str], items: usize) -> (String, Vec<usize>, u64) {
        let mut marks = CitationMarks::new(items);
        let mut text: String = pieces.iter().map(|p| marks.push(p)).collect();
        text.push_str(&marks.end());
        (text, marks.cited().to_vec(), marks.dropped())
    }

    #[test]
    fn marks_of_unknown_items_are_removed() {
        for (pieces, text, cited, dropped) in [
            (&["Mary lives in Ghent [2]."][..], "Mary lives in Ghent [2].", vec![2], 0),
            (&["A [", "1", "] b", " [9", "9]", "."], "A [1] b.", vec![1], 1),
            (&["A [1, 3; 7] b."], "A [1][3] b.", vec![1, 3], 1),
            (&["A [3][1][3]."], "A [3][1][3].", vec![3, 1], 0),
            (&["A [0] [4]"], "A", vec![], 2),
            (&["A [see 1] [x"], "A [see 1] [x", vec![], 0),
            (&["A [a[2]"], "A [a[2]", vec![2], 0),
            (&["A [99999999999999999999999]"], "A", vec![], 1),
            (&["A [[6]1] [1[9]2] [x[7]"], "A […1] [1…2] [x…", vec![], 3),
            (&["A [] "], "A [] ", vec![], 0),
        ] {
            assert_eq!(filter(pieces, 3), (text.to_owned(), cited, dropped), "{pieces:?}");
        }
    }

    proptest! {
        #[test]
        fn result_does_not_depend_on_the_pieces(text in "[a-c \\[\\]0-9,]{0,40}", cut in prop::collection::vec(0usize..40, 0..6)) {
            let mut at: Vec<usize> = cut.into_iter().map(|c| c.min(text.len())).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&str> = at.windows(2).map(|w| &text[w[0]..w[1]]).collect();
            let whole = filter(&[&text], 5);
            prop_assert_eq!(&filter(&pieces, 5), &whole);
            prop_assert!(whole.1.iter().all(|n| (1..=5).contains(n)));
            // Filtering the result again removes nothing.
            prop_assert_eq!(filter(&[&whole.0], 5).1.len(), whole.1.len());
        }
    }
}
