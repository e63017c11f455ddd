//! What the index knows of a message: its terms, and marks of what kind of message it is. A mark is kept like a term, so
//! that no store needs to know of it; it has a sign before a letter, which no word has.

use unicode_segmentation::UnicodeSegmentation;

use super::terms::terms;

/// Counts the names inside the sentences of a message.
pub const NAMES: &str = "#names";
/// The message ends by asking.
pub const ASKS: &str = "#asks";

/// Names above this many make no difference.
const MOST_NAMES: u32 = 15;

/// Whether a term is a mark.
pub fn is_mark(term: &str) -> bool {
    matches!(term, NAMES | ASKS)
}

/// Terms and marks of a message. A question is compared by its [`terms`] alone.
pub fn index_terms(text: &str) -> Vec<(String, u32)> {
    let mut found = terms(text);
    let names = names(text);
    if names > 0 {
        found.push((NAMES.to_owned(), names));
    }
    if asks(text) {
        found.push((ASKS.to_owned(), 1));
    }
    found
}

/// Capitalised words that stand directly after a word in small letters. The first word of a sentence is capitalised anyway,
/// and after a comma stands who is spoken to.
fn names(text: &str) -> u32 {
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

/// Whether the last sentence is a question; a note in brackets after it ("[photo of a dog]") belongs to no sentence.
fn asks(text: &str) -> bool {
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
    fn names_are_counted_inside_sentences_and_not_who_is_spoken_to() {
        for (text, expected) in [
            ("We flew to Lisbon with Kate", 2),
            ("Thanks, Kate! Great news.", 0),
            ("Did you see it, Kate?", 0),
            ("I think I'm late and I know", 0),
            ("HE SAID NO TO EVERYTHING", 0),
            ("we met at École Normale", 2),
            ("", 0),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn a_sign_with_a_vowel_on_it_is_a_word_and_no_mark() {
        assert!(index_terms("#\u{c46} #names #asks").iter().all(|(term, _)| !is_mark(term)));
    }

    #[test]
    fn a_message_asks_when_its_last_sentence_does() {
        for text in ["How are you?", "I moved. And you?!?", "Really? 😀", "(ready?)", "Is it this one? [photo of a key] [photo of a door]"]
        {
            assert!(asks(text), "{text}");
        }
        for text in ["Why not? I like it.", "How are you? I am fine", "[?]", "", "?? no", "]["] {
            assert!(!asks(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn marks_are_no_terms_and_any_text_is_read(text in "\\PC{0,80}") {
            prop_assert!(terms(&text).iter().all(|(term, _)| !is_mark(term)));
            let all = index_terms(&text);
            prop_assert_eq!(&all[..terms(&text).len()], &terms(&text)[..]);
            prop_assert!(all.iter().skip(terms(&text).len()).all(|(term, count)| is_mark(term) && *count > 0));
        }
    }
}
