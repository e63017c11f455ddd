//! The terms by which sentences are paired: one for all words that mean the same.

use std::collections::BTreeSet;

use recall_text::{concepts, is_stop_word};
use unicode_segmentation::UnicodeSegmentation;

/// Returns the terms of a text without stop words, one for all synonyms.
pub(super) fn common_terms(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.unicode_words().collect();
    let is_stop = |word: &str| is_stop_word(word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word));
    concepts(words.iter().copied()).into_iter().zip(&words).filter(|(_, word)| !is_stop(word)).map(|(term, _)| term).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_have_one_term() {
        assert_eq!(common_terms("Staff receive vacations"), common_terms("Employees get annual leave"));
        assert_ne!(common_terms("guests"), common_terms("employees"));
        assert!(common_terms("the of and who’s").is_empty());
    }
}
