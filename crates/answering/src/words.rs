//! Words of questions and messages, and their plain forms. What classes they belong to is in `classes`.

use std::{collections::HashMap, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use super::classes::is_first_person;

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    /// As written, lower case, without possessive.
    pub(super) plain: String,
    /// Its stem; forms of irregular verbs have the stem of their verb.
    pub(super) stem: String,
    /// It was written with 's.
    pub(super) possessive: bool,
    /// It was written with a capital, not at the start of the text, and is not "I".
    pub(super) proper: bool,
    /// It was written with a capital.
    pub(super) capital: bool,
    /// Where it begins and ends in the text, in bytes; the end is that of the possessive.
    pub(super) span: (usize, usize),
}

/// Lemma, past and participle of a line of the list; the further forms on it carry a mark after a colon.
fn irregular_forms() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let lines = include_str!("../../../data/lexicon/irregular_verbs.txt").lines();
    lines.filter(|l| !l.starts_with('#')).filter_map(|line| {
        let mut forms = line.split_whitespace().map(|f| f.split(':').next().unwrap_or(f));
        Some((forms.next()?, forms.collect()))
    })
}

/// Irregular form to lemma.
static LEMMAS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut lemmas = HashMap::from([("has", "have"), ("gotten", "get"), ("is", "be"), ("are", "be"), ("am", "be")]);
    for (lemma, forms) in irregular_forms() {
        for form in forms {
            // "found" is a form of "find" first.
            lemmas.entry(form).or_insert(lemma);
        }
    }
    lemmas
});

/// Lemma to past.
static PASTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut pasts = HashMap::new();
    for (lemma, forms) in irregular_forms() {
        if let Some(past) = forms.first() {
            pasts.entry(lemma).or_insert(*past);
        }
    }
    pasts
});

/// The past of an irregular verb.
pub(super) fn irregular_past(lemma: &str) -> Option<&'static str> {
    PASTS.get(lemma).copied()
}

/// Whether a word is the past or the participle of a verb, as far as its form tells.
pub(super) fn is_past_form(word: &str) -> bool {
    LEMMAS.contains_key(word) || (word.len() > 4 && word.ends_with("ed"))
}

/// The stem of one lower-case word.
pub(super) fn stem(word: &str) -> String {
    let base = LEMMAS.get(word).copied().filter(|base| *base != "be").unwrap_or(word);
    Stemmer::create(Algorithm::English).stem(base).into_owned()
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<Word> {
    text.unicode_word_indices()
        .enumerate()
        .map(|(place, (start, word))| {
            let lower = word.to_lowercase().replace('’', "'");
            let (plain, possessive) = match lower.strip_suffix("'s") {
                Some(bare @ ("what" | "who" | "where" | "how" | "when")) => (bare.to_owned(), false),
                Some(bare) if !matches!(bare, "it" | "that" | "there" | "he" | "she" | "let") => (bare.to_owned(), true),
                _ => (lower, false),
            };
            // "my parents' house": the segmentation leaves the apostrophe out.
            let end = start + word.len();
            let after = text.get(end..).and_then(|rest| rest.strip_prefix(['\'', '’']));
            let plural_owner = !possessive && plain.ends_with('s') && after.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            let capital = word.starts_with(char::is_uppercase);
            let proper = place > 0 && capital && !is_first_person(&plain);
            Word { stem: stem(&plain), plain, possessive: possessive || plural_owner, proper, capital, span: (start, end) }
        })
        .collect()
}

/// Equal up to a plural ending.
pub(super) fn same_noun(a: &str, b: &str) -> bool {
    a == b || singular(a) == singular(b)
}

/// A noun without its plural ending; words that only look like plurals lose theirs too, so compare and do not show.
pub(super) fn singular(noun: &str) -> &str {
    noun.strip_suffix("es")
        .filter(|n| ["sh", "ch", "x", "ss"].iter().any(|e| n.ends_with(e)))
        .or_else(|| noun.strip_suffix('s').filter(|n| !n.ends_with('s') && n.len() > 1))
        .unwrap_or(noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_verb_share_a_stem() {
        for (a, b) in [("went", "going"), ("bought", "buys"), ("lives", "live"), ("chosen", "choose"), ("had", "has")] {
            assert_eq!(stem(a), stem(b));
        }
    }

    #[test]
    fn possessives_are_told_from_contractions() {
        let found = words("Who is John’s boss, and what's it's name?");
        assert!(found[2].possessive && found[2].plain == "john");
        assert!(!found[5].possessive && !found[6].possessive);
        assert!(words("my parents' house")[1].possessive && words("my parents’ house")[1].possessive);
        assert!(!words("'my parents'")[0].possessive);
    }

    #[test]
    fn nouns_are_compared_without_number() {
        assert!(same_noun("churches", "church") && same_noun("cats", "cat") && !same_noun("bus", "bug"));
    }
}
