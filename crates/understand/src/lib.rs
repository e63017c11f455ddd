//! A message to what it says: its kind, the things it names, the facts it states, and the terms it is found by.
//!
//! Pure and deterministic: no clock, no I/O, no model service. The steps, each in its file: `normalise` -> `tokens` ->
//! `sentences` -> `language` -> `tags` (mended by `repairs` and `hidden_verbs`) -> `phrases` -> `clauses` -> whom phrases
//! mean (`referents`, `pronouns`) -> facts (`verbal` with `restraint` and `complements`, `nominal`, `reciprocal`,
//! `neighbours`; entered by `reader`) -> `kind`. What the relations are and by which words they show is data (`data/ontology.toml`), what words are is data (`data/lexicon`).
//! It must not know what is already known of anybody: that is for `facts`.

mod appositions;
mod clauses;
mod complements;
mod cues;
mod extractor;
mod guess;
mod hidden_verbs;
pub mod jsonl;
mod kind;
mod language;
mod lemma;
mod lexicon;
mod mentions;
mod neighbours;
mod nominal;
mod normalise;
mod noun_phrases;
mod objects;
mod phrases;
mod pronouns;
mod reader;
mod reciprocal;
mod referents;
mod registry;
mod repairs;
mod restraint;
mod sentences;
mod steps;
mod switches;
mod tags;
mod tokens;
mod verb_groups;
mod verbal;
mod walk;

pub use extractor::LocalExtractor;

use std::sync::Arc;

use recall_domain::{CandidateFact, Extraction, MessageKind, Ontology, Party, UserText};
use recall_ports::extract::ExtractInput;

use cues::Cues;
use kind::Act;
use reader::{FactBook, Reader};
use registry::Registry;

/// The ontology that is in force when no other is configured, as TOML.
pub fn default_ontology() -> &'static str {
    include_str!("../../../data/ontology.toml")
}

/// Reads messages by one ontology. Cheap to share, made once.
#[derive(Debug)]
pub struct Pipeline {
    ontology: Arc<Ontology>,
    cues: Cues,
}

impl Pipeline {
    /// Makes the ontology's cues ready, and reads word lists and tagger, so that the first message does not wait for them.
    pub fn new(ontology: Arc<Ontology>) -> Self {
        let cues = Cues::new(&ontology);
        let pipeline = Self { ontology, cues };
        pipeline.read("Ann likes tea.");
        pipeline
    }

    /// The ontology in force.
    pub fn ontology(&self) -> &Arc<Ontology> {
        &self.ontology
    }

    /// Everything found in one message. Never fails: text that states nothing gives an empty extraction.
    /// Takes time linear in the length of the text. "I" is [`Party::Speaker`] whether or not a speaker is named.
    /// The messages before it are read only where a pronoun of this one asks for them.
    pub fn extract(&self, input: &ExtractInput) -> Extraction {
        self.reading_of(input).finish()
    }

    fn reading_of(&self, input: &ExtractInput) -> Reading {
        let text = input.text.as_str();
        let reading = self.reading(text, Registry::default());
        if reading.registry.open == 0 || input.previous.is_empty() {
            return reading;
        }
        let mut spoken_of = Registry::default();
        for message in &input.previous {
            spoken_of = self.reading(message.as_str(), spoken_of).registry;
            spoken_of.close_message();
        }
        self.reading(text, spoken_of)
    }

    /// [`Pipeline::extract`] for a bare text.
    pub fn read(&self, text: &str) -> Extraction {
        self.reading(text, Registry::default()).finish()
    }

    fn reading(&self, text: &str, mut registry: Registry) -> Reading {
        let clean = normalise::clean(text);
        let mut book = FactBook::default();
        let mut acts = Vec::new();
        let mut foreign = false;
        for mut sentence in sentences::split(tokens::tokenise(&clean)) {
            foreign = language::is_foreign(&sentence, foreign);
            if foreign {
                language::names(&sentence.tokens, &mut registry);
                acts.push(if sentence.question_mark { Act::Asks } else { Act::Fills });
                continue;
            }
            tags::tag(&mut sentence, &|w| self.cues.is_verb(w));
            let phrases = phrases::chunk(&sentence.tokens);
            let clauses = clauses::clauses(&sentence.tokens, &phrases);
            let before = book.facts.len();
            let mut reader = Reader::new(&self.cues, &sentence.tokens, &phrases, &mut registry, &mut book);
            if !kind::asks(&sentence) {
                for clause in &clauses {
                    reader.copula(clause);
                    reader.having(clause);
                    reader.clause(clause);
                }
                reader.possessives();
                reader.placed();
                reader.departments();
            }
            acts.push(kind::of_sentence(&sentence, &phrases, &clauses, book.facts.len() - before));
        }
        Reading { kind: kind::of_message(&acts), registry, facts: book.facts }
    }
}

/// One message read.
struct Reading {
    kind: MessageKind,
    registry: Registry,
    facts: Vec<CandidateFact>,
}

impl Reading {
    fn finish(self) -> Extraction {
        finish(self.kind, self.registry, self.facts)
    }
}

/// Keeps the mentions that are names or take part in a fact, in order of appearance.
fn finish(kind: MessageKind, registry: Registry, mut facts: Vec<CandidateFact>) -> Extraction {
    let mut order: Vec<usize> = (0..registry.mentions.len()).filter(|&i| registry.kept[i]).collect();
    order.sort_by_key(|&i| registry.mentions[i].span.start);
    let mut place = vec![usize::MAX; registry.mentions.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new;
    }
    for fact in &mut facts {
        for party in [&mut fact.subject, &mut fact.object] {
            if let Party::Mention(i) = party {
                *i = place[*i];
            }
        }
    }
    facts.sort_by_key(|f| f.span.start);
    let mentions = order.into_iter().map(|i| registry.mentions[i].clone()).collect();
    Extraction { kind, mentions, facts }
}

/// An [`ExtractInput`] of a bare text.
pub fn input(text: &str) -> ExtractInput {
    ExtractInput { message: None, text: UserText::from(text), speaker: None, previous: Vec::new() }
}

#[cfg(test)]
mod tests;
