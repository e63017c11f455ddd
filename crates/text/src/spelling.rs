//! Computes which words a mistyped word may stand for.

use std::collections::HashMap;

/// Fewest letters of a word that may be mistyped, and of the word that is meant. Short words are near too many others.
const LEAST_LETTERS: usize = 5;
/// Most letters, so that a long string of letters costs nothing.
const MOST_LETTERS: usize = 32;
/// The same for a word with a wrong letter, which is the least certain error.
const LEAST_LETTERS_REPLACED: usize = 7;
/// The rows of a keyboard. The keys above and below are shifted by half a key.
const KEYS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
/// Vowels that sound alike in unstressed syllables: "seperate", "existance", "definate".
const VOWELS: &str = "aei";

/// An error of typing. Earlier ones are more certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TypingError {
    /// Two letters are swapped: "depsoit".
    Swapped,
    /// A letter is missing: "depsit".
    Dropped,
    /// A letter is doubled: "depossit".
    Doubled,
    /// A letter is replaced by one with a near key, or a vowel by one that sounds alike: "depisit", "seperate".
    Replaced,
}

/// Whether a word, as it is written, may be mistyped: a common word of some length. Names and numbers never are.
pub fn may_be_mistyped(word: &str) -> bool {
    (LEAST_LETTERS..=MOST_LETTERS).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase())
}

/// Returns the strings that one error turns into a mistyped word, each with the most certain error; few of them are words.
///
/// The first letter is right. The end of a word is inflected, so no last letter is missing or wrong: a "lessee" is no lesser.
pub fn meant_words(typed: &str) -> HashMap<String, TypingError> {
    let mut meant: HashMap<String, TypingError> = HashMap::new();
    if !may_be_mistyped(typed) {
        return meant;
    }
    let letters = typed.as_bytes();
    let mut add = |word: Vec<u8>, error: TypingError| {
        if let Some(word) = String::from_utf8(word).ok().filter(|word| word != typed && word.len() >= LEAST_LETTERS) {
            let known = meant.entry(word).or_insert(error);
            *known = error.min(*known);
        }
    };
    let last = letters.len() - 1;
    for at in 1..=last {
        if at < last {
            let mut swapped = letters.to_vec();
            swapped.swap(at, at + 1);
            add(swapped, TypingError::Swapped);
        }
        for letter in b'a'..=b'z' {
            let mut whole = letters.to_vec();
            whole.insert(at, letter);
            add(whole, TypingError::Dropped);
        }
        // A "licensee" is no licence.
        let is_ending = at == last && letters[at] == b'e';
        if letters[at] == letters[at - 1] && !is_ending {
            let mut single = letters.to_vec();
            single.remove(at);
            add(single, TypingError::Doubled);
        }
        if at < last && letters.len() >= LEAST_LETTERS_REPLACED {
            for letter in confusable(letters[at]) {
                let mut other = letters.to_vec();
                other[at] = letter;
                add(other, TypingError::Replaced);
            }
        }
    }
    meant
}

/// Returns the letters that are typed for each other.
fn confusable(letter: u8) -> impl Iterator<Item = u8> {
    (b'a'..=b'z').filter(move |other| {
        let both = [letter, *other].map(char::from);
        *other != letter && (are_near(both) || both.iter().all(|letter| VOWELS.contains(*letter)))
    })
}

/// Whether two letters have keys next to each other.
fn are_near(letters: [char; 2]) -> bool {
    let place = |letter: char| KEYS.iter().enumerate().find_map(|(row, keys)| Some((row, keys.find(letter)?)));
    let [Some((row, column)), Some((other_row, other_column))] = letters.map(place) else { return false };
    match row.abs_diff(other_row) {
        0 => column.abs_diff(other_column) == 1,
        // The key below to the left and to the right.
        1 if row < other_row => column == other_column || column == other_column + 1,
        1 => other_column == column || other_column == column + 1,
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use TypingError::{Doubled, Dropped, Replaced, Swapped};

    #[test]
    fn one_error_is_undone() {
        for (typed, meant, error) in [
            ("depsoit", "deposit", Swapped),
            ("depoist", "deposit", Swapped),
            ("comittee", "committee", Dropped),
            ("depossit", "deposit", Doubled),
            ("depositt", "deposit", Doubled),
            ("seperate", "separate", Replaced),
            ("depisit", "deposit", Replaced),
        ] {
            assert_eq!(meant_words(typed).get(meant), Some(&error), "{typed}");
        }
    }

    #[test]
    fn other_words_are_not_meant() {
        for (typed, other) in [
            ("edposit", "deposit"),
            ("rnet", "rent"),
            ("deposi", "deposit"),
            ("Depsoit", "deposit"),
            ("lessee", "lesser"),
            ("licensee", "license"),
            ("subset", "sublet"),
            ("deposut", "deposits"),
            ("imported", "exported"),
            ("room12a", "room121"),
            ("resident", "president"),
        ] {
            assert!(!meant_words(typed).contains_key(other), "{typed}");
        }
        assert!(meant_words(&"a".repeat(100)).is_empty());
    }

    proptest! {
        #[test]
        fn number_of_meant_words_is_bounded(typed in "\\PC{0,40}") {
            prop_assert!(meant_words(&typed).len() <= 40 * MOST_LETTERS);
        }
    }
}
