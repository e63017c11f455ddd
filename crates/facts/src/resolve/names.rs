//! Matches names that may mean the same entity, and scores the match. Pure; the lists are data.

use std::{cell::OnceCell, collections::HashMap, sync::OnceLock};

use recall_domain::{EntityKey, EntityType, fold};

use super::parts::{is_capitalised, is_part, telling_parts};
use super::person_names::{PersonName, given_name_variants};

const ALIASES: &str = include_str!("../../../../data/lexicon/aliases.txt");

/// Endings that a name of a company or project may have or lack.
const SUFFIXES: [&str; 18] = [
    "inc",
    "incorporated",
    "ltd",
    "limited",
    "llc",
    "gmbh",
    "corp",
    "corporation",
    "co",
    "plc",
    "ag",
    "bv",
    "nv",
    "project",
    "initiative",
    "app",
    "repo",
    "repository",
];
/// Longest name, in words, that is analysed. Longer ones are sentences.
pub(super) const MAX_WORDS: usize = 8;

/// How a mentioned name matches a known one, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum NameMatch {
    /// The same name.
    Same,
    /// An alias from the list ("NYC").
    Listed,
    /// The same except for a company suffix, a hyphen or a space.
    Spelling,
    /// The same except for accents ("Jose Nunez", "José Núñez").
    Accents,
    /// The same family name and a short form of the given name ("Kate Miller", "Katherine Miller").
    NicknameAndFamily,
    /// One name is the same and the other its initial ("J. Smith", "Sam N").
    Initial,
    /// A given name; the full name is known.
    ShortOfFull,
    /// A title and the family name; the full name is known. Or the other way round.
    Family,
    /// A full name; only the given name is known.
    FullOfShort,
    /// The initial letters of a long name.
    Acronym,
    /// "Mr" or "Mrs" and the family name, which relatives share.
    Titled,
    /// A short form of the given name, or its full form.
    Nickname,
    /// The first or last words of a longer name of a group, a project or a thing ("Kirkgate" of "Kirkgate Museum").
    Part,
}

impl NameMatch {
    /// Returns the base score of the match, 0 to 1.
    pub(crate) fn score(self) -> f64 {
        match self {
            Self::Same => 0.9,
            Self::Listed => 0.9,
            Self::Spelling | Self::Accents => 0.85,
            Self::NicknameAndFamily => 0.8,
            Self::Initial | Self::ShortOfFull => 0.7,
            Self::Family => 0.55,
            Self::Acronym => 0.65,
            Self::Part => 0.62,
            Self::FullOfShort => 0.5,
            Self::Nickname => 0.45,
            Self::Titled => 0.3,
        }
    }

    /// Returns the reason in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Same => "same name",
            Self::Listed => "another name of the same thing",
            Self::Spelling => "same name but for its spelling",
            Self::Accents => "same name but for its accents",
            Self::NicknameAndFamily => "short form of the given name, same family name",
            Self::Initial => "one name and the initial of the other",
            Self::ShortOfFull => "given name of a known full name",
            Self::Family | Self::Titled => "same family name",
            Self::FullOfShort => "full name of a known given name",
            Self::Acronym => "initial letters of the name",
            Self::Nickname => "short form of the given name",
            Self::Part => "part of a longer name",
        }
    }
}

fn words(name: &str) -> Vec<String> {
    EntityKey::of(name).as_ref().map(words_of_key).unwrap_or_default()
}

pub(super) fn words_of_key(key: &EntityKey) -> Vec<String> {
    let text = key.as_str();
    let bare = |w: &str| w.trim_matches(|c: char| ".,;:!?\"'“”‘’()".contains(c)).to_owned();
    text.split_whitespace().map(bare).filter(|w| !w.is_empty()).take(MAX_WORDS + 1).collect()
}

fn has_accents(key: &EntityKey) -> bool {
    !key.as_str().is_ascii() && fold(key.as_str()) != key.as_str()
}

/// Returns all listed aliases of a key, itself included.
fn known_aliases(key: &str) -> &'static [EntityKey] {
    static LIST: OnceLock<HashMap<String, Vec<EntityKey>>> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        let mut list = HashMap::new();
        for line in ALIASES.lines().filter(|l| !l.starts_with('#')) {
            let keys: Vec<EntityKey> = line.split(", ").filter_map(EntityKey::of).collect();
            for key in &keys {
                list.insert(key.as_str().to_owned(), keys.clone());
            }
        }
        list
    });
    list.get(key).map_or(&[], Vec::as_slice)
}

/// Returns the letters and digits of a name without company and project suffixes.
fn bare_letters(key: &EntityKey) -> String {
    let mut words = words_of_key(key);
    while words.len() > 1 && words.last().is_some_and(|w| SUFFIXES.contains(&w.as_str())) {
        words.pop();
    }
    // These signs distinguish names such as "C" and "C++".
    words.concat().chars().filter(|c| c.is_alphanumeric() || "+#&".contains(*c)).collect()
}

fn acronym(name: &str) -> Option<String> {
    let words = words(name);
    let long = (3..=MAX_WORDS).contains(&words.len());
    long.then(|| {
        words.iter().filter(|w| !["of", "the", "and", "for", "de", "in"].contains(&w.as_str())).filter_map(|w| w.chars().next()).collect()
    })
}

/// Whether a name is written as initial letters ("NYC").
fn is_acronym(name: &str) -> bool {
    (3..=6).contains(&name.chars().count()) && name.chars().all(|c| c.is_ascii_uppercase())
}

/// A mentioned name, taken apart once for all known names that it is compared with.
pub(crate) struct MentionedName<'n> {
    name: &'n str,
    key: Option<EntityKey>,
    person: OnceCell<Option<PersonName>>,
    letters: OnceCell<String>,
}

impl<'n> MentionedName<'n> {
    pub(crate) fn of(name: &'n str) -> Self {
        Self { name, key: EntityKey::of(name), person: OnceCell::new(), letters: OnceCell::new() }
    }

    pub(crate) fn key(&self) -> Option<&EntityKey> {
        self.key.as_ref()
    }

    pub(crate) fn as_str(&self) -> &str {
        self.name
    }

    /// Matches the name with a known name of an entity of this type.
    pub(crate) fn match_known(&self, known: &str, entity_type: EntityType) -> Option<NameMatch> {
        self.match_spelled(known, entity_type).or_else(|| {
            let has_accents = |key: Option<&EntityKey>| key.is_some_and(has_accents);
            if !has_accents(self.key.as_ref()) && !has_accents(EntityKey::of(known).as_ref()) {
                return None;
            }
            let found = MentionedName::of(&fold(self.name)).match_spelled(&fold(known), entity_type)?;
            Some(if found == NameMatch::Same { NameMatch::Accents } else { found })
        })
    }

    /// Matches the names as they are spelled.
    fn match_spelled(&self, known: &str, entity_type: EntityType) -> Option<NameMatch> {
        let (a, b) = (self.key.as_ref()?, EntityKey::of(known)?);
        if *a == b {
            return Some(NameMatch::Same);
        }
        if known_aliases(a.as_str()).contains(&b) {
            return Some(NameMatch::Listed);
        }
        if entity_type == EntityType::Person {
            return self.person.get_or_init(|| PersonName::of_key(a)).as_ref()?.match_known(&PersonName::of_key(&b)?);
        }
        let (x, y) = (self.letters.get_or_init(|| bare_letters(a)), bare_letters(&b));
        if !x.is_empty() && *x == y {
            return Some(NameMatch::Spelling);
        }
        if is_capitalised(self.name) && is_capitalised(known) && is_part(&words_of_key(a), &words_of_key(&b), entity_type) {
            return Some(NameMatch::Part);
        }
        let initials = |short: &str, long: &str| is_acronym(short) && acronym(long).is_some_and(|l| l == short.to_lowercase());
        (initials(self.name, known) || initials(known, self.name)).then_some(NameMatch::Acronym)
    }
}

/// Matches a mentioned name with a known name of an entity of this type. The order of the names matters.
pub(crate) fn match_names(mentioned: &str, known: &str, entity_type: EntityType) -> Option<NameMatch> {
    MentionedName::of(mentioned).match_known(known, entity_type)
}

/// Returns the type to look up: "J. Smith" is a person, whatever the extractor guessed.
pub(crate) fn effective_type(name: &str, entity_type: EntityType) -> EntityType {
    let initial =
        |p: &PersonName| p.given.as_ref().is_some_and(|g| g.chars().count() == 1) && p.family.as_ref().is_some_and(|f| f.len() > 1);
    let capital = name.split_whitespace().all(|w| w.chars().next().is_some_and(char::is_uppercase));
    if capital && name.contains('.') && PersonName::of(name).is_some_and(|p| initial(&p)) { EntityType::Person } else { entity_type }
}

/// Returns the keys under which an entity with this name may be stored.
pub(crate) fn keys(name: &str, entity_type: EntityType) -> Vec<EntityKey> {
    let mut keys: Vec<EntityKey> = EntityKey::of(name).into_iter().collect();
    if let Some(key) = keys.first().cloned() {
        keys.extend(known_aliases(key.as_str()).iter().cloned());
        if has_accents(&key) {
            keys.extend(EntityKey::of(&fold(name)));
        }
    }
    if entity_type == EntityType::Person {
        if let Some(PersonName { given: Some(given), family, .. }) = PersonName::of(name) {
            for g in std::iter::once(&given).chain(given_name_variants(&given)) {
                keys.extend(EntityKey::of(g));
                keys.extend(family.as_ref().and_then(|f| EntityKey::of(&format!("{g} {f}"))));
            }
        }
    } else {
        let words = words(name);
        let short = words.len() > 1 && words.last().is_some_and(|w| SUFFIXES.contains(&w.as_str()));
        keys.extend(short.then(|| words[..words.len() - 1].join(" ")).and_then(|w| EntityKey::of(&w)));
        keys.extend(acronym(name).and_then(|a| EntityKey::of(&a)));
    }
    keys.sort();
    keys.dedup();
    keys
}

/// Returns the hints under which an entity with this name is stored.
///
/// These are the given and family names of people, and the bare letters and initials of other entities, also without accents.
pub(crate) fn hints(name: &str, entity_type: EntityType) -> Vec<String> {
    let mut hints = spelled_hints(name, entity_type);
    if let Some(key) = EntityKey::of(name).filter(has_accents) {
        let plain = fold(key.as_str());
        hints.extend(spelled_hints(&plain, entity_type));
        hints.push(plain);
        hints.sort();
        hints.dedup();
    }
    hints
}

/// Returns the hints of a name as it is spelled.
fn spelled_hints(name: &str, entity_type: EntityType) -> Vec<String> {
    let mut hints = Vec::new();
    if entity_type == EntityType::Person {
        let Some(p) = PersonName::of(name) else { return hints };
        // A one-word name is found by its key.
        if p.family.is_some() {
            hints.extend(p.given.filter(|g| g.chars().count() > 1));
            hints.extend(p.family);
        }
    } else {
        let Some(key) = EntityKey::of(name) else { return hints };
        let bare = bare_letters(&key);
        if key.as_str() != bare && !bare.is_empty() {
            hints.push(bare);
        }
        hints.extend(acronym(name));
        hints.extend(if is_capitalised(name) { telling_parts(&words_of_key(&key), entity_type) } else { Vec::new() });
    }
    hints
}

/// Returns the hints to look up for a mentioned name.
pub(crate) fn lookup_hints(name: &str, entity_type: EntityType) -> Vec<String> {
    let mut asked = hints(name, entity_type);
    if entity_type == EntityType::Person {
        if let Some(given) = PersonName::of(name).filter(|p| p.family.is_none()).and_then(|p| p.given) {
            asked.extend(given_name_variants(&given).iter().cloned());
            asked.push(given);
        }
    } else if is_acronym(name) || name.chars().any(|c| c.is_uppercase()) {
        asked.extend(EntityKey::of(name).as_ref().map(bare_letters));
    }
    asked.sort();
    asked.dedup();
    asked
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(a: &str, b: &str) -> Option<NameMatch> {
        match_names(a, b, EntityType::Person)
    }

    #[test]
    fn parts_of_long_names_are_matched() {
        use EntityType::{Organization, Place, Thing};
        for (mentioned, known, ty, expected) in [
            ("Kirkgate", "Kirkgate Museum", Organization, Some(NameMatch::Part)),
            ("Northern Stars", "Dundee Northern Stars", Organization, Some(NameMatch::Part)),
            ("Museum", "Kirkgate Museum", Organization, None),
            ("Yaris", "Toyota Yaris", Thing, Some(NameMatch::Part)),
            ("Toyota", "Toyota Yaris", Thing, None),
            ("tea", "green tea", Thing, None),
            ("York", "New York", Place, None),
        ] {
            assert_eq!(match_names(mentioned, known, ty), expected, "{mentioned}");
        }
    }

    #[test]
    fn person_names_are_matched() {
        for (mentioned, known, expected) in [
            ("Anna", "anna", Some(NameMatch::Same)),
            ("Kate", "Katherine", Some(NameMatch::Nickname)),
            ("Katherine", "Kate", Some(NameMatch::Nickname)),
            ("Bob", "Robert", Some(NameMatch::Nickname)),
            ("Kate", "Katie", Some(NameMatch::Nickname)),
            ("Catherine", "Katherine", None),
            ("Anna", "Anna Schmidt", Some(NameMatch::ShortOfFull)),
            ("Anna Schmidt", "Anna", Some(NameMatch::FullOfShort)),
            ("Anna Schmidt", "Anna Weber", None),
            ("Kate Miller", "Katherine Miller", Some(NameMatch::NicknameAndFamily)),
            ("J. Smith", "John Smith", Some(NameMatch::Initial)),
            ("J. Smith", "Anna Smith", None),
            ("J", "John", None),
            ("Mr. Schmidt", "Anna Schmidt", Some(NameMatch::Titled)),
            ("Dr. Schmidt", "Anna Schmidt", Some(NameMatch::Family)),
            ("Mr Schmidt", "Mrs Schmidt", None),
            ("Dr. Schmidt", "Mrs Schmidt", Some(NameMatch::Same)),
            ("Schmidt", "Anna Schmidt", Some(NameMatch::Family)),
            ("Nurse Schmidt", "Dr. Schmidt", None),
            ("Captain Schmidt", "Mr. Schmidt", Some(NameMatch::Same)),
            ("John", "Joan", None),
            ("John Smith", "John Miller", None),
            ("Jose Nunez", "José Núñez", Some(NameMatch::Accents)),
            ("José Núñez", "Jose Nunez", Some(NameMatch::Accents)),
            ("José", "Jose Nunez", Some(NameMatch::ShortOfFull)),
            ("José", "Josef", None),
        ] {
            assert_eq!(of(mentioned, known), expected, "{mentioned} and {known}");
        }
    }

    #[test]
    fn other_names_are_matched() {
        let of = |a, b| match_names(a, b, EntityType::Tool);
        for (a, b, expected) in [
            ("NYC", "New York City", Some(NameMatch::Listed)),
            ("Postgres", "PostgreSQL", Some(NameMatch::Listed)),
            ("Project Apollo", "Apollo", Some(NameMatch::Same)),
            ("Apollo project", "Apollo", Some(NameMatch::Spelling)),
            ("Acme Inc.", "Acme", Some(NameMatch::Spelling)),
            ("Click-House", "ClickHouse", Some(NameMatch::Spelling)),
            ("SDC", "Sunday Dinner Club", Some(NameMatch::Acronym)),
            ("C", "C++", None),
            ("Java", "JavaScript", None),
            ("Apple", "Apple Music", None),
        ] {
            assert_eq!(of(a, b), expected, "{a} and {b}");
            assert_eq!(of(b, a), expected, "{b} and {a}");
        }
    }

    #[test]
    fn candidates_are_found_by_key_or_hint() {
        for (mentioned, known) in [
            ("Kate", "Katherine"),
            ("Katherine", "Kate"),
            ("Anna", "Anna Schmidt"),
            ("Anna Schmidt", "Anna"),
            ("Kate", "Katherine Miller"),
            ("Kate Miller", "Katherine Miller"),
            ("J. Smith", "John Smith"),
            ("Mr. Schmidt", "Anna Schmidt"),
            ("Schmidt", "Anna Schmidt"),
            ("John Smith", "J. Smith"),
            ("Anna Schmidt", "Dr. Schmidt"),
            ("Jose Nunez", "José Núñez"),
            ("José Núñez", "Jose Nunez"),
            ("Jose", "José"),
            ("José", "Jose"),
            ("Nunez", "José Núñez"),
        ] {
            found(mentioned, known, EntityType::Person);
        }
        for (a, b) in [
            ("NYC", "New York City"),
            ("Acme Inc", "Acme"),
            ("Click-House", "ClickHouse"),
            ("SDC", "Sunday Dinner Club"),
            ("Zurich", "Zürich"),
        ] {
            found(a, b, EntityType::Organization);
            found(b, a, EntityType::Organization);
        }
    }

    fn found(mentioned: &str, known: &str, t: EntityType) {
        let by_key = keys(mentioned, t).contains(&EntityKey::of(known).unwrap());
        let by_hint = lookup_hints(mentioned, t).iter().any(|h| hints(known, t).contains(h) || EntityKey::of(known).unwrap().as_str() == h);
        assert!(by_key || by_hint, "{mentioned} does not find {known}");
    }

    #[test]
    fn overlong_name_is_not_analysed() {
        let long = "word ".repeat(10_000);
        assert!(hints(&long, EntityType::Person).is_empty());
        assert!(match_names(&long, "word", EntityType::Person).is_none());
    }
}
