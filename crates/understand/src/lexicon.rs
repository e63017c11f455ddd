//! Loads the word lists of `data/lexicon` once and looks words up in them.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use recall_domain::{EntityType, Word, word_list::entries};

use super::singular::singular;

/// The word list an entry comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WordList {
    Tool,
    Place,
    Given,
    Organization,
    Work,
    Possession,
    Event,
    Person,
    Animal,
    Object,
    Food,
    Activity,
    Concept,
}

impl WordList {
    pub(crate) fn entity_type(self) -> EntityType {
        match self {
            Self::Tool => EntityType::Tool,
            Self::Place => EntityType::Place,
            Self::Given | Self::Person => EntityType::Person,
            Self::Organization => EntityType::Organization,
            Self::Event => EntityType::Event,
            Self::Work | Self::Possession | Self::Animal | Self::Object | Self::Food => EntityType::Thing,
            Self::Activity | Self::Concept => EntityType::Concept,
        }
    }

    /// Returns the name that `possessed` in the ontology uses.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Tool => "tools",
            Self::Place => "places",
            Self::Given => "given_names",
            Self::Organization => "organizations",
            Self::Work => "works",
            Self::Possession => "possessions",
            Self::Event => "events",
            Self::Person => "people",
            Self::Animal => "animals",
            Self::Object => "objects",
            Self::Food => "foods",
            Self::Activity => "activities",
            Self::Concept => "concepts",
        }
    }
}

/// One word or phrase of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) group: WordList,
    /// The name is also a common English word.
    pub(crate) ambiguous: bool,
    /// Listed in lower case, so a capital is not required.
    pub(crate) common: bool,
}

/// Longest phrase of a list, in words.
const MAX_WORDS: usize = 6;

pub(crate) struct Lexicon {
    phrases: HashMap<String, Vec<Entry>>,
    starts: HashSet<String>,
    heads: HashMap<String, EntityType>,
    sets: HashMap<String, HashSet<String>>,
    verbs: HashSet<String>,
    irregular: HashMap<String, (String, VerbForm)>,
}

/// The inflected form of a verb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VerbForm {
    Base,
    ThirdPerson,
    Past,
    Participle,
    Gerund,
}

macro_rules! list {
    ($file:literal) => {
        include_str!(concat!("../../../data/lexicon/", $file))
    };
}

/// Returns the word lists; loads them on first use.
pub(crate) fn lexicon() -> &'static Lexicon {
    static LEXICON: OnceLock<Lexicon> = OnceLock::new();
    LEXICON.get_or_init(Lexicon::load)
}

fn table(text: &str) -> HashMap<String, Vec<String>> {
    // The data is embedded; the test `every_table_is_readable` fails if a table is invalid.
    toml::from_str(text).unwrap_or_default()
}

impl Lexicon {
    fn load() -> Self {
        let mut lexicon = Self {
            phrases: HashMap::new(),
            starts: HashSet::new(),
            heads: HashMap::new(),
            sets: HashMap::new(),
            verbs: entries(list!("verbs.txt")).map(|(w, _)| w.to_owned()).collect(),
            irregular: HashMap::new(),
        };
        for (group, text) in [
            (WordList::Tool, list!("tools.txt")),
            (WordList::Place, list!("places.txt")),
            (WordList::Given, list!("given_names.txt")),
            (WordList::Organization, list!("organizations.txt")),
            (WordList::Work, list!("works.txt")),
            (WordList::Possession, list!("possessions.txt")),
            (WordList::Event, list!("events.txt")),
            (WordList::Activity, list!("activities.txt")),
            (WordList::Animal, list!("animals.txt")),
            (WordList::Object, list!("objects.txt")),
            (WordList::Food, list!("foods.txt")),
            (WordList::Person, list!("people.txt")),
            (WordList::Concept, list!("concepts.txt")),
        ] {
            for (word, ambiguous) in entries(text) {
                lexicon.add(group, word, ambiguous);
            }
        }
        for (ty, words) in table(list!("heads.toml")) {
            if let Some(ty) = EntityType::parse_word(&ty) {
                lexicon.heads.extend(words.into_iter().map(|w| (w, ty)));
            }
        }
        for text in [
            list!("stop.toml"),
            list!("verb_classes.toml"),
            list!("kind.toml"),
            list!("languages.toml"),
            list!("genders.toml"),
            list!("values.toml"),
        ] {
            for (name, words) in table(text) {
                lexicon.sets.insert(name, words.into_iter().collect());
            }
        }
        for line in list!("irregular_verbs.txt").lines().filter(|l| !l.starts_with('#')) {
            let mut words = line.split_whitespace();
            if let (Some(lemma), Some(past), Some(participle)) = (words.next(), words.next(), words.next()) {
                lexicon.verbs.insert(lemma.to_owned());
                lexicon.irregular.entry(participle.to_owned()).or_insert_with(|| (lemma.to_owned(), VerbForm::Participle));
                lexicon.irregular.insert(past.to_owned(), (lemma.to_owned(), VerbForm::Past));
            }
        }
        // If past and base form are spelled alike ("read", "put"), use the base form, which is more common in chat.
        for (word, lemma, form) in [
            ("am", "be", VerbForm::Base),
            ("are", "be", VerbForm::Base),
            ("is", "be", VerbForm::ThirdPerson),
            ("has", "have", VerbForm::ThirdPerson),
            ("does", "do", VerbForm::ThirdPerson),
            ("being", "be", VerbForm::Gerund),
            ("read", "read", VerbForm::Base),
            ("put", "put", VerbForm::Base),
            ("let", "let", VerbForm::Base),
            ("set", "set", VerbForm::Base),
            ("cut", "cut", VerbForm::Base),
            ("bet", "bet", VerbForm::Base),
            ("hit", "hit", VerbForm::Base),
            ("hurt", "hurt", VerbForm::Base),
            ("run", "run", VerbForm::Base),
            ("come", "come", VerbForm::Base),
            ("become", "become", VerbForm::Base),
            ("lie", "lie", VerbForm::Base),
            ("knit", "knit", VerbForm::Base),
            ("left", "leave", VerbForm::Past),
            ("lying", "lie", VerbForm::Gerund),
            ("dying", "die", VerbForm::Gerund),
        ] {
            lexicon.irregular.insert(word.to_owned(), (lemma.to_owned(), form));
        }
        lexicon
    }

    fn add(&mut self, group: WordList, word: &str, ambiguous: bool) {
        let lower = word.to_lowercase();
        let common = word == lower;
        if let Some(first) = lower.split(' ').next() {
            self.starts.insert(first.to_owned());
        }
        let list = self.phrases.entry(lower).or_default();
        if !list.iter().any(|e| e.group == group) {
            list.push(Entry { group, ambiguous, common });
        }
    }

    /// Whether a lemma is in the list of verbs.
    pub(crate) fn is_verb(&self, lemma: &str) -> bool {
        self.verbs.contains(lemma)
    }

    /// Returns the entries of a phrase in lower case.
    pub(crate) fn get(&self, phrase: &str) -> &[Entry] {
        self.phrases.get(phrase).map_or(&[], Vec::as_slice)
    }

    /// Whether a phrase is in one list.
    pub(crate) fn has(&self, group: WordList, phrase: &str) -> bool {
        self.get(phrase).iter().any(|e| e.group == group)
    }

    /// Returns the length of the longest listed phrase, of at least `min` words, at the start of `words` (lower case).
    pub(crate) fn longest<'a>(&self, words: &[&'a str], min: usize) -> Option<usize> {
        let first: &&'a str = words.first()?;
        if !self.starts.contains(*first) {
            return None;
        }
        (min.max(1)..=words.len().min(MAX_WORDS)).rev().find(|&n| {
            let as_written = words[..n].join(" ");
            // "light roast coffees" is listed in the singular.
            let singular = || {
                n > 1
                    && words[n - 1].ends_with('s')
                    && self.get(&format!("{} {}", words[..n - 1].join(" "), singular(words[n - 1]))).iter().any(|e| e.common)
            };
            self.phrases.contains_key(&as_written) || singular()
        })
    }

    /// Returns the entity type that a head noun indicates.
    pub(crate) fn head(&self, noun: &str) -> Option<EntityType> {
        self.heads.get(noun).copied()
    }

    /// Whether a word belongs to a named set of the tables, such as `stop.toml` and `verb_classes.toml`.
    pub(crate) fn in_set(&self, set: &str, word: &str) -> bool {
        self.sets.get(set).is_some_and(|s| s.contains(word))
    }

    /// Returns the irregular form of a verb.
    #[cfg(test)]
    pub(crate) fn inflected(&self, lemma: &str, form: VerbForm) -> Option<String> {
        let line = list!("irregular_verbs.txt").lines().find(|l| l.split_whitespace().next() == Some(lemma))?;
        line.split_whitespace().nth(if form == VerbForm::Past { 1 } else { 2 }).map(str::to_owned)
    }

    /// Returns lemma and form of an irregular verb form.
    pub(crate) fn irregular(&self, word: &str) -> Option<(&str, VerbForm)> {
        self.irregular.get(word).map(|(l, f)| (l.as_str(), *f))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_readable() {
        for text in [
            list!("heads.toml"),
            list!("stop.toml"),
            list!("verb_classes.toml"),
            list!("kind.toml"),
            list!("languages.toml"),
            list!("genders.toml"),
            list!("values.toml"),
        ] {
            assert!(toml::from_str::<HashMap<String, Vec<String>>>(text).is_ok());
        }
        for name in lexicon().sets.keys() {
            assert!(!lexicon().sets[name].is_empty());
        }
    }

    /// The order in which the tables are read is random, so a word of two types would change its type from start to start.
    #[test]
    fn each_head_noun_has_one_type() {
        let mut types: HashMap<String, String> = HashMap::new();
        for (ty, words) in table(list!("heads.toml")) {
            for word in words {
                let other = types.insert(word.clone(), ty.clone());
                assert!(other.is_none_or(|other| other == ty), "{word}");
            }
        }
    }

    #[test]
    fn entries_distinguish_names_from_words() {
        let l = lexicon();
        assert!(l.has(WordList::Tool, "postgresql"));
        assert!(l.get("rust").iter().any(|e| e.ambiguous));
        assert!(l.get("guinea pig").iter().any(|e| e.common && e.group == WordList::Animal));
        assert_eq!(l.longest(&["new", "york", "city", "is"], 2), Some(3));
        assert_eq!(l.longest(&["new", "ideas"], 2), None);
        assert_eq!(l.head("team"), Some(EntityType::Organization));
    }
}
