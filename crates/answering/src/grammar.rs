//! Grammar of the sentences in answers: verb forms, articles, plurals and dates.

use chrono::Datelike;

use super::{
    lexicon::{is_particle, is_person_noun},
    words::{irregular_past, is_past_form, words},
};
use recall_domain::{Entity, EntityType, Timestamp};

/// The verb form that expresses the state of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mood {
    /// "likes"
    Holds,
    /// "does not like"
    Denied,
    /// "no longer likes"
    Ended,
    /// "liked", for an ended fact in an answer about the past.
    Was,
}

/// The number of the subject, which determines the form of the verb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VerbNumber {
    /// "you", and plurals: "like", "are".
    Plural,
    /// "likes", "is".
    Singular,
}

impl VerbNumber {
    pub(super) fn of(entity: &Entity) -> Self {
        if entity.is_viewer || is_plural(&entity.name) { Self::Plural } else { Self::Singular }
    }

    /// "is" or "are".
    pub(super) fn is(self) -> &'static str {
        match self {
            Self::Plural => "are",
            Self::Singular => "is",
        }
    }

    /// "was" or "were".
    pub(super) fn was(self) -> &'static str {
        match self {
            Self::Plural => "were",
            Self::Singular => "was",
        }
    }
}

/// Whether a name is a common noun in the plural.
pub(super) fn is_plural(name: &str) -> bool {
    let last = name.rsplit(' ').next().unwrap_or_default();
    name.starts_with(char::is_lowercase)
        && (matches!(last, "children" | "people" | "men" | "women" | "mice" | "geese" | "feet")
            || (last.ends_with('s') && !["ss", "us", "is"].iter().any(|e| last.ends_with(e)) && last != "news"))
}

/// Returns the plural of a noun.
pub(super) fn plural(noun: &str) -> String {
    if is_plural(noun) {
        return noun.to_owned();
    }
    match noun {
        "child" => return "children".to_owned(),
        "person" => return "people".to_owned(),
        _ => {}
    }
    if let Some(stem) = noun.strip_suffix('y').filter(|s| !s.ends_with(['a', 'e', 'o', 'u'])) {
        return format!("{stem}ies");
    }
    let sibilant = ["s", "sh", "ch", "x", "z"].iter().any(|e| noun.ends_with(e));
    if sibilant { format!("{noun}es") } else { format!("{noun}s") }
}

/// Returns the base form of a verb in the third person singular, or `None` for a past tense.
fn base(verb: &str) -> Option<String> {
    match verb {
        "is" => return Some("be".to_owned()),
        "has" => return Some("have".to_owned()),
        "was" => return None,
        _ => {}
    }
    let stem = verb.strip_suffix('s').filter(|stem| !stem.ends_with('s') && stem.len() > 1)?;
    if let Some(short) = stem.strip_suffix("ie").filter(|short| short.len() > 1) {
        return Some(format!("{short}y"));
    }
    let sibilant = ["she", "che", "xe", "zze", "sse", "oe"].iter().any(|end| stem.ends_with(end));
    Some(if sibilant { stem[..stem.len() - 1].to_owned() } else { stem.to_owned() })
}

/// Returns the past tense of a base form.
fn past(base: &str) -> String {
    if let Some(irregular) = irregular_past(base) {
        return irregular.to_owned();
    }
    if let Some(stem) = base.strip_suffix('y').filter(|s| !s.ends_with(['a', 'e', 'o', 'u'])) {
        return format!("{stem}ied");
    }
    if base.ends_with('e') { format!("{base}d") } else { format!("{base}ed") }
}

/// Returns the predicate: "like", "does not live in", "are no longer part of", "worked for".
pub(super) fn predicate(phrase: &str, mood: Mood, number: VerbNumber) -> String {
    let (verb, rest) = phrase.split_once(' ').map_or((phrase, String::new()), |(verb, rest)| (verb, format!(" {rest}")));
    let many = number == VerbNumber::Plural;
    let said = match (base(verb), mood) {
        (Some(b), _) if b == "be" => match mood {
            Mood::Holds => number.is().to_owned(),
            Mood::Denied => format!("{} not", number.is()),
            Mood::Ended => format!("{} no longer", number.is()),
            Mood::Was => number.was().to_owned(),
        },
        (Some(b), Mood::Holds) => {
            if many {
                b
            } else {
                verb.to_owned()
            }
        }
        (Some(b), Mood::Denied) => format!("{} not {b}", if many { "do" } else { "does" }),
        (Some(b), Mood::Ended) => format!("no longer {}", if many { b } else { verb.to_owned() }),
        (Some(b), Mood::Was) => past(&b),
        (None, Mood::Holds | Mood::Was) => verb.to_owned(),
        (None, Mood::Denied) => format!("{} not {verb}", if many { "have" } else { "has" }),
        (None, Mood::Ended) => format!("once {verb}"),
    };
    format!("{said}{rest}")
}

/// Returns the name of an entity: "you" for the viewer, "your sister" for an unnamed person related to the viewer.
pub(super) fn name(entity: &Entity, other: &Entity) -> String {
    if entity.is_viewer {
        return "you".to_owned();
    }
    // Some people write names without a capital: "adam".
    let is_role = || entity.name.rsplit(' ').next().is_some_and(is_person_noun);
    let unnamed = entity.entity_type == EntityType::Person && entity.name.starts_with(|c: char| c.is_lowercase()) && is_role();
    match (unnamed, other.is_viewer) {
        (true, true) => format!("your {}", entity.name),
        (true, false) => format!("the {}", entity.name),
        (false, _) => entity.name.clone(),
    }
}

/// Returns the noun phrase for an entity as in its evidence: "a cat", "two rabbits", "the backend team".
///
/// "my tent" becomes "your tent".
pub(super) fn noun_phrase(entity: &Entity, other: &Entity, excerpts: &[&str]) -> String {
    let plain = name(entity, other);
    let common = entity.name.starts_with(char::is_lowercase) && entity.entity_type != EntityType::Person;
    if !common {
        return plain;
    }
    let phrase = excerpts.iter().find_map(|text| determined(&entity.name, text)).unwrap_or(plain);
    match phrase.strip_prefix("your ") {
        // "You own your shop" would name the owner twice.
        Some(rest) if other.is_viewer => with_article(rest),
        _ => phrase,
    }
}

/// Adds "a" or "an" to a noun, unless it is a plural.
pub(super) fn with_article(noun: &str) -> String {
    if is_plural(noun) {
        return noun.to_owned();
    }
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// Returns the name in a text with the determiner and the adjectives before it.
pub(super) fn determined(name: &str, text: &str) -> Option<String> {
    const NUMBERS: [&str; 12] = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "some", "several", "many"];
    let said = words(text);
    let own = words(name);
    let at = said.windows(own.len().max(1)).position(|w| w.iter().zip(&own).all(|(a, b)| a.plain == b.plain))?;
    let end = said.get(at + own.len() - 1)?.span.1;
    for start in (at.saturating_sub(3)..at).rev() {
        let word = said.get(start)?;
        let between = &text[word.span.1..said.get(at)?.span.0];
        if between.contains([',', '.', ';', ':']) || is_particle(&word.plain) || is_verb_or_person(&word.plain) || word.plain == "and" {
            return None;
        }
        let rest = || text[word.span.1..end].trim().trim_end_matches("'s").trim_end_matches("’s").to_owned();
        match word.plain.as_str() {
            "a" | "an" | "the" => return Some(format!("{} {}", word.plain, rest())),
            "my" | "our" => return Some(format!("your {}", rest())),
            n if NUMBERS.contains(&n) || n.chars().all(|c| c.is_ascii_digit()) => return Some(format!("{} {}", word.plain, rest())),
            _ => {}
        }
    }
    None
}

/// Whether a word cannot stand between a determiner and its noun: "brother" and "likes" in "my brother likes chess".
fn is_verb_or_person(word: &str) -> bool {
    let third_person = word.ends_with('s') && word.len() > 3 && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    third_person || (is_past_form(word) && !word.ends_with("ed")) || is_person_noun(word)
}

/// Returns the possessive: "your", "Maren's".
pub(super) fn owner(entity: &Entity, other: &Entity) -> String {
    if entity.is_viewer { "your".to_owned() } else { format!("{}'s", name(entity, other)) }
}

/// Joins parts to a list: "a", "a and b", "a, b and c".
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Capitalizes the first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Formats the month: "March 2026".
pub(super) fn month(moment: Timestamp) -> String {
    format!("{} {}", moment.format("%B"), moment.year())
}

/// Formats the day: "8 March 2026".
pub(super) fn day(moment: Timestamp) -> String {
    format!("{} {}", moment.day(), month(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_match_number_and_mood() {
        for (phrase, third, second, denied, you_denied, ended, was) in [
            ("likes", "likes", "like", "does not like", "do not like", "no longer likes", "liked"),
            ("lives in", "lives in", "live in", "does not live in", "do not live in", "no longer lives in", "lived in"),
            ("is part of", "is part of", "are part of", "is not part of", "are not part of", "is no longer part of", "was part of"),
            ("visited", "visited", "visited", "has not visited", "have not visited", "once visited", "visited"),
            ("decided on", "decided on", "decided on", "has not decided on", "have not decided on", "once decided on", "decided on"),
            ("relies on", "relies on", "rely on", "does not rely on", "do not rely on", "no longer relies on", "relied on"),
            ("teaches", "teaches", "teach", "does not teach", "do not teach", "no longer teaches", "taught"),
            ("has", "has", "have", "does not have", "do not have", "no longer has", "had"),
            ("uses", "uses", "use", "does not use", "do not use", "no longer uses", "used"),
            ("knows", "knows", "know", "does not know", "do not know", "no longer knows", "knew"),
        ] {
            assert_eq!(predicate(phrase, Mood::Holds, VerbNumber::Singular), third);
            assert_eq!(predicate(phrase, Mood::Holds, VerbNumber::Plural), second);
            assert_eq!(predicate(phrase, Mood::Denied, VerbNumber::Singular), denied);
            assert_eq!(predicate(phrase, Mood::Denied, VerbNumber::Plural), you_denied);
            assert_eq!(predicate(phrase, Mood::Ended, VerbNumber::Singular), ended);
            assert_eq!(predicate(phrase, Mood::Was, VerbNumber::Singular), was);
        }
    }

    #[test]
    fn nouns_keep_the_article_of_their_evidence() {
        assert_eq!(determined("cat", "We have a cat called Pixel"), Some("a cat".to_owned()));
        assert_eq!(determined("rabbits", "a cat and two white rabbits."), Some("two white rabbits".to_owned()));
        assert_eq!(determined("tent", "I lent my old tent to Sana"), Some("your old tent".to_owned()));
        assert_eq!(determined("espresso", "I love bouldering, espresso and maps"), None);
        assert_eq!(determined("bike", "nothing of the kind"), None);
    }

    #[test]
    fn plurals_are_recognized_and_formed() {
        assert!(is_plural("old maps") && is_plural("children") && !is_plural("bus") && !is_plural("Otis") && !is_plural("glass"));
        for (one, many) in [("friend", "friends"), ("hobby", "hobbies"), ("boss", "bosses"), ("child", "children"), ("boy", "boys")] {
            assert_eq!(plural(one), many);
        }
    }

    #[test]
    fn lists_read_naturally() {
        let parts = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&parts), "a, b and c");
        assert_eq!(list(&parts[..2]), "a and b");
        assert_eq!(capital("écoute"), "Écoute");
    }
}
