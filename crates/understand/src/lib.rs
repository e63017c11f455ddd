//! Extracts the kind, the mentions and the candidate facts of a message.
//!
//! The crate is pure and deterministic: no clock, no I/O, no model service. Each step has its file:
//!
//! 1. Text to sentences of tokens: `normalise`, `tokens`, `sentences`, `openers`, `compounds`, `language`, `samples`.
//! 2. Parts of speech: `tags`, corrected by `tag_repairs` (with `tag_conditions`) and `missing_verbs`.
//! 3. Phrases: `chunker` makes `phrases`, with `noun_phrases`, `verb_groups` and `appositions`. Clauses: `clause_finder`
//!    makes `clauses`, with `subjects` and `retractions`.
//! 4. Referents of noun phrases: `reader`, `naming` (`proper_names`, `name_types`, `common_nouns`), `registry` (with `namesakes`), `coreference`, `antecedents`,
//!    `pronouns`. Referents of omitted subjects: `topic`.
//! 5. Facts: `verbal` with `cue_matching`, `exclusions` and `adjuncts`; `copulas`, `nominal`, `reciprocal`, `switch_verbs`,
//!    `adjacent_phrases`. All of them add facts through `reader`. Ends of what is known: `possible_ends`, `working_days`. Models and successors: `models`, `successors`.
//! 6. Facts with values: `values`.
//! 7. The kind of the message: `message_kind`. A statement without facts is a note: `notes` (with `records`).
//! 8. Corrections of the message before, and replies to it: `corrections` and `replies` with `questions`, which `dialogue` applies with any extractor.
//!
//! The relations and their cues are data (`data/ontology.toml`), and so are the word lists (`data/lexicon`).
//! The crate does not know which facts are already stored; that is the task of the crate `facts`.

mod adjacent_phrases;
mod adjuncts;
mod antecedents;
mod appositions;
mod chunker;
mod clause_finder;
mod clauses;
mod closed_classes;
mod common_nouns;
mod compounds;
mod copulas;
mod coreference;
mod corrections;
mod cue_matching;
mod cues;
mod dialogue;
mod endings;
mod exclusions;
mod extractor;
#[cfg(test)]
mod fixture;
mod gifts;
pub mod jsonl;
mod language;
mod lemma;
mod lexicon;
mod mentions;
mod message_kind;
mod missing_verbs;
mod models;
mod name_types;
mod namesakes;
mod naming;
mod nominal;
mod normalise;
mod notes;
mod noun_phrases;
mod objects;
mod openers;
mod past_times;
mod phrases;
mod plain_words;
mod possible_ends;
mod pronouns;
mod proper_names;
mod questions;
mod quotations;
mod reader;
mod reciprocal;
mod records;
mod registry;
mod replies;
mod requests;
mod retractions;
mod samples;
mod sentences;
mod singular;
mod steps;
mod subjects;
mod successors;
mod switch_verbs;
mod tag_conditions;
mod tag_repairs;
mod tags;
mod time_limits;
mod tokens;
mod topic;
mod trace;
mod values;
mod verb_groups;
mod verbal;
mod working_days;

pub use dialogue::DialogueExtractor;
pub use extractor::LocalExtractor;

use std::sync::Arc;

use recall_domain::{CandidateFact, Extraction, MessageKind, Ontology, Party, PossibleEnd, UserText};
use recall_ports::extract::ExtractInput;

use cues::Cues;
use message_kind::{SpeechAct, Substance};
use reader::{FactSet, Reader};
use registry::Registry;
use sentences::Sentence;

/// Returns the default ontology as TOML.
pub fn default_ontology() -> &'static str {
    include_str!("../../../data/ontology.toml")
}

/// Extracts facts with one ontology. Make it once and share it.
#[derive(Debug)]
pub struct Pipeline {
    ontology: Arc<Ontology>,
    cues: Cues,
}

impl Pipeline {
    /// Prepares the cues of the ontology, and loads word lists and tagger before the first message.
    pub fn new(ontology: Arc<Ontology>) -> Self {
        let cues = Cues::new(&ontology);
        let pipeline = Self { ontology, cues };
        pipeline.read("Ann likes tea.");
        pipeline
    }

    /// Returns the ontology of this pipeline.
    pub fn ontology(&self) -> &Arc<Ontology> {
        &self.ontology
    }

    /// Extracts everything found in one message.
    ///
    /// It never fails: text that states nothing gives an empty extraction. The time is linear in the length of the text.
    /// "I" is [`Party::Speaker`] whether or not the speaker has a name. Earlier messages are read only if a pronoun of
    /// this message has no antecedent in it.
    pub fn extract(&self, input: &ExtractInput) -> Extraction {
        self.reading_of(input).finish()
    }

    fn reading_of(&self, input: &ExtractInput) -> Reading {
        let text = input.text.as_str();
        let reading = self.reading(text, Registry::default());
        if reading.registry.unresolved == 0 || input.previous.is_empty() {
            return reading;
        }
        let mut spoken_of = Registry::default();
        for message in &input.previous {
            spoken_of = self.reading(message.as_str(), spoken_of).registry;
            spoken_of.close_message();
        }
        self.reading(text, spoken_of)
    }

    /// Extracts from a text without speaker and earlier messages.
    pub fn read(&self, text: &str) -> Extraction {
        self.reading(text, Registry::default()).finish()
    }

    /// Removes the openers of a sentence and tags its words.
    fn prepare(&self, sentence: &mut Sentence) {
        let opening = openers::remove_openers(&mut sentence.tokens);
        compounds::join_compounds(&mut sentence.tokens);
        compounds::shorten_identifications(&mut sentence.tokens);
        tags::tag(sentence, &|w| self.cues.is_verb(w));
        // "Did I tell you my name?" still asks.
        if opening.is_asked {
            sentence.question_mark = !clause_finder::is_clause(&sentence.tokens);
        }
        sentence.to_remember = opening.is_ordered && !(opening.is_asked && sentence.question_mark);
    }

    fn reading(&self, text: &str, mut registry: Registry) -> Reading {
        let clean = normalise::clean(text);
        let mut fact_set = FactSet::default();
        let mut acts = Vec::new();
        let mut substance = Substance::default();
        let mut foreign = false;
        // Number of facts before the sentence before.
        let mut previous = 0;
        let mut all = tokens::tokenise(&clean);
        quotations::remove_quotations(&mut all);
        let mut sentences = sentences::split(all).into_iter().peekable();
        while let Some(mut sentence) = sentences.next() {
            foreign = language::is_foreign(&sentence, foreign);
            if foreign {
                language::add_listed_names(&sentence.tokens, &mut registry);
                acts.push(if sentence.question_mark { SpeechAct::Question } else { SpeechAct::Filler });
                continue;
            }
            self.prepare(&mut sentence);
            let phrases = chunker::chunk(&sentence.tokens);
            let mut clauses = clause_finder::find_clauses(&sentence.tokens, &phrases);
            retractions::mark_retracted(&sentence.tokens, sentences.peek().map(|next| next.tokens.as_slice()), &phrases, &mut clauses);
            if endings::ends_previous(&sentence.tokens) {
                fact_set.end_since(previous);
                continue;
            }
            let before = fact_set.facts.len();
            previous = before;
            let mut reader = Reader::new(&self.cues, &sentence.tokens, &phrases, &mut registry, &mut fact_set);
            reader.resolve_omitted_subjects(&clauses);
            let is_sample = samples::is_sample(&sentence.tokens);
            if !is_sample && !message_kind::is_question(&sentence) {
                substance.add(&sentence.tokens);
                for clause in &clauses {
                    reader.read_copula(clause);
                    reader.read_having(clause);
                    reader.read_clause(clause);
                }
                reader.read_possessives();
                reader.read_event_places();
                reader.read_departments();
                reader.read_working_days(&clauses);
                reader.read_values(&clauses, text);
            }
            let found = reader.facts.facts.len() - before;
            reader.remember_topic(&clauses);
            let mut act = message_kind::sentence_act(&sentence, &phrases, &clauses, found);
            if is_sample {
                act = SpeechAct::Filler;
            }
            if found == 0 {
                reader.read_note(&clauses, act, sentence.to_remember, text);
            }
            if act == SpeechAct::Question && openers::asks_whether_told(&sentence.tokens) {
                act = SpeechAct::Filler;
            }
            if sentence.to_remember && act == SpeechAct::Filler {
                act = SpeechAct::SelfStatement;
            }
            acts.push(act);
        }
        Reading { kind: message_kind::kind_of(&acts, &substance), registry, facts: fact_set.facts, possible_ends: fact_set.possible_ends }
    }
}

/// The result of reading one message.
struct Reading {
    kind: MessageKind,
    registry: Registry,
    facts: Vec<CandidateFact>,
    possible_ends: Vec<PossibleEnd>,
}

impl Reading {
    /// Keeps the mentions that are names or parts of a fact, in order of appearance.
    fn finish(self) -> Extraction {
        let Self { kind, registry, mut facts, possible_ends } = self;
        let mut order: Vec<usize> = (0..registry.mentions.len()).filter(|&i| registry.kept[i]).collect();
        order.sort_by_key(|&i| registry.mentions[i].span.start);
        let mut place = vec![usize::MAX; registry.mentions.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let moved = |party| match party {
            Party::Mention(i) => Party::Mention(place[i]),
            Party::Speaker => Party::Speaker,
        };
        for fact in &mut facts {
            (fact.subject, fact.object) = (moved(fact.subject), moved(fact.object));
        }
        facts.sort_by_key(|f| f.span.start);
        let possible_ends = possible_ends.iter().filter_map(|e| e.moved(|party| Some(moved(party)))).collect();
        let mentions = order.into_iter().map(|i| registry.mentions[i].clone()).collect();
        Extraction { mentions, facts, possible_ends, ..Extraction::empty(kind) }
    }
}

/// Makes an [`ExtractInput`] of a text without speaker and earlier messages.
pub fn input(text: &str) -> ExtractInput {
    ExtractInput { text: UserText::from(text), ..ExtractInput::default() }
}

#[cfg(test)]
mod tests;
