//! Indexes the cues of the ontology by their first word.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::values::{ValueRelation, value_relations};
use recall_domain::{EntityType, Ontology};

/// What a cue states about its relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    States,
    Ends,
    Denies,
}

/// A verb cue: the words after the anchor verb.
#[derive(Clone, Debug)]
pub(crate) struct Cue {
    pub(crate) relation: usize,
    /// Words after the first.
    pub(crate) rest: Vec<String>,
    pub(crate) effect: Effect,
    pub(crate) inverse: bool,
    pub(crate) weak: bool,
    /// The negation is part of the cue ("can't stand").
    pub(crate) cannot: bool,
}

/// The relation between a noun's referent and its possessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NounCue {
    pub(crate) relation: usize,
    pub(crate) inverse: bool,
}

/// What matching needs of a relation, without its cues.
#[derive(Clone, Debug)]
pub(crate) struct Rel {
    pub(crate) name: String,
    pub(crate) subject_types: Vec<EntityType>,
    pub(crate) object_types: Vec<EntityType>,
    pub(crate) symmetric: bool,
    pub(crate) functional: bool,
    pub(crate) successive: bool,
    pub(crate) activities: bool,
    pub(crate) weak_names_only: bool,
    pub(crate) names_only: bool,
    pub(crate) possessed: Vec<String>,
}

/// The cues of an ontology, by verb and by noun.
#[derive(Debug)]
pub(crate) struct Cues {
    pub(crate) relations: Vec<Rel>,
    verbs: HashMap<String, Vec<Cue>>,
    nouns: HashMap<String, NounCue>,
    pub(crate) switches: HashMap<String, Vec<usize>>,
    /// The relations with values, which have patterns of their own.
    pub(crate) values: Vec<ValueRelation>,
    /// The relation whose facts are notes.
    pub(crate) note: Option<String>,
}

impl Cues {
    pub(crate) fn new(ontology: &Ontology) -> Self {
        let note = ontology.iter().find(|r| r.notes).map(|r| r.name.clone());
        let mut cues = Self {
            relations: Vec::new(),
            verbs: HashMap::new(),
            nouns: HashMap::new(),
            switches: HashMap::new(),
            values: value_relations(ontology),
            note,
        };
        for (i, r) in ontology.iter().enumerate() {
            cues.relations.push(Rel {
                name: r.name.clone(),
                subject_types: r.subject_types.clone(),
                object_types: r.object_types.clone(),
                symmetric: r.symmetric,
                functional: r.functional,
                successive: r.successive,
                activities: r.cues.activities,
                weak_names_only: r.cues.weak_names_only,
                names_only: r.cues.names_only,
                possessed: r.cues.possessed.clone(),
            });
            if r.has_values() {
                continue;
            }
            let c = &r.cues;
            cues.add(i, &c.verbs, Effect::States, false, false);
            cues.add(i, &c.weak_verbs, Effect::States, false, true);
            cues.add(i, &c.inverse_verbs, Effect::States, true, false);
            cues.add(i, &c.ending_verbs, Effect::Ends, false, false);
            cues.add(i, &c.negating_verbs, Effect::Denies, false, false);
            let adjectives: Vec<String> = c.adjectives.iter().map(|a| format!("be {}", a.trim_start_matches("a "))).collect();
            cues.add(i, &adjectives, Effect::States, false, false);
            for (list, inverse) in [(&c.nouns, false), (&c.inverse_nouns, true)] {
                for noun in list {
                    cues.nouns.entry(noun.clone()).or_insert(NounCue { relation: i, inverse });
                }
            }
            for verb in &c.switch_verbs {
                cues.switches.entry(verb.clone()).or_default().push(i);
            }
        }
        for list in cues.verbs.values_mut() {
            // The longest first; cues of equal length keep the order of the file.
            list.sort_by_key(|c| std::cmp::Reverse(c.rest.len()));
        }
        cues
    }

    fn add(&mut self, relation: usize, list: &[String], effect: Effect, inverse: bool, weak: bool) {
        for text in list {
            let mut words = text.split_whitespace().map(str::to_owned);
            let Some(mut first) = words.next() else { continue };
            let cannot = first == "can't";
            if cannot {
                let Some(verb) = words.next() else { continue };
                first = verb;
            }
            self.verbs.entry(first).or_default().push(Cue {
                relation,
                // Matching skips articles in the text too.
                rest: words.filter(|w| !matches!(w.as_str(), "a" | "an" | "the")).collect(),
                effect,
                inverse,
                weak,
                cannot,
            });
        }
    }

    /// Returns the cues that begin with a verb, the longest first.
    pub(crate) fn verb_cues(&self, lemma: &str) -> &[Cue] {
        self.verbs.get(lemma).map_or(&[], Vec::as_slice)
    }

    /// Whether a cue begins with this verb or it is a switch verb.
    pub(crate) fn is_verb(&self, lemma: &str) -> bool {
        let of_value = || self.values.iter().any(|relation| relation.has_verb(lemma));
        self.verbs.contains_key(lemma) || self.switches.contains_key(lemma) || of_value()
    }

    /// Returns the cue of a noun, given in the singular or as written.
    pub(crate) fn noun_cue(&self, word: &str) -> Option<NounCue> {
        self.nouns.get(word).copied()
    }
}

/// Whether a noun is a personal relation in the default ontology: kin, friends, colleagues, managers.
pub(crate) fn is_person_noun(lemma: &str) -> bool {
    static NOUNS: OnceLock<std::collections::HashSet<String>> = OnceLock::new();
    let nouns = NOUNS.get_or_init(|| {
        let Ok(ontology) = Ontology::parse(super::default_ontology()) else { return std::collections::HashSet::new() };
        ontology
            .iter()
            .filter(|r| r.object_types == [EntityType::Person] || r.name == "MANAGES")
            .flat_map(|r| r.cues.nouns.iter().chain(&r.cues.inverse_nouns).cloned())
            .collect()
    });
    nouns.contains(lemma)
}
