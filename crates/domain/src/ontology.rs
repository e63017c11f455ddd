//! The relations that facts may use, as data: names, phrases, allowed types and behaviour.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EntityType, FactValue, ValueData, ValueType};

/// Name of a relation, upper case with underscores, such as `LIVES_IN`.
pub type RelationName = String;

/// One relation.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// Upper case with underscores.
    pub name: RelationName,
    /// Phrase in the third person singular, as shown to people: "lives in".
    pub phrase: String,
    /// Meaning of the relation, for readers of the ontology.
    pub description: String,
    /// Types that may be its subject; empty means any.
    #[serde(default)]
    pub subject_types: Vec<EntityType>,
    /// Types that may be its object; empty means any.
    #[serde(default)]
    pub object_types: Vec<EntityType>,
    /// Types of its value, the most special first; empty means that the object is an entity.
    #[serde(default)]
    pub value_types: Vec<ValueType>,
    /// The unit of its numbers that have none.
    #[serde(default)]
    pub unit: Option<String>,
    /// Whether the noun that states a value is its label, because the relation covers several measures ("rent", "salary").
    #[serde(default)]
    pub labels: bool,
    /// How the extractor reads its values, in addition to the cues; see `recall_understand`.
    #[serde(default)]
    pub reading: Option<String>,
    /// Its values are notes: statements that fit no other relation.
    #[serde(default)]
    pub notes: bool,
    /// A R B means B R A. The fact is stored once, in the direction stated first.
    #[serde(default)]
    pub symmetric: bool,
    /// A subject has one object at a time. Other objects are rivals.
    #[serde(default)]
    pub functional: bool,
    /// A new object usually replaces the one before if the message says that something changed ("now", "moved to").
    #[serde(default)]
    pub successive: bool,
    /// Other phrases for it, for statements with certain words ("studies at"). The first that fits counts.
    #[serde(default)]
    pub wordings: Vec<Wording>,
    /// Words of statements that tell where the subject comes from ("from", "born"). Such an object gives way to any other one.
    #[serde(default)]
    pub origins: Vec<String>,
    /// The phrase for a statement of an origin ("is from"), in the third person.
    #[serde(default)]
    pub origin_phrase: Option<String>,
    /// Verbs, as they are written in the past, that begin such a fact ("moved"). A date next to one of them tells since when it holds.
    #[serde(default)]
    pub beginnings: Vec<String>,
    /// The relation that states the contrary for the same pair; mutual.
    #[serde(default)]
    pub opposite: Option<RelationName>,
    /// It holds what somebody intends. A reader that recognizes plans states them with this relation only.
    #[serde(default)]
    pub plan: bool,
    /// Days after which unrepeated support counts half.
    pub half_life_days: f64,
    /// Words that state the relation; see `recall_understand`.
    #[serde(default)]
    pub cues: Cues,
}

/// A phrase for a relation in answers, if a statement has one of some words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// The phrase, in the third person.
    pub phrase: String,
    /// The words, in lower case.
    pub words: Vec<String>,
}

/// Words by which a relation is found in text, without further code.
///
/// They are lemmas in lower case. A particle or preposition belongs to the verb ("work on").
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cues {
    /// Verbs whose subject and object are those of the relation.
    pub verbs: Vec<String>,
    /// Like `verbs`, but so common that they count only if the types of both sides are known to match ("have", "be in").
    pub weak_verbs: Vec<String>,
    /// `weak_verbs` count only for objects with a proper name ("joined Ericsson", not "joined the backend team").
    pub weak_names_only: bool,
    /// Whether the other side needs a name: "lives in Oslo", but not "lives in a hut".
    pub names_only: bool,
    /// Verbs that, in the active voice, state the relation with swapped sides ("X employs Y").
    pub inverse_verbs: Vec<String>,
    /// Nouns N for which "S's N is O" and "my N O" state the relation S-R-O ("favourite", "hometown").
    pub nouns: Vec<String>,
    /// Nouns N for which "my N O" states O-R-S ("manager").
    pub inverse_nouns: Vec<String>,
    /// Adjective phrases after "be" ("fond of", "afraid of").
    pub adjectives: Vec<String>,
    /// Verbs and phrases that say the relation is over ("quit", "sell").
    pub ending_verbs: Vec<String>,
    /// Verbs and phrases that deny the relation ("decide against").
    pub negating_verbs: Vec<String>,
    /// Verbs of change: the part after "from" has ended, the part after "to" holds ("switch", "move").
    pub switch_verbs: Vec<String>,
    /// Groups of nouns (file names under `data/lexicon`) that state the relation after a possessive ("my bike").
    pub possessed: Vec<String>,
    /// Whether an activity can be its object ("likes hiking", "likes to hike").
    pub activities: bool,
    /// Words by which a question asks for its values ("how old").
    pub questions: Vec<String>,
    /// Words of questions for a yes or a no that its values bear on, without being the answer ("can I eat peanuts").
    pub concerns: Vec<String>,
}

/// The relations in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Ontology {
    relations: BTreeMap<RelationName, Relation>,
    order: Vec<RelationName>,
}

/// Why an ontology file was rejected.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OntologyError {
    /// Not readable as TOML of this shape.
    #[error("the ontology file is not valid: {0}")]
    Syntax(String),
    /// Readable but wrong.
    #[error("relation {relation} in the ontology file: {problem}")]
    Relation {
        /// The relation.
        relation: String,
        /// The problem.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    relation: Vec<Relation>,
}

impl Relation {
    /// Returns the phrase for statements with these words.
    pub fn phrase_for<'w>(&self, words: impl Iterator<Item = &'w str> + Clone) -> &str {
        let fits = |wording: &&Wording| words.clone().any(|word| wording.words.iter().any(|w| w == word));
        self.wordings.iter().find(fits).map_or(&self.phrase, |wording| &wording.phrase)
    }

    /// Whether words that state it tell where its subject comes from, and nothing of a move: "moved here from Leeds" does.
    pub fn tells_origin(&self, words: &str) -> bool {
        const OF_NOW: &[&str] = &["now", "here", "live", "lives", "living", "moved", "moving", "based", "settled"];
        let words = words.to_lowercase();
        let mut said = words.split(|c: char| !c.is_alphanumeric());
        said.clone().any(|word| self.origins.iter().any(|origin| origin == word)) && !said.any(|word| OF_NOW.contains(&word))
    }

    /// Whether its facts have values instead of objects.
    pub fn has_values(&self) -> bool {
        !self.value_types.is_empty()
    }

    /// Parses a value of one of its types.
    pub fn parse_value(&self, text: &str) -> Option<FactValue> {
        let mut value = FactValue::parse(text, &self.value_types)?;
        if let ValueData::Number { unit, .. } = &mut value.data {
            *unit = unit.take().or_else(|| self.unit.clone());
        }
        Some(value)
    }

    /// Whether a value is of a type of this relation.
    pub fn takes(&self, value: &FactValue) -> bool {
        self.value_types.contains(&value.value_type())
    }

    /// Whether it can hold between entities of these types.
    ///
    /// Only the border between persons and everything else is strict: the other types are guesses, and a pub is a place, an organization
    /// or a thing.
    pub fn admits(&self, subject: EntityType, object: EntityType) -> bool {
        let person = |t: EntityType| t == EntityType::Person;
        let admits = |allowed: &[EntityType], t: EntityType| {
            allowed.is_empty() || allowed.contains(&t) || (!person(t) && allowed.iter().any(|a| !person(*a)))
        };
        admits(&self.subject_types, subject) && admits(&self.object_types, object)
    }

    /// Returns the phrase in the first person: "likes" becomes "like", "is part of" becomes "am part of".
    pub fn phrase_of_first_person(&self) -> String {
        let (verb, rest) = self.phrase.split_once(' ').map_or((self.phrase.as_str(), ""), |(v, r)| (v, r));
        let verb = match verb {
            "is" => "am",
            "has" => "have",
            "does" => "do",
            v => v.strip_suffix('s').filter(|v| !v.ends_with('s')).unwrap_or(v),
        };
        if rest.is_empty() { verb.to_owned() } else { format!("{verb} {rest}") }
    }
}

impl Ontology {
    /// Parses and checks an ontology.
    ///
    /// # Errors
    /// Fails if the text is not TOML of the expected form, a name is malformed or repeated, an opposite is missing, one-sided or has
    /// another half-life, a half-life is not positive, a relation with values has what only relations of entities have, or two relations are for plans.
    pub fn parse(toml: &str) -> Result<Self, OntologyError> {
        let file: File = toml::from_str(toml).map_err(|e| OntologyError::Syntax(e.to_string()))?;
        let order: Vec<_> = file.relation.iter().map(|r| r.name.clone()).collect();
        let mut relations = BTreeMap::new();
        for r in file.relation {
            let name = r.name.clone();
            let fail = |problem: &str| Err(OntologyError::Relation { relation: name.clone(), problem: problem.to_owned() });
            let well_formed = name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.len() <= 64
                && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            if !well_formed {
                return fail("a name is upper-case letters, digits and underscores, at most 64 of them");
            }
            if !(r.half_life_days.is_finite() && r.half_life_days > 0.0) {
                return fail("half_life_days must be a positive number");
            }
            if r.has_values() && (r.symmetric || r.opposite.is_some() || !r.object_types.is_empty()) {
                return fail("has values, so it cannot be symmetric or have an opposite or object_types");
            }
            if r.notes && (r.functional || r.value_types != [ValueType::Text]) {
                return fail("has notes, so its only value type is text, and it is not functional");
            }
            if relations.insert(name.clone(), r).is_some() {
                return fail("is defined twice");
            }
        }
        let mut plans = relations.values().filter(|r| r.plan).skip(1);
        if let Some(second) = plans.next() {
            return Err(OntologyError::Relation {
                relation: second.name.clone(),
                problem: "another relation is for plans already".to_owned(),
            });
        }
        for r in relations.values() {
            let Some(opposite) = &r.opposite else { continue };
            let fail = |problem: &str| Err(OntologyError::Relation { relation: r.name.clone(), problem: problem.to_owned() });
            match relations.get(opposite) {
                None => return fail("its opposite does not exist"),
                Some(o) if o.opposite.as_ref() != Some(&r.name) => return fail("its opposite does not name it back"),
                // Opposition to one is support of the other. With different half-lives, the order of messages would matter.
                Some(o) if o.half_life_days != r.half_life_days => return fail("its opposite has another half-life"),
                Some(o) if o.symmetric != r.symmetric => return fail("only one of it and its opposite is symmetric"),
                Some(_) => {}
            }
        }
        Ok(Self { relations, order })
    }

    /// Returns a relation by name.
    pub fn get(&self, name: &str) -> Option<&Relation> {
        self.relations.get(name)
    }

    /// Returns the relation that holds plans, if the ontology has one.
    pub fn plan(&self) -> Option<&Relation> {
        self.iter().find(|r| r.plan)
    }

    /// Returns all relations in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Relation> {
        self.order.iter().filter_map(|n| self.relations.get(n))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_told_apart_from_a_move() {
        let ontology = Ontology::parse(include_str!("../../../data/ontology.toml")).unwrap();
        let lives_in = ontology.get("LIVES_IN").unwrap();
        for (words, expected) in [
            ("I am from Warsaw", true),
            ("born in Leeds", true),
            ("I grew up in Cork", true),
            ("moved here from Leeds", false),
            ("I moved from Leeds to York", false),
            ("I live in Leeds", false),
        ] {
            assert_eq!(lives_in.tells_origin(words), expected, "{words}");
        }
    }
}
