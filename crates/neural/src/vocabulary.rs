//! The word pieces that the network knows.

/// Sorted word pieces. The number of a piece is its place in the sorted list, which is also its row in the table of embeddings.
#[derive(Debug)]
pub struct Vocabulary {
    text: &'static str,
    /// Offset of each line, and the end of the last one.
    lines: Vec<u32>,
}

/// Longest word that is split into pieces, in characters. A longer one is unknown.
const MAX_WORD: usize = 64;
/// Marks a piece that continues a word.
const CONTINUED: &str = "##";

impl Vocabulary {
    /// Indexes a sorted list with one piece per line.
    ///
    /// The text stays where it is; the index takes four bytes per piece.
    pub fn new(text: &'static str) -> Self {
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)));
        Self { text, lines }
    }

    /// Returns the number of pieces.
    pub fn len(&self) -> usize {
        self.lines.len() - 1
    }

    /// Whether there is no piece.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of a piece.
    pub fn find(&self, piece: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.line(middle).cmp(piece) {
                std::cmp::Ordering::Equal => return u32::try_from(middle).ok(),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn line(&self, number: usize) -> &str {
        let (start, end) = (self.lines[number] as usize, self.lines[number + 1] as usize);
        self.text.get(start..end.saturating_sub(1)).unwrap_or_default()
    }

    /// Splits a word without spaces into the longest known pieces, and pushes their numbers. Returns false for an unknown word.
    pub fn split(&self, word: &str, out: &mut Vec<u32>) -> bool {
        let before = out.len();
        if word.chars().count() > MAX_WORD {
            return false;
        }
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() {
            let prefix = if rest.len() == word.len() { "" } else { CONTINUED };
            let found = rest.char_indices().rev().find_map(|(at, last)| {
                let end = at + last.len_utf8();
                piece.clear();
                piece.push_str(prefix);
                piece.push_str(&rest[..end]);
                self.find(&piece).map(|id| (id, end))
            });
            let Some((id, end)) = found else {
                out.truncate(before);
                return false;
            };
            out.push(id);
            rest = &rest[end..];
        }
        true
    }
}
