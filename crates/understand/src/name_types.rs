//! Guesses the type of a name from word lists, its words and its spelling.

use recall_domain::EntityType;

use super::lemma;
use super::lexicon::{Entry, WordList, lexicon};
use super::singular::singular;
use super::tokens::Token;

/// A type, how sure it is, and the word list that has the name.
pub(super) type TypeGuess = (EntityType, f64, Option<WordList>);

/// A proper name of unknown type.
pub(super) struct Name<'a> {
    /// All words, in lower case.
    pub(super) joined: &'a str,
    pub(super) words: &'a [&'a str],
    /// The entries of the name in the word lists.
    pub(super) entries: &'a [Entry],
    /// The last word.
    pub(super) head: &'a Token,
    /// Whether a noun names a relation to a person.
    pub(super) is_role: &'a dyn Fn(&str) -> bool,
}

/// Returns the type that the first rule gives; a thing if none applies.
pub(super) fn guess_type(name: &Name<'_>) -> TypeGuess {
    RULES.iter().find_map(|(_, rule)| rule(name)).unwrap_or((EntityType::Thing, 0.3, None))
}

type Rule = fn(&Name<'_>) -> Option<TypeGuess>;

/// The rules with their names. The first that applies wins.
const RULES: &[(&str, Rule)] = &[
    ("listed", listed),
    ("state_university", state_university),
    ("head_noun", head_noun),
    ("part_of_tool", part_of_tool),
    ("given_name", given_name),
    ("role_with_name", role_with_name),
    ("role", role),
    ("department", department),
    ("company_word", company_word),
    ("event_ending", event_ending),
    ("tool_spelling", tool_spelling),
    ("place_ending", place_ending),
    ("concept_ending", concept_ending),
    ("two_words", two_words),
    ("unknown_word", unknown_word),
];

/// The last words of companies and other organizations.
const COMPANY_WORDS: &[&str] = &[
    "inc",
    "inc.",
    "corp",
    "labs",
    "gmbh",
    "llc",
    "ltd",
    "bank",
    "group",
    "systems",
    "technologies",
    "software",
    "media",
    "partners",
    "solutions",
    "university",
    "college",
    "fc",
    "united",
];

impl Name<'_> {
    fn last(&self) -> &str {
        self.words.last().copied().unwrap_or_default()
    }

    /// Whether the last word has one of these endings, after at least three more letters.
    fn ends_with(&self, endings: &[&str]) -> bool {
        let last = self.last();
        endings.iter().any(|e| last.len() > e.len() + 2 && last.ends_with(e))
    }
}

/// With a capital, names take precedence over common words: "Go" is the language.
fn listed(name: &Name<'_>) -> Option<TypeGuess> {
    let entries = name.entries;
    let named = entries.iter().filter(|e| name.head.capital && !e.common).min_by_key(|e| e.ambiguous);
    let e = named.or(entries.iter().find(|e| !e.ambiguous)).or(entries.first())?;
    // A word in two lists of names stays unsure: the relation decides ("Phoenix").
    let several = entries.iter().any(|o| o.group.entity_type() != e.group.entity_type() && !o.common);
    Some((e.group.entity_type(), if several || e.ambiguous { 0.55 } else { 1.0 }, Some(e.group)))
}

/// "Ohio State" is usually a university.
fn state_university(name: &Name<'_>) -> Option<TypeGuess> {
    (name.words.len() > 1 && name.last() == "state").then_some((EntityType::Organization, 0.6, None))
}

/// "Kingsway Library"
fn head_noun(name: &Name<'_>) -> Option<TypeGuess> {
    let head = lexicon().head(name.last()).or_else(|| lexicon().head(&singular(name.last())));
    head.filter(|_| name.words.len() > 1).map(|ty| (ty, 0.85, None))
}

/// "GitHub Pages", "Google Docs": a part of a tool is a tool.
fn part_of_tool(name: &Name<'_>) -> Option<TypeGuess> {
    let [first, _, ..] = name.words else { return None };
    let tool = lexicon().get(first).iter().any(|e| e.group == WordList::Tool && !e.ambiguous);
    tool.then_some((EntityType::Tool, 0.8, Some(WordList::Tool)))
}

/// "Anna Unlisted"
fn given_name(name: &Name<'_>) -> Option<TypeGuess> {
    let [first, _, ..] = name.words else { return None };
    lexicon().has(WordList::Given, first).then_some((EntityType::Person, 0.95, Some(WordList::Given)))
}

/// "Coach Unlisted"
fn role_with_name(name: &Name<'_>) -> Option<TypeGuess> {
    let [first, _] = name.words else { return None };
    ((name.is_role)(first) || lexicon().has(WordList::Person, first)).then_some((EntityType::Person, 0.9, Some(WordList::Given)))
}

/// "Dad"
fn role(name: &Name<'_>) -> Option<TypeGuess> {
    (name.words.len() == 1 && (name.is_role)(name.joined)).then_some((EntityType::Person, 0.9, Some(WordList::Person)))
}

/// "HR", "QA"
fn department(name: &Name<'_>) -> Option<TypeGuess> {
    let organization = name.words.len() == 1 && lexicon().head(name.last()) == Some(EntityType::Organization);
    (organization && name.head.text.chars().all(char::is_uppercase)).then_some((EntityType::Organization, 0.8, None))
}

/// "Acme Labs"
fn company_word(name: &Name<'_>) -> Option<TypeGuess> {
    COMPANY_WORDS.contains(&name.last()).then_some((EntityType::Organization, 0.85, None))
}

/// "RustFest"
fn event_ending(name: &Name<'_>) -> Option<TypeGuess> {
    name.ends_with(&["conf", "con", "fest", "summit", "thon", "-con"]).then_some((EntityType::Event, 0.75, None))
}

/// "left-pad.js", "FooDB", "iThing"
fn tool_spelling(name: &Name<'_>) -> Option<TypeGuess> {
    let last = name.last();
    let dotted = last.contains('.') && last.len() > 3 && !last.ends_with('.');
    let ending = name.ends_with(&["db", "sql", "js", "ql", "api", "sdk", "os", "ctl"]);
    (dotted || ending || inner_capital(&name.head.text)).then_some((EntityType::Tool, 0.55, None))
}

/// "Pottersville"
fn place_ending(name: &Name<'_>) -> Option<TypeGuess> {
    name.ends_with(&["ville", "burg", "burgh", "shire", "ford", "stad", "land", "stan", "ham", "chester", "grad", "polis"]).then_some((
        EntityType::Place,
        0.55,
        None,
    ))
}

/// "Georgism"
fn concept_ending(name: &Name<'_>) -> Option<TypeGuess> {
    name.ends_with(&["ism", "ology", "ics", "ing"]).then_some((EntityType::Concept, 0.6, None))
}

/// Two unlisted words without a verb are most often a person.
fn two_words(name: &Name<'_>) -> Option<TypeGuess> {
    let alphabetic = |w: &&str| w.chars().all(|c| c.is_alphabetic() || c == '-' || c == '\'');
    let person = name.words.len() == 2 && name.words.iter().all(alphabetic) && lemma::known_verb(name.words[0], &|_| false).is_none();
    person.then_some((EntityType::Person, 0.4, None))
}

/// A single capitalised unknown word is most often a person.
fn unknown_word(name: &Name<'_>) -> Option<TypeGuess> {
    let head = name.head;
    let person = name.words.len() == 1
        && head.unknown
        && head.capital
        && head.text.chars().all(char::is_alphabetic)
        && head.text.chars().any(char::is_lowercase);
    person.then_some((EntityType::Person, 0.4, None))
}

/// Whether a capital follows a small letter, as in "PostgreSQL" and "iOS".
fn inner_capital(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    chars.len() > 2 && chars.windows(2).any(|w| w[0].is_lowercase() && w[1].is_uppercase())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{normalise::clean, tokens::tokenise};

    #[test]
    fn rules_type_their_examples() {
        for (rule, text, expected) in [
            ("listed", "PostgreSQL", EntityType::Tool),
            ("state_university", "Unlisted State", EntityType::Organization),
            ("head_noun", "Unlisted Team", EntityType::Organization),
            ("part_of_tool", "GitHub Things", EntityType::Tool),
            ("given_name", "Anna Unlisted", EntityType::Person),
            ("role_with_name", "Sidekick Unlisted", EntityType::Person),
            ("role", "Sidekick", EntityType::Person),
            ("department", "QA", EntityType::Organization),
            ("company_word", "Zorgle Media", EntityType::Organization),
            ("event_ending", "Zorglefest", EntityType::Event),
            ("tool_spelling", "zorgle.dev", EntityType::Tool),
            ("tool_spelling", "ZorgleDB", EntityType::Tool),
            ("place_ending", "Zorgleville", EntityType::Place),
            ("concept_ending", "Zorglism", EntityType::Concept),
            ("two_words", "Zorgle Unlisted", EntityType::Person),
            ("unknown_word", "Zorgle", EntityType::Person),
        ] {
            let mut tokens = tokenise(&clean(text));
            let head = tokens.last_mut().unwrap();
            head.unknown = true;
            let joined = text.to_lowercase();
            let words: Vec<&str> = joined.split(' ').collect();
            let is_role = |word: &str| word == "sidekick";
            let name = Name { joined: &joined, words: &words, entries: lexicon().get(&joined), head, is_role: &is_role };
            let first = RULES.iter().find_map(|(name_of_rule, r)| Some((*name_of_rule, r(&name)?))).unwrap();
            assert_eq!((first.0, first.1.0), (rule, expected), "{text}");
        }
    }
}
