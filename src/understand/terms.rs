//! Index terms: the words of a text in the form in which they are compared. Knows nothing of the index.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

/// Words that stand in almost every message and tell none apart. Sorted.
const STOP: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "my", "of", "on", "or", "our", "she", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "up", "us", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "you", "your", "am", "can", "could",
    "not", "no", "s", "t", "m", "re", "ve", "ll", "d", "don", "im", "dont", "about", "also", "any", "because", "being", "very",
];

/// Longest term kept; a longer run is data, not a word.
const MAX_TERM_BYTES: usize = 128;

/// The terms of a text with their counts, in order of first appearance: Unicode words, lower case, without
/// possessive, stemmed by Porter's English algorithm, without stop words.
pub fn terms(text: &str) -> Vec<(String, u32)> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut found: Vec<(String, u32)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for word in text.unicode_words() {
        for part in word.split(['\'', '’']) {
            let lower = part.to_lowercase();
            let length = lower.chars().count();
            if length == 0
                || length > MAX_TERM
                || STOP.contains(&lower.as_str())
                || (length == 1 && !lower.chars().all(char::is_alphanumeric))
            {
                continue;
            }
            let term = if lower.chars().any(char::is_numeric) { lower } else { stemmer.stem(&lower).into_owned() };
            if let Some(&i) = place.get(&term) {
                out[i].1 = out[i].1.saturating_add(1);
            } else {
                place.insert(term.clone(), out.len());
                out.push((term, 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stemmed_counted_and_kept_in_order() {
        assert_eq!(
            terms("Mary's running, and Mary runs in 2023!"),
            vec![("mari".to_owned(), 2), ("run".to_owned(), 2), ("2023".to_owned(), 1)]
        );
        assert!(terms("the of and").is_empty());
        assert!(STOP.is_sorted());
    }
}
