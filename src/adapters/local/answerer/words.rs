//! Words of a question and their plain forms, and the closed classes that matter for reading one. No facts here.

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::EntityType;

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
}

/// Irregular forms that questions use, with their verbs.
const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"),
    ("bought", "buy"),
    ("built", "build"),
    ("came", "come"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("did", "do"),
    ("done", "do"),
    ("drank", "drink"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("felt", "feel"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("gone", "go"),
    ("got", "get"),
    ("gotten", "get"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("had", "have"),
    ("has", "have"),
    ("heard", "hear"),
    ("held", "hold"),
    ("kept", "keep"),
    ("knew", "know"),
    ("known", "know"),
    ("led", "lead"),
    ("left", "leave"),
    ("lost", "lose"),
    ("made", "make"),
    ("meant", "mean"),
    ("met", "meet"),
    ("paid", "pay"),
    ("ran", "run"),
    ("read", "read"),
    ("said", "say"),
    ("sang", "sing"),
    ("saw", "see"),
    ("seen", "see"),
    ("sold", "sell"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("spent", "spend"),
    ("stood", "stand"),
    ("swam", "swim"),
    ("taken", "take"),
    ("taught", "teach"),
    ("thought", "think"),
    ("told", "tell"),
    ("took", "take"),
    ("went", "go"),
    ("won", "win"),
    ("wore", "wear"),
    ("written", "write"),
    ("wrote", "write"),
];

/// Words that open a question or glue it together. They say nothing about what is asked for.
const FUNCTION: &[&str] = &[
    "a",
    "about",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "anyone",
    "anybody",
    "anything",
    "are",
    "aren't",
    "as",
    "at",
    "be",
    "been",
    "being",
    "but",
    "by",
    "can",
    "could",
    "currently",
    "days",
    "did",
    "didn't",
    "do",
    "does",
    "doesn't",
    "doing",
    "don't",
    "else",
    "ever",
    "exactly",
    "for",
    "from",
    "had",
    "has",
    "hasn't",
    "have",
    "haven't",
    "he",
    "her",
    "hers",
    "him",
    "his",
    "how",
    "i",
    "i'm",
    "if",
    "in",
    "into",
    "is",
    "isn't",
    "it",
    "its",
    "just",
    "many",
    "me",
    "mine",
    "moment",
    "much",
    "my",
    "myself",
    "nowadays",
    "now",
    "of",
    "off",
    "on",
    "or",
    "our",
    "ours",
    "out",
    "please",
    "presently",
    "really",
    "recently",
    "right",
    "she",
    "should",
    "so",
    "some",
    "someone",
    "somebody",
    "something",
    "still",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "to",
    "today",
    "too",
    "up",
    "us",
    "usually",
    "was",
    "wasn't",
    "we",
    "were",
    "weren't",
    "what",
    "what's",
    "when",
    "where",
    "where's",
    "whereabouts",
    "which",
    "who",
    "who's",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "would",
    "yet",
    "you",
    "your",
    "yours",
    "again",
    "actually",
    "anymore",
    "longer",
    "no",
    "not",
    "never",
    "before",
    "previously",
    "formerly",
    "earlier",
    "used",
    "currently",
    "present",
    "time",
    "times",
];

/// What a person does who only asks for what is known.
const ASKING: &[&str] = &[
    "know", "tell", "remember", "recal", "recall", "say", "mention", "rememb", "inform", "info", "thing", "everyth", "anyth", "fact",
    "learn", "told",
];

/// Prepositions and particles that belong to a verb.
pub(super) const PARTICLES: &[&str] = &[
    "in",
    "on",
    "at",
    "to",
    "for",
    "with",
    "of",
    "from",
    "into",
    "over",
    "up",
    "down",
    "about",
    "against",
    "upon",
    "off",
    "out",
    "by",
    "away",
    "through",
    "under",
    "near",
    "after",
    "using",
    "alongside",
];

/// Prepositions whose place "where" takes.
pub(super) const PLACE_PARTICLES: &[&str] = &["in", "at", "to", "near", "from", "on"];

/// Nouns that name a class of things: "which city", "what tools".
const CLASSES: &[(&str, &[EntityType])] = &[
    ("person people man men woman women guy girl boy folk human", &[EntityType::Person]),
    (
        "company companies organization organisation employer firm team school university college club band department",
        &[EntityType::Organization],
    ),
    (
        "city cities town country countries village place region state area location neighborhood neighbourhood district continent venue",
        &[EntityType::Place],
    ),
    ("project product initiative repository repo app application service work", &[EntityType::Project, EntityType::Tool]),
    (
        "tool language database framework library software editor stack technology tech technologies platform program programming system",
        &[EntityType::Tool, EntityType::Thing],
    ),
    ("event conference concert festival", &[EntityType::Event]),
    ("hobby hobbies activity activities sport sports topic subject genre music", &[EntityType::Concept, EntityType::Thing]),
    (LOOSE, &[EntityType::Thing, EntityType::Concept]),
    ("thing things item object", &[EntityType::Thing, EntityType::Concept]),
];

/// Kinds of things that share one type, so that the type does not say whether a car or a cake was meant.
const LOOSE: &str = "pet animal animals food dish meal drink book movie film song game car vehicle";

fn stemmer() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

/// The stem of one lower-case word.
pub(super) fn stem(word: &str) -> String {
    let base = IRREGULAR.iter().find(|(form, _)| *form == word).map_or(word, |(_, base)| base);
    stemmer().stem(base).into_owned()
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<Word> {
    text.unicode_words()
        .enumerate()
        .map(|(place, word)| {
            let lower = word.to_lowercase().replace('’', "'");
            let (plain, possessive) = match lower.strip_suffix("'s") {
                Some(bare) if !matches!(bare, "it" | "that" | "there" | "he" | "she" | "let") => (bare.to_owned(), true),
                _ => (lower, false),
            };
            let proper = place > 0 && word.starts_with(char::is_uppercase) && !is_first_person(&plain);
            Word { stem: stem(&plain), plain, possessive, proper }
        })
        .collect()
}

/// Whether a word only holds a question together.
pub(super) fn is_function(word: &Word) -> bool {
    FUNCTION.contains(&word.plain.as_str())
}

/// Whether a word only says that something is asked.
pub(super) fn is_asking(word: &Word) -> bool {
    ASKING.contains(&word.stem.as_str())
}

/// Whether a word stands for the person who asks.
pub(super) fn is_first_person(word: &str) -> bool {
    matches!(word, "i" | "me" | "my" | "mine" | "myself" | "we" | "us" | "our" | "ours" | "i'm" | "i've" | "we're" | "we've")
}

/// Types that a class noun stands for.
pub(super) fn class_of(word: &Word) -> Option<&'static [EntityType]> {
    let singular = word.plain.strip_suffix('s').unwrap_or(&word.plain);
    CLASSES.iter().find(|(nouns, _)| nouns.split(' ').any(|n| n == word.plain || n == singular)).map(|(_, types)| *types)
}

/// Whether a class noun says more than its types do.
pub(super) fn is_loose(word: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    LOOSE.split(' ').any(|n| n == word || n == singular)
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
        assert!(!found[6].possessive);
    }

    #[test]
    fn class_nouns_name_types() {
        assert_eq!(class_of(&words("sunset")[0]), None);
        assert!(class_of(&words("city")[0]).is_some_and(|t| t.contains(&EntityType::Place)));
        assert!(class_of(&words("tools")[0]).is_some_and(|t| t.contains(&EntityType::Tool)));
    }
}
