//! Recognises the raised numbers of footnotes, which are no part of the sentence.

/// Fewest letters of a word with a note. Shorter ones are units and symbols, whose numbers are exponents.
const NOTED_LETTERS: usize = 4;

/// Whether a raised text may be the number of a note.
pub(crate) fn is_note_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '*' | '†' | '‡'))
}

/// Whether a note may follow a text: it ends with a long word or a sentence.
pub(crate) fn ends_before_note(text: &str) -> bool {
    let text = text.trim_end();
    let bare = text.trim_end_matches(['.', ',', ';', ':', '”', '"', '’', '»', '?', '!']);
    let letters = bare.chars().rev().take_while(|c| c.is_alphabetic()).count();
    letters >= NOTED_LETTERS || (letters > 0 && bare.len() < text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_follow_words_and_sentences() {
        for text in ["Maria Castellanos", "the default location.", "as she “said”,"] {
            assert!(ends_before_note(text), "{text}");
        }
        for text in ["", "an area of 20 m", "Ca", "10", "a length of 3.", "(x + 1)"] {
            assert!(!ends_before_note(text), "{text}");
        }
        assert!(is_note_number("16") && is_note_number("1,2") && !is_note_number("th") && !is_note_number(""));
    }
}
