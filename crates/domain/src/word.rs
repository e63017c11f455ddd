//! The words by which enums are written in columns, files, events and metrics.

use std::str::FromStr;

/// An enum whose values are written as words.
///
/// A word is the name of its variant in snake case. `strum` derives both directions, and `strum::VariantNames` the list of all words.
/// The words are stored: a variant that gets another name needs `#[strum(serialize = "…")]` with the old word.
pub trait Word: Into<&'static str> + FromStr {
    /// Returns the word of this value.
    fn word(self) -> &'static str {
        self.into()
    }

    /// Returns the value of a word.
    fn parse_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }
}

impl<T: Into<&'static str> + FromStr> Word for T {}

#[cfg(test)]
mod tests {
    use strum::VariantNames;

    use super::*;
    use crate::{
        EntityType, FactStatus, MessageKind, MessageStatus, ModelOperation, NameChange, Polarity, ResourceOrigin, Role, Stance, ViewerRole,
    };

    fn round_trip<T: Word>(words: &[&str]) {
        let read: Vec<Option<&str>> = words.iter().map(|w| T::parse_word(w).map(Word::word)).collect();
        assert_eq!(read, words.iter().map(|w| Some(*w)).collect::<Vec<_>>());
        assert!(T::parse_word("").is_none() && words.iter().all(|w| T::parse_word(&w.to_uppercase()).is_none()));
    }

    #[test]
    fn stored_words_stay_as_they_are() {
        macro_rules! check {
            ($($type:ident = $words:expr;)+) => {$( assert_eq!($type::VARIANTS, $words); round_trip::<$type>($type::VARIANTS); )+};
        }
        check! {
            Role = ["user", "assistant", "document"];
            ViewerRole = ["admin", "user", "anonymous"];
            MessageKind = ["statement", "question", "mixed", "other"];
            MessageStatus = ["processing", "processed", "failed"];
            FactStatus = ["active", "ended", "retracted"];
            Stance = ["supports", "opposes", "ends"];
            Polarity = ["affirmed", "negated", "ended"];
            ResourceOrigin = ["part", "link"];
            NameChange = ["alias", "renamed", "corrected"];
            ModelOperation = ["extract", "answer"];
            EntityType = ["person", "organization", "place", "project", "tool", "concept", "event", "thing"];
        }
    }
}
