//! Joins the lines of a paragraph, and words that are divided between them.

use std::collections::HashSet;

/// The words of a document, which tell whether a hyphen at the end of a line belongs to the word.
#[derive(Debug, Default)]
pub(super) struct Words {
    whole: HashSet<String>,
    /// Words with a hyphen within a line.
    compounds: HashSet<String>,
}

const HYPHENS: [char; 3] = ['-', '\u{2010}', '\u{ad}'];

impl Words {
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut words = Self::default();
        for line in lines {
            for word in line.split(|c: char| !c.is_alphabetic() && !HYPHENS.contains(&c)) {
                let word = word.trim_matches(HYPHENS);
                let set = if word.contains(HYPHENS) { &mut words.compounds } else { &mut words.whole };
                if word.len() > 3 && !set.contains(word) {
                    set.insert(word.to_lowercase().replace('\u{2010}', "-"));
                }
            }
        }
        words
    }

    /// Appends a line to a text, with a space or as the rest of a divided word.
    pub(super) fn join(&self, text: &mut String, line: &str) {
        if text.is_empty() {
            text.push_str(line);
            return;
        }
        let divided = text.chars().next_back().filter(|c| HYPHENS.contains(c));
        let first_half =
            text.trim_end_matches(HYPHENS).rsplit(|c: char| !c.is_alphabetic() && !HYPHENS.contains(&c)).next().unwrap_or_default();
        let second_half = line.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        match divided {
            Some(_) if first_half.is_empty() || second_half.is_empty() => {
                // A dash, or a number such as "1990-1995".
                let is_number = text.trim_end_matches(HYPHENS).ends_with(|c: char| c.is_alphanumeric())
                    && line.starts_with(|c: char| c.is_ascii_digit());
                if !is_number {
                    text.push(' ');
                }
            }
            Some('\u{ad}') => {
                text.pop();
            }
            Some(_) => {
                let whole = format!("{first_half}{second_half}").to_lowercase();
                let compound = format!("{first_half}-{second_half}").to_lowercase();
                let is_compound =
                    second_half.starts_with(char::is_uppercase) || (self.compounds.contains(&compound) && !self.whole.contains(&whole));
                if !is_compound {
                    text.pop();
                }
            }
            None => text.push(' '),
        }
        text.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &str, first: &str, second: &str) -> String {
        let mut text = first.to_owned();
        Words::of(words.lines()).join(&mut text, second);
        text
    }

    #[test]
    fn divided_words_are_joined_and_compounds_keep_their_hyphen() {
        assert_eq!(joined("", "the hyphen-", "ation of words"), "the hyphenation of words");
        assert_eq!(joined("a self-hosted server", "a self-", "hosted one"), "a self-hosted one");
        assert_eq!(joined("", "Jean-", "Luc"), "Jean-Luc");
        assert_eq!(joined("", "from 1990-", "1995"), "from 1990-1995");
        assert_eq!(joined("", "a dash -", "and more"), "a dash - and more");
        assert_eq!(joined("", "no", "hyphen"), "no hyphen");
        assert_eq!(joined("", "soft\u{ad}", "ware"), "software");
    }
}
