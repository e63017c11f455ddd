//! Suggests the name that was probably meant.

/// Characters of a word that are compared; every name is shorter.
const COMPARED: usize = 64;
/// Least similarity of a likely name.
const LIKELY: f64 = 0.5;

/// How similar a suggested name must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// Any name is accepted, because the list of names is short.
    Any,
    /// More than half of the word is right.
    Likely,
}

/// Returns the name nearest to a word by edit distance.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>, similarity: Similarity) -> Option<&'n str> {
    let word: String = word.chars().take(COMPARED).collect();
    let least = if similarity == Similarity::Likely { LIKELY } else { 0.0 };
    let score = |name: &str| strsim::normalized_damerau_levenshtein(&word, name);
    names.into_iter().map(|name| (score(name), name)).filter(|(s, _)| *s >= least).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_found_by_edit_distance() {
        let names = ["LIKES", "LIVES_IN", "WORKS_AT"];
        let near = |word: &str, similarity| nearest(word, names, similarity);
        assert_eq!(near("LIKE", Similarity::Likely), Some("LIKES"));
        assert_eq!(near("LIVESIN", Similarity::Likely), Some("LIVES_IN"));
        assert_eq!(near("ZZZZ", Similarity::Likely), None);
        assert!(near("ZZZZ", Similarity::Any).is_some());
        assert_eq!(nearest("LIKES", [], Similarity::Any), None);
        assert_eq!(near(&"LIKES".repeat(1_000_000), Similarity::Likely), None);
    }
}
