//! Adds facts with values: "Leo is 7", "my birthday is 3 March", "the report is due on Friday", "I'm a nurse".
//!
//! Closed patterns of English, because a wrong value is worse than none. Which relation a pattern states is data of the ontology:
//! nouns, verbs and adjectives are its cues, and `reading` names the further patterns of [`Reading`].
//!
//! - `nouns`: "S's noun is V", "the noun of S is V", "S has a noun of V", "my noun: V".
//! - `verbs`: "S verb V", and adjectives that are values.
//! - `gapping`: further subjects and owners, "my dad is 70 and my mum 68".
//! - `ages`, `jobs`, `health`, `own_names`: the patterns of single readings.
//! - `parse`: the value at a token.

mod ages;
mod contacts;
mod gapping;
mod health;
mod jobs;
mod nouns;
mod own_names;
mod parse;
mod verbs;

use recall_domain::{CandidateFact, CandidateValue, EntityType, FactValue, Ontology, Polarity, Relation, ValueType};

use super::clauses::{Clause, Subject};
use super::reader::{Reader, Referent};
use super::steps;

/// Least confidence of a fact; see the thresholds of the crate `facts`.
const LEAST_CONFIDENCE: f64 = 0.5;
/// Most facts with values that are read from one message.
const MAX_VALUES: usize = 50;

/// Further patterns of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// "My name is Ann", "call me Ann".
    OwnName,
    /// "S is 7", "S turned 7", "a 7-year-old S".
    Age,
    /// A day without a year returns every year.
    Yearly,
    /// "S is a nurse".
    Occupation,
    /// "S has a peanut allergy", "S is lactose intolerant".
    Allergy,
    /// The value is a language.
    Language,
    /// The value is an e-mail address: "you can reach me at …".
    Email,
    /// The value is a phone number: "call me on …".
    Phone,
    /// The value is a web address.
    Url,
    /// The value is a version: "2.3", "v16".
    Version,
    /// "S is 1.80 m tall".
    Size,
}

impl Reading {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "own_name" => Self::OwnName,
            "age" => Self::Age,
            "yearly" => Self::Yearly,
            "occupation" => Self::Occupation,
            "allergy" => Self::Allergy,
            "language" => Self::Language,
            "email" => Self::Email,
            "phone" => Self::Phone,
            "url" => Self::Url,
            "version" => Self::Version,
            "size" => Self::Size,
            _ => return None,
        })
    }
}

/// What the patterns need of a relation with values.
#[derive(Clone, Debug)]
pub(crate) struct ValueRelation {
    name: String,
    subject_types: Vec<EntityType>,
    types: Vec<ValueType>,
    unit: Option<String>,
    labels: bool,
    reading: Option<Reading>,
    /// Each cue as words; the longest first.
    nouns: Vec<Vec<String>>,
    verbs: Vec<Vec<String>>,
    adjectives: Vec<Vec<String>>,
}

impl ValueRelation {
    /// Whether one of its cues begins with this verb.
    pub(crate) fn has_verb(&self, lemma: &str) -> bool {
        self.verbs.iter().any(|cue| cue.first().is_some_and(|verb| verb == lemma))
    }

    fn of(relation: &Relation) -> Self {
        let words = |cues: &[String]| {
            let mut cues: Vec<Vec<String>> = cues.iter().map(|c| c.split_whitespace().map(str::to_owned).collect()).collect();
            cues.sort_by_key(|c| std::cmp::Reverse(c.len()));
            cues
        };
        Self {
            name: relation.name.clone(),
            subject_types: relation.subject_types.clone(),
            types: relation.value_types.clone(),
            unit: relation.unit.clone(),
            labels: relation.labels,
            reading: relation.reading.as_deref().and_then(Reading::named),
            nouns: words(&relation.cues.nouns),
            verbs: words(&relation.cues.verbs),
            adjectives: words(&relation.cues.adjectives),
        }
    }
}

/// The relations with values of an ontology, without those for notes.
pub(crate) fn value_relations(ontology: &Ontology) -> Vec<ValueRelation> {
    ontology.iter().filter(|r| r.has_values() && !r.notes).map(ValueRelation::of).collect()
}

/// What holds for all values of one clause or phrase.
#[derive(Clone, Debug)]
struct ValueFrame {
    subjects: Vec<Referent>,
    polarity: Polarity,
    confidence: f64,
    /// First token of the words that state it.
    start: usize,
}

impl Reader<'_> {
    /// Adds the facts with values of one sentence. `text` is the original message.
    pub(crate) fn read_values(&mut self, clauses: &[Clause], text: &str) {
        let cues = self.cues;
        let frames: Vec<Option<ValueFrame>> = clauses.iter().map(|c| self.value_frame(c)).collect();
        for relation in &cues.values {
            self.read_noun_values(relation, clauses, text);
            if relation.reading == Some(Reading::OwnName) {
                self.read_introduction(relation);
            }
            if relation.reading == Some(Reading::Age) {
                self.read_age_adjectives(relation);
            }
            if matches!(relation.reading, Some(Reading::Email | Reading::Phone)) {
                self.read_reachable(relation, text);
            }
            for (clause, frame) in clauses.iter().zip(&frames) {
                steps::count(1);
                if relation.reading == Some(Reading::OwnName) {
                    self.read_own_name(relation, clause);
                    self.read_requested_name(relation, clause);
                }
                let Some(frame) = frame else { continue };
                self.read_verb_values(relation, clause, frame, text);
                match relation.reading {
                    Some(Reading::Age) => {
                        self.read_age(relation, clause, frame);
                        self.read_gapped_values(relation, clause, frame);
                    }
                    Some(Reading::Occupation) => {
                        self.read_occupation(relation, clause, frame);
                        self.read_gapped_values(relation, clause, frame);
                        self.read_end_of_occupation(relation, clause, frame);
                    }
                    Some(Reading::Allergy) => self.read_allergy(relation, clause, frame),
                    Some(Reading::Size) => self.read_measure(relation, clause, frame),
                    _ => {}
                }
            }
        }
    }

    /// Returns the subjects of a clause that asserts something, with polarity and confidence.
    fn value_frame(&self, clause: &Clause) -> Option<ValueFrame> {
        let g = &self.phrases.verbs[clause.verb];
        // "We are 34" is no age of the speaker.
        let we = matches!(&clause.subject, Subject::Nouns(n) if n.iter().any(|&n| self.tokens[self.phrases.nouns[n].head].is("we")));
        if we {
            return None;
        }
        let subjects = self.subjects_of(clause);
        let unreal = g.modal.is_some() || g.almost || clause.unasserted || clause.denied;
        if subjects.is_empty() || unreal || self.is_doubtful() {
            return None;
        }
        let polarity = match (g.used_to || g.no_longer || clause.is_over, g.negated) {
            (true, _) => Polarity::Ended,
            (false, true) => Polarity::Negated,
            (false, false) => Polarity::Affirmed,
        };
        let pronoun = matches!(&clause.subject, Subject::Nouns(n) if n.iter().any(|&n| self.phrases.nouns[n].pronoun));
        let mut confidence = if clause.hedged.is_some() { 0.7 } else { 1.0 };
        if matches!(clause.subject, Subject::Implied | Subject::Omitted)
            || clause.distant
            || pronoun && !subjects.contains(&Referent::Speaker)
        {
            confidence *= 0.9;
        }
        Some(ValueFrame { subjects, polarity, confidence, start: clause.start_token })
    }

    /// Whether the sentence says that it may not be so.
    fn is_doubtful(&self) -> bool {
        let doubt =
            ["maybe", "perhaps", "apparently", "supposedly", "allegedly", "probably", "possibly", "if", "unless", "whether", "imagine"];
        self.tokens.iter().any(|t| doubt.contains(&t.norm.as_str()))
    }

    /// Adds a fact with a value for each subject of a fitting type. `end` is one past its last token.
    fn add_value(&mut self, relation: &ValueRelation, frame: &ValueFrame, value: &CandidateValue, end: usize) {
        for &subject in &frame.subjects {
            let Some(fit) = self.type_fit(subject, &relation.subject_types) else { continue };
            let confidence = (frame.confidence * fit * 100.0).round() / 100.0;
            if confidence < LEAST_CONFIDENCE || self.facts.values >= MAX_VALUES {
                continue;
            }
            let fact = CandidateFact {
                subject: subject.party(),
                relation: relation.name.clone(),
                object: subject.party(),
                value: Some(value.clone()),
                polarity: frame.polarity,
                confidence,
                span: self.span(frame.start, end),
            };
            let known = |f: &CandidateFact| f.subject == fact.subject && f.relation == fact.relation && f.value == fact.value;
            if self.facts.facts.iter().any(known) {
                continue;
            }
            if let Referent::Entity(i, _) = subject {
                self.registry.kept[i] = true;
            }
            self.facts.values += 1;
            self.facts.facts.push(fact);
        }
    }

    /// Adds a value of words.
    fn add_text(&mut self, relation: &ValueRelation, frame: &ValueFrame, text: &str, end: usize) {
        let value = FactValue::of_text(text);
        if value.is_valid() {
            self.add_value(relation, frame, &CandidateValue::Known(value), end);
        }
    }
}
