//! Which facts bear on a question. Pure.

use std::collections::{HashMap, HashSet};

use recall_domain::{EntityId, EntityKey, Fact, FactStatus, Ontology, Relation, RelationName, Timestamp};
use recall_facts::standing;
use recall_text::terms;

/// Longest name looked for in a question, in words.
const MAX_NAME_WORDS: usize = 4;
/// Most words of a question that are looked at for names.
const MAX_WORDS: usize = 200;

/// Score from which a fact is asked for: the question has a word of its relation, or names both its sides.
pub(super) const ASKED_FOR: f64 = 0.55;

/// What a question names.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Every run of up to four words, as a key.
    pub(super) keys: Vec<EntityKey>,
    /// Words with a capital letter: one may be a part of a name, "Anna" of "Anna Schmidt".
    pub(super) capitals: Vec<EntityKey>,
    /// Whether it speaks of the user.
    pub(super) first_person: bool,
    stems: HashSet<String>,
}

impl Asked {
    pub(super) fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().take(MAX_WORDS).collect();
        let mut keys: Vec<EntityKey> = Vec::new();
        for n in 1..=MAX_NAME_WORDS {
            keys.extend(words.windows(n).filter_map(|w| EntityKey::of(&w.join(" "))));
        }
        keys.sort();
        keys.dedup();
        let capital = |w: &&&str| w.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(char::is_uppercase);
        let mut capitals: Vec<EntityKey> = words.iter().filter(capital).filter_map(|w| EntityKey::of(w)).collect();
        capitals.sort();
        capitals.dedup();
        let first_person = words.iter().any(|w| {
            let w = w.to_lowercase();
            let w = w.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
            let w = w.split(['\'', '’']).next().unwrap_or_default();
            matches!(w, "i" | "me" | "my" | "mine" | "myself" | "we" | "us" | "our" | "ours")
        });
        Self { keys, capitals, first_person, stems: terms(text).into_iter().map(|(t, _)| t).collect() }
    }
}

/// The relations' cues as terms, made once: stemming them for each fact took most of the time of a question.
#[derive(Debug)]
pub(super) struct CueTerms(HashMap<RelationName, Vec<Vec<String>>>);

impl CueTerms {
    pub(super) fn of(ontology: &Ontology) -> Self {
        let of_relation = |r: &Relation| {
            let c = &r.cues;
            let lists = [&c.verbs, &c.inverse_verbs, &c.nouns, &c.inverse_nouns, &c.adjectives, &c.ending_verbs];
            std::iter::once(r.phrase.as_str())
                .chain(lists.into_iter().flatten().map(String::as_str))
                .map(|cue| terms(cue).into_iter().map(|(t, _)| t).collect::<Vec<_>>())
                .filter(|cue| !cue.is_empty())
                .collect()
        };
        Self(ontology.iter().map(|r| (r.name.clone(), of_relation(r))).collect())
    }

    /// Relations of which the question has a cue.
    pub(super) fn asked_for(&self, asked: &Asked) -> HashSet<&str> {
        let hit = |cues: &[Vec<String>]| cues.iter().any(|cue| cue.iter().all(|t| asked.stems.contains(t)));
        self.0.iter().filter(|(_, cues)| hit(cues)).map(|(name, _)| name.as_str()).collect()
    }
}

/// How much a fact bears on the question, 0 to 1: the things named, the relation asked for, and how much it is believed.
pub(super) fn score(fact: &Fact, named: &[EntityId], asked_for: &HashSet<&str>, ontology: &Ontology, now: Timestamp) -> f64 {
    let sides = [fact.subject, fact.object].iter().filter(|s| named.contains(s)).count();
    let belief = standing(fact, ontology.get(&fact.relation), now).belief;
    let named = if sides == 2 { 0.35 } else { 0.2 };
    let cued = if asked_for.contains(fact.relation.as_str()) { 0.35 } else { 0.0 };
    let holds = if fact.status == FactStatus::Active { 0.1 } else { 0.0 };
    named + cued + 0.2 * belief + holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_runs_of_words_and_the_user() {
        let asked = Asked::of("Does the Backend Team know where I'm living?");
        assert!(asked.first_person);
        assert!(asked.keys.contains(&EntityKey::of("backend team").unwrap()));
        assert!(!Asked::of("Who does John like?").first_person);
        assert!(Asked::of("Is John's boss mean?").keys.contains(&EntityKey::of("John").unwrap()));
        let capitals: Vec<_> = Asked::of("Is \"John's\" boss in Rome?").capitals;
        assert_eq!(capitals.iter().map(EntityKey::as_str).collect::<Vec<_>>(), ["is", "john", "rome"]);
    }
}
