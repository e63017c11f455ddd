//! Guesses the type of a name from word lists, its words and its spelling.

use recall_domain::EntityType;

use super::lemma;
use super::lexicon::{Entry, WordList, lexicon};
use super::tokens::Token;

/// Returns the type of a name, how sure it is, and the word list that has it.
pub(super) fn guess_type(
    joined: &str,
    entries: &[Entry],
    words: &[&str],
    head: &Token,
    is_role: &dyn Fn(&str) -> bool,
) -> (EntityType, f64, Option<WordList>) {
    let lex = lexicon();
    // With a capital, names take precedence over common words: "Go" is the language.
    let named = entries.iter().filter(|e| head.capital && !e.common).min_by_key(|e| e.ambiguous);
    if let Some(e) = named.or(entries.iter().find(|e| !e.ambiguous)).or(entries.first()) {
        // A word in two lists of names stays unsure: the relation decides ("Phoenix").
        let several = entries.iter().any(|o| o.group.entity_type() != e.group.entity_type() && !o.common);
        return (e.group.entity_type(), if several || e.ambiguous { 0.55 } else { 1.0 }, Some(e.group));
    }
    let last = words.last().copied().unwrap_or_default();
    if words.len() > 1 {
        // "Ohio State" is usually a university.
        if last == "state" {
            return (EntityType::Organization, 0.6, None);
        }
        if let Some(ty) = lex.head(last).or_else(|| lex.head(&lemma::noun(last))) {
            return (ty, 0.85, None);
        }
        // "GitHub Pages", "Google Docs": a part of a tool is a tool.
        if lex.get(words[0]).iter().any(|e| e.group == WordList::Tool && !e.ambiguous) {
            return (EntityType::Tool, 0.8, Some(WordList::Tool));
        }
        if lex.has(WordList::Given, words[0]) {
            return (EntityType::Person, 0.95, Some(WordList::Given));
        }
        if words.len() == 2 && (is_role(words[0]) || lex.has(WordList::Person, words[0])) {
            return (EntityType::Person, 0.9, Some(WordList::Given));
        }
    }
    if words.len() == 1 && is_role(joined) {
        return (EntityType::Person, 0.9, Some(WordList::Person));
    }
    // "HR", "QA"
    if words.len() == 1 && lex.head(last) == Some(EntityType::Organization) && head.text.chars().all(char::is_uppercase) {
        return (EntityType::Organization, 0.8, None);
    }
    if matches!(
        last,
        "inc"
            | "inc."
            | "corp"
            | "labs"
            | "gmbh"
            | "llc"
            | "ltd"
            | "bank"
            | "group"
            | "systems"
            | "technologies"
            | "software"
            | "media"
            | "partners"
            | "solutions"
            | "university"
            | "college"
            | "fc"
            | "united"
    ) {
        return (EntityType::Organization, 0.85, None);
    }
    let tail = |ends: &[&str]| ends.iter().any(|e| last.len() > e.len() + 2 && last.ends_with(e));
    if tail(&["conf", "con", "fest", "summit", "thon", "-con"]) {
        return (EntityType::Event, 0.75, None);
    }
    if last.contains('.') && last.len() > 3 && !last.ends_with('.')
        || tail(&["db", "sql", "js", "ql", "api", "sdk", "os", "ctl"])
        || inner_capital(&head.text)
    {
        return (EntityType::Tool, 0.55, None);
    }
    if tail(&["ville", "burg", "burgh", "shire", "ford", "stad", "land", "stan", "ham", "chester", "grad", "polis"]) {
        return (EntityType::Place, 0.55, None);
    }
    if tail(&["ism", "ology", "ics", "ing"]) {
        return (EntityType::Concept, 0.6, None);
    }
    if words.len() == 2
        && words.iter().all(|w| w.chars().all(|c| c.is_alphabetic() || c == '-' || c == '\''))
        && lemma::known_verb(words[0], &|_| false).is_none()
    {
        return (EntityType::Person, 0.4, None);
    }
    // A single capitalised unknown word is most often a person.
    if words.len() == 1
        && head.unknown
        && head.capital
        && head.text.chars().all(char::is_alphabetic)
        && head.text.chars().any(char::is_lowercase)
    {
        return (EntityType::Person, 0.4, None);
    }
    (EntityType::Thing, 0.3, None)
}

/// Whether a capital follows a small letter, as in "PostgreSQL" and "iOS".
fn inner_capital(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    chars.len() > 2 && chars.windows(2).any(|w| w[0].is_lowercase() && w[1].is_uppercase())
}
