//! Splits questions and messages into words with stems. The module `lexicon` has their classes.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use recall_domain::{FirstPerson, PronounForm};

/// One word of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    /// The word in lower case, without possessive.
    pub(super) plain: String,
    /// Its stem. Forms of an irregular verb have the stem of the verb.
    pub(super) stem: String,
    /// Whether it has a possessive ending.
    pub(super) possessive: bool,
    /// Whether it has a capital, is not the first word, and is no first-person word.
    pub(super) proper: bool,
    /// Whether it starts with a capital.
    pub(super) capital: bool,
    /// Its byte range in the text, including the possessive.
    pub(super) span: (usize, usize),
}

/// Returns each irregular verb with its forms. The list marks some forms after a colon, which is dropped.
fn irregular_forms() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let lines = include_str!("../../../data/lexicon/irregular_verbs.txt").lines();
    lines.filter(|l| !l.starts_with('#')).filter_map(|line| {
        let mut forms = line.split_whitespace().map(|f| f.split(':').next().unwrap_or(f));
        Some((forms.next()?, forms.collect()))
    })
}

/// Maps irregular forms to the base form of the verb.
static LEMMAS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut lemmas = HashMap::from([("has", "have"), ("gotten", "get"), ("is", "be"), ("are", "be"), ("am", "be")]);
    for (lemma, forms) in irregular_forms() {
        for form in forms {
            // The first verb in the list has precedence: "found" is a form of "find".
            lemmas.entry(form).or_insert(lemma);
        }
    }
    lemmas
});

/// Maps base forms to past tenses.
static PASTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut pasts = HashMap::new();
    for (lemma, forms) in irregular_forms() {
        if let Some(past) = forms.first() {
            pasts.entry(lemma).or_insert(*past);
        }
    }
    pasts
});

/// Returns the past tense of an irregular verb.
pub(super) fn irregular_past(lemma: &str) -> Option<&'static str> {
    PASTS.get(lemma).copied()
}

/// Whether a word has the form of a past tense or participle.
pub(super) fn is_past_form(word: &str) -> bool {
    LEMMAS.contains_key(word) || (word.len() > 4 && word.ends_with("ed"))
}

/// Plurals that no rule of the stemmer reduces.
const IRREGULAR_PLURALS: [(&str, &str); 5] =
    [("children", "child"), ("grandchildren", "grandchild"), ("wives", "wife"), ("men", "man"), ("women", "woman")];

/// Beginnings of words that British English spells with "our" and American English with "or".
const SPELLED_WITH_OUR: [&str; 14] = [
    "armour",
    "behaviour",
    "colour",
    "favour",
    "flavour",
    "harbour",
    "honour",
    "humour",
    "labour",
    "neighbour",
    "odour",
    "rumour",
    "savour",
    "vapour",
];

/// Returns the American spelling of a word: "favorite" for "favourite".
fn american(word: &str) -> Cow<'_, str> {
    let is_british = SPELLED_WITH_OUR.iter().any(|start| word.starts_with(start));
    if is_british { Cow::Owned(word.replacen("our", "or", 1)) } else { Cow::Borrowed(word) }
}

/// Question words that are often typed with "is" but without its apostrophe: "whats my code".
const WITHOUT_APOSTROPHE: [(&str, &str); 5] = [("whats", "what"), ("whos", "who"), ("wheres", "where"), ("whens", "when"), ("hows", "how")];

/// Returns the stem of a lower-case word. British and American spellings have the same stem.
pub(super) fn stem(word: &str) -> String {
    let american = american(word);
    let word = american.as_ref();
    let word = IRREGULAR_PLURALS.iter().find(|(plural, _)| *plural == word).map_or(word, |(_, singular)| *singular);
    let base = LEMMAS.get(word).copied().filter(|base| *base != "be").unwrap_or(word);
    Stemmer::create(Algorithm::English).stem(base).into_owned()
}

/// Returns the pronoun of the first person that a word is or begins with: "me", "I'm", "we've".
pub(super) fn first_person(word: &str) -> Option<FirstPerson> {
    FirstPerson::of(word.split('\'').next().unwrap_or(word))
}

/// Whether a word refers to the first person.
pub(super) fn is_first_person(word: &str) -> bool {
    first_person(word).is_some()
}

/// Whether a word refers to the first person plural, which means everybody in shared memory.
pub(super) fn is_we(word: &str) -> bool {
    first_person(word).is_some_and(|p| p.plural)
}

/// Whether a word is the first person as a subject: "I", "we".
pub(super) fn is_first_person_subject(word: &str) -> bool {
    first_person(word).is_some_and(|p| p.form == PronounForm::Subject)
}

/// Returns the words of a text.
pub(super) fn words(text: &str) -> Vec<Word> {
    text.unicode_word_indices()
        .enumerate()
        .map(|(position, (start, word))| {
            let lower = word.to_lowercase().replace('’', "'");
            let bare_question = WITHOUT_APOSTROPHE.iter().find(|(typed, _)| *typed == lower);
            let lower = bare_question.map_or(lower, |(_, plain)| (*plain).to_owned());
            let (plain, possessive) = match lower.strip_suffix("'s") {
                Some(bare @ ("what" | "who" | "where" | "how" | "when")) => (bare.to_owned(), false),
                Some(bare) if !matches!(bare, "it" | "that" | "there" | "he" | "she" | "let") => (bare.to_owned(), true),
                _ => (lower, false),
            };
            // "my parents' house": the segmentation omits the apostrophe.
            let end = start + word.len();
            let after = text.get(end..).and_then(|rest| rest.strip_prefix(['\'', '’']));
            let plural_owner = !possessive && plain.ends_with('s') && after.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            let capital = word.starts_with(char::is_uppercase);
            let proper = position > 0 && capital && !is_first_person(&plain);
            Word { stem: stem(&plain), plain, possessive: possessive || plural_owner, proper, capital, span: (start, end) }
        })
        .collect()
}

/// Whether two nouns are equal, ignoring a plural ending.
pub(super) fn same_noun(a: &str, b: &str) -> bool {
    a == b || singular(a) == singular(b)
}

/// Removes the plural ending of a noun.
///
/// Words that only look like plurals lose their ending too, so use the result for comparison only.
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
        for (a, b) in [("favourite", "favorite"), ("neighbours", "neighbor"), ("colour", "colors")] {
            assert_eq!(stem(a), stem(b), "the spelling differs only by country");
        }
        assert_ne!(stem("hour"), stem("hor"));
    }

    #[test]
    fn possessives_are_distinguished_from_contractions() {
        let found = words("Who is John’s boss, and what's it's name?");
        assert!(found[2].possessive && found[2].plain == "john");
        assert!(!found[5].possessive && !found[6].possessive);
        assert!(words("my parents' house")[1].possessive && words("my parents’ house")[1].possessive);
        assert!(!words("'my parents'")[0].possessive);
    }

    #[test]
    fn question_words_need_no_apostrophe() {
        assert_eq!(words("whats my code")[0].plain, "what");
        assert_eq!(words("Whos there")[0].plain, "who");
    }

    #[test]
    fn nouns_are_compared_without_plural_endings() {
        assert!(same_noun("churches", "church") && same_noun("cats", "cat") && !same_noun("bus", "bug"));
    }
}
