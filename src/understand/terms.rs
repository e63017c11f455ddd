//! Text to index terms for keyword search: Unicode words, lower case, English stems, without the commonest words.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

/// Words too common to find anything by. Question words are among them; names and numbers never are.
const STOP: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "my", "of", "on", "or", "our", "she", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "up", "us", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "you", "your", "am", "can", "could",
    "not", "no", "s", "t", "m", "re", "ve", "ll", "d", "don", "im", "dont", "about", "also", "any", "because", "being", "very",
];

/// Longest term kept, in characters; longer runs are data, not words.
const MAX_TERM: usize = 64;

/// The terms of a text and how often each occurs, in order of first appearance.
pub fn terms(text: &str) -> Vec<(String, u32)> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut out: Vec<(String, u32)> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
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
    out
}

/// The terms of a question, each once, in order of first appearance.
pub fn query_terms(text: &str) -> Vec<String> {
    terms(text).into_iter().map(|(t, _)| t).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stemmed_and_counted_in_order() {
        assert_eq!(
            terms("Hiking and hikes: I hiked 12 trails in 2023!"),
            [("hike".to_owned(), 3), ("12".to_owned(), 1), ("trail".to_owned(), 1), ("2023".to_owned(), 1)]
        );
        assert_eq!(query_terms("Who does John like?"), ["john", "like"]);
        assert_eq!(query_terms("What's Zoë’s dog?"), ["zoë", "dog"]);
        assert!(terms("the and of").is_empty());
    }

    #[test]
    fn question_and_message_meet() {
        let message: Vec<String> = query_terms("We adopted two puppies from shelters.");
        for q in query_terms("Which puppy was adopted from a shelter?") {
            assert!(message.contains(&q), "{q}");
        }
    }
}
