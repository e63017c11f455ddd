//! Computes index terms: the normalised words of a text. This module does not know the index.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

/// Stop words: words of almost every message. Sorted.
const STOP: &[&str] = &[
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "did", "do", "does", "doing",
    "for", "from", "had", "has", "have", "he", "her", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just",
    "me", "my", "of", "on", "or", "our", "ours", "she", "so", "such", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "to", "too", "us", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose",
    "why", "will", "with", "would", "you", "your", "yours",
];

/// Longest term; a longer sequence is data, not a word.
const MAX_TERM_BYTES: usize = 128;

/// Whether a word is a stop word, in any case.
pub fn is_stop_word(word: &str) -> bool {
    STOP.binary_search(&word.to_lowercase().as_str()).is_ok()
}

/// Returns the terms of a text with their counts, in order of first appearance.
///
/// Terms are Unicode words in lower case, without possessive and stop words, stemmed with Porter's English algorithm.
pub fn terms(text: &str) -> Vec<(String, u32)> {
    let mut found: Vec<(String, u32)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (term, _) in words(text) {
        match places.get(&term) {
            Some(&place) => found[place].1 += 1,
            None => {
                places.insert(term.clone(), found.len());
                found.push((term, 1));
            }
        }
    }
    found
}

/// Returns the terms of a text, each with the word that it stands for, in order of appearance.
pub fn words(text: &str) -> impl Iterator<Item = (String, &str)> {
    let stemmer = Stemmer::create(Algorithm::English);
    text.unicode_words().filter_map(move |word| {
        let lower = word.to_lowercase().replace('’', "'");
        let bare = lower.strip_suffix("'s").unwrap_or(&lower);
        if bare.is_empty() || bare.len() > MAX_TERM_BYTES || STOP.binary_search(&bare).is_ok() {
            return None;
        }
        let written = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        Some((stemmer.stem(bare).into_owned(), written))
    })
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
        assert_eq!(words("Mary’s RUNNING").collect::<Vec<_>>(), [("mari".to_owned(), "Mary"), ("run".to_owned(), "RUNNING")]);
        assert!(terms("the of and").is_empty());
        assert!(STOP.is_sorted() && is_stop_word("The") && !is_stop_word("harbour"));
    }
}
