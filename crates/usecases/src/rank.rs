//! Ranks facts by their relevance to a question. Pure.

use std::collections::{HashMap, HashSet};

use super::core_question::is_question_word;
use recall_domain::{Entity, EntityId, EntityKey, Fact, FactStatus, FirstPerson, Ontology, Relation, RelationName, Timestamp};
use recall_facts::standing;
use recall_text::terms;

/// Longest name searched in a question, in words.
const MAX_NAME_WORDS: usize = 4;
/// Most words of a question searched for names.
const MAX_WORDS: usize = 200;

/// The names and words in a question.
#[derive(Clone, Debug)]
pub(super) struct QuestionTerms {
    /// Every run of up to four words, as a key.
    pub(super) keys: Vec<EntityKey>,
    /// Capitalized words, which may be a part of a name: "Anna" of "Anna Schmidt".
    pub(super) capitals: Vec<EntityKey>,
    /// Whether it mentions the user ("I", "my").
    pub(super) first_person: bool,
    stems: HashSet<String>,
}

impl QuestionTerms {
    pub(super) fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().take(MAX_WORDS).collect();
        let mut keys: Vec<EntityKey> = Vec::new();
        // "Who" asks, also if somebody told of the WHO.
        let names = |(i, w): &(usize, &[&str])| w.len() > 1 || !asks(w[0]) || *i > 0 && w[0].starts_with(char::is_uppercase);
        for n in 1..=MAX_NAME_WORDS {
            keys.extend(words.windows(n).enumerate().filter(names).filter_map(|(_, w)| EntityKey::of(&w.join(" "))));
        }
        keys.sort();
        keys.dedup();
        let capital = |w: &&&str| w.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(char::is_uppercase);
        let mut capitals: Vec<EntityKey> = words.iter().filter(capital).filter(|w| !asks(w)).filter_map(|w| EntityKey::of(w)).collect();
        capitals.sort();
        capitals.dedup();
        let first_person = words.iter().any(|w| {
            let w = w.to_lowercase();
            let w = w.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
            let w = w.split(['\'', '’']).next().unwrap_or_default();
            FirstPerson::of(w).is_some()
        });
        Self { keys, capitals, first_person, stems: terms(text).into_iter().map(|(t, _)| t).collect() }
    }

    /// Whether it has all words of a text.
    pub(super) fn has_words_of(&self, text: &str) -> bool {
        let mut words = terms(text).into_iter().map(|(t, _)| t).peekable();
        words.peek().is_some() && words.all(|t| self.stems.contains(&t))
    }
}

/// Whether a word asks for something.
fn asks(word: &str) -> bool {
    is_question_word(word.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// The cues of the relations as terms. They are computed once, because stemming them for each fact was the largest cost.
#[derive(Debug)]
pub(super) struct CueTerms(HashMap<RelationName, Vec<Vec<String>>>);

impl CueTerms {
    pub(super) fn of(ontology: &Ontology) -> Self {
        let of_relation = |r: &Relation| {
            let c = &r.cues;
            let lists = [&c.verbs, &c.inverse_verbs, &c.nouns, &c.inverse_nouns, &c.adjectives, &c.ending_verbs, &c.questions];
            std::iter::once(r.phrase.as_str())
                .chain(lists.into_iter().flatten().map(String::as_str))
                .map(|cue| terms(cue).into_iter().map(|(t, _)| t).collect::<Vec<_>>())
                .filter(|cue| !cue.is_empty())
                .collect()
        };
        Self(ontology.iter().map(|r| (r.name.clone(), of_relation(r))).collect())
    }

    /// Returns the relations with a cue in the question.
    pub(super) fn asked_for(&self, asked: &QuestionTerms) -> HashSet<&str> {
        let hit = |cues: &[Vec<String>]| cues.iter().any(|cue| cue.iter().all(|t| asked.stems.contains(t)));
        self.0.iter().filter(|(_, cues)| hit(cues)).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the words of the question that are in no cue of these relations and in none of these names.
    pub(super) fn unexplained<'q>(&self, asked: &'q QuestionTerms, relations: &HashSet<&str>, names: &[&str]) -> HashSet<&'q str> {
        let in_names: HashSet<String> = names.iter().flat_map(|name| terms(name)).map(|(t, _)| t).collect();
        let hit = |cue: &&Vec<String>| cue.iter().all(|t| asked.stems.contains(t));
        let cues = self.0.iter().filter(|(name, _)| relations.contains(name.as_str())).flat_map(|(_, cues)| cues.iter().filter(hit));
        let in_cues: HashSet<&String> = cues.flatten().collect();
        asked.stems.iter().filter(|t| !in_names.contains(*t) && !in_cues.contains(t)).map(String::as_str).collect()
    }
}

/// What a question asks for.
pub(super) struct AskedFor<'q> {
    /// The entities that it names.
    pub(super) named: &'q [EntityId],
    /// The relations with a cue in it.
    pub(super) relations: HashSet<&'q str>,
    /// Those of them with a whole cue in it: in "where do I live", "live in" but not "live for".
    pub(super) meant: HashSet<&'q str>,
}

/// Scores the relevance of a fact, 0 to 1, from the named entities, the requested relation and its belief.
pub(super) fn score(fact: &Fact, asked: &AskedFor<'_>, ontology: &Ontology, now: Timestamp) -> f64 {
    let sides = fact.object_entity().iter().chain([&fact.subject]).filter(|s| asked.named.contains(s)).count();
    let relation = ontology.get(&fact.relation);
    let belief = standing(fact, relation, now).belief;
    // Notes come after facts.
    if relation.is_some_and(|r| r.notes) {
        return 0.1 + 0.1 * belief;
    }
    let named = if sides == 2 { 0.35 } else { 0.2 };
    let has = |relations: &HashSet<&str>| relations.contains(fact.relation.as_str());
    let cued = if has(&asked.relations) { 0.35 } else { 0.0 };
    // More than the beliefs of two facts usually differ by.
    let meant = if has(&asked.meant) { 0.1 } else { 0.0 };
    let holds = if fact.status == FactStatus::Active { 0.1 } else { 0.0 };
    (named + cued + meant + 0.2 * belief + holds).min(1.0)
}

/// Leaves of each name so many entities. Those of one name come most mentioned first. There may be any number of Annas.
pub(super) fn most_mentioned(mut named: Vec<(EntityKey, Entity)>, most: usize) -> Vec<(EntityKey, Entity)> {
    let mut bearers: HashMap<EntityKey, usize> = HashMap::new();
    named.retain(|(key, _)| {
        let count = bearers.entry(key.clone()).or_default();
        *count += 1;
        *count <= most
    });
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_person_are_found_in_a_question() {
        let asked = QuestionTerms::of("Does the Backend Team know where I'm living?");
        assert!(asked.first_person);
        assert!(asked.keys.contains(&EntityKey::of("backend team").unwrap()));
        assert!(!QuestionTerms::of("Who does John like?").first_person);
        assert!(QuestionTerms::of("Is John's boss mean?").keys.contains(&EntityKey::of("John").unwrap()));
        let capitals: Vec<_> = QuestionTerms::of("Is \"John's\" boss in Rome?").capitals;
        assert_eq!(capitals.iter().map(EntityKey::as_str).collect::<Vec<_>>(), ["is", "john", "rome"]);
        let names = |text: &str| QuestionTerms::of(text).keys.iter().any(|key| key.as_str() == "who");
        assert!(!names("Who is my dentist?") && !names("and who is my dentist?") && names("Where is the WHO?"));
    }

    #[test]
    fn of_many_namesakes_the_most_mentioned_stay() {
        let at = chrono::DateTime::UNIX_EPOCH;
        let entity = |n: u128, mention_count| Entity {
            id: EntityId(uuid::Uuid::from_u128(n)),
            name: "Anna".into(),
            entity_type: recall_domain::EntityType::Person,
            aliases: Vec::new(),
            description: None,
            mention_count,
            confidence: 1.0,
            is_viewer: false,
            first_message: None,
            created_at: at,
            updated_at: at,
        };
        let key = |name| EntityKey::of(name).unwrap();
        let named = vec![(key("anna"), entity(3, 9)), (key("anna"), entity(1, 5)), (key("anna"), entity(2, 1)), (key("bo"), entity(2, 1))];
        let left: Vec<u128> = most_mentioned(named, 2).iter().map(|(_, e)| e.id.0.as_u128()).collect();
        assert_eq!(left, [3, 1, 2]);
    }
}
