//! Computes what the index stores of a message: its terms, and marks for properties of the message.
//!
//! A mark is stored like a term, so the stores need no code for it. It begins with a sign before a letter, as no term does.

use unicode_segmentation::UnicodeSegmentation;

use super::terms::terms;

/// Mark whose count is the number of names inside the sentences of a message.
pub const NAMES: &str = "#names";
/// Mark of a message that ends with a question.
pub const ASKS: &str = "#asks";
/// Mark of a question to the server, and of its answer. Both repeat what other texts tell. The use cases set it.
pub const CONSULTS: &str = "#consults";

/// Largest count of [`NAMES`].
const MOST_NAMES: u32 = 15;

/// Whether a term is a mark.
pub fn is_mark(term: &str) -> bool {
    matches!(term, NAMES | ASKS | CONSULTS)
}

/// Returns terms and marks of a message. Queries use [`terms`] alone.
pub fn index_terms(text: &str) -> Vec<(String, u32)> {
    let mut found = terms(text);
    let count_names = count_names(text);
    if count_names > 0 {
        found.push((NAMES.to_owned(), count_names));
    }
    if ends_with_question(text) {
        found.push((ASKS.to_owned(), 1));
    }
    found
}

/// Counts the capitalised words that directly follow a lower-case word.
///
/// The first word of a sentence always has a capital, and a name after a comma is often the addressee.
fn count_names(text: &str) -> u32 {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
    };
    let inside = |at: usize| {
        let mut before = text.get(..at).unwrap_or_default().chars().rev();
        before.next() == Some(' ') && before.next().is_some_and(char::is_lowercase)
    };
    let found = text.unicode_word_indices().filter(|(at, word)| capitalised(word) && inside(*at)).take(MOST_NAMES as usize);
    found.count() as u32
}

/// Whether the last sentence is a question. Notes in brackets after it ("[photo of a dog]") are ignored.
fn ends_with_question(text: &str) -> bool {
    let mut rest = text.trim_end();
    while let Some(open) = rest.strip_suffix(']').and_then(|r| r.rfind('[')) {
        rest = rest.get(..open).unwrap_or_default().trim_end();
    }
    rest.chars().rev().find(|c| c.is_alphanumeric() || matches!(c, '.' | '!' | '?' | '？')).is_some_and(|c| matches!(c, '?' | '？'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_inside_sentences_are_counted_without_addressees() {
        for (text, expected) in [
            ("We flew to Lisbon with Kate", 2),
            ("Thanks, Kate! Great news.", 0),
            ("Did you see it, Kate?", 0),
            ("I think I'm late and I know", 0),
            ("HE SAID NO TO EVERYTHING", 0),
            ("we met at École Normale", 2),
            ("", 0),
        ] {
            assert_eq!(count_names(text), expected, "{text}");
        }
    }

    #[test]
    fn words_with_a_sign_are_not_marks() {
        assert!(index_terms("#\u{c46} #names #asks #consults").iter().all(|(term, _)| !is_mark(term)));
    }

    #[test]
    fn message_asks_if_its_last_sentence_does() {
        for text in ["How are you?", "I moved. And you?!?", "Really? 😀", "(ready?)", "Is it this one? [photo of a key] [photo of a door]"]
        {
            assert!(ends_with_question(text), "{text}");
        }
        for text in ["Why not? I like it.", "How are you? I am fine", "[?]", "", "?? no", "]["] {
            assert!(!ends_with_question(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn marks_of_arbitrary_text_are_not_terms(text in "\\PC{0,80}") {
            prop_assert!(terms(&text).iter().all(|(term, _)| !is_mark(term)));
            let all = index_terms(&text);
            prop_assert_eq!(&all[..terms(&text).len()], &terms(&text)[..]);
            prop_assert!(all.iter().skip(terms(&text).len()).all(|(term, count)| is_mark(term) && *count > 0));
        }
    }
}
