//! Checks the proposal of a model against its message.
//!
//! Each name must occur in the message, each relation in the ontology, and subject and object must have allowed types. So a
//! message that instructs the model can only state facts about names in itself, as any message can.

use std::collections::HashMap;

use serde::Deserialize;

use super::{
    appositions::merge_appositions,
    candidates::{sort_by_position, states_same},
    schema::SPEAKER,
};
use crate::text_search::SearchableText;
use recall_domain::{
    CandidateFact, EntityKey, EntityType, Extraction, Mention, MessageKind, Ontology, Party, Polarity, Relation, Span, Word, names_user,
};

/// Most entities, and most facts, of one message.
const MAX_ITEMS: usize = 64;
/// Longest name, in bytes.
const MAX_NAME: usize = 200;
/// Confidence of a fact with a quote from the message, and without one.
const WITH_QUOTE: f64 = 0.8;
const WITHOUT_QUOTE: f64 = 0.7;
/// Confidence of a mention.
const MENTION: f64 = 0.8;

/// Words that are not names.
const NOBODY: &[&str] = &[
    "we",
    "us",
    "our",
    "ours",
    "you",
    "your",
    "yours",
    "he",
    "him",
    "his",
    "she",
    "her",
    "hers",
    "it",
    "its",
    "they",
    "them",
    "their",
    "theirs",
    "this",
    "that",
    "these",
    "those",
    "who",
    "someone",
    "somebody",
    "everyone",
    "everybody",
    "anyone",
    "nobody",
    "something",
    "everything",
    "anything",
    "nothing",
    "stuff",
    "things",
    "people",
];
/// The parsed reply of a model.
#[derive(Debug, Deserialize)]
pub(super) struct Proposal {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    entities: Vec<ProposedEntity>,
    facts: Vec<ProposedFact>,
}

#[derive(Debug, Deserialize)]
struct ProposedEntity {
    name: String,
    #[serde(default, rename = "type")]
    entity_type: String,
}

#[derive(Debug, Deserialize)]
struct ProposedFact {
    #[serde(default)]
    quote: String,
    subject: String,
    relation: String,
    object: String,
    #[serde(default = "affirmed")]
    polarity: String,
}

fn affirmed() -> String {
    Polarity::Affirmed.word().to_owned()
}

/// Why a part of a proposal was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Refusal {
    /// The name does not occur in the message.
    Name,
    /// The word is not a name.
    Nobody,
    /// The ontology has no such relation.
    Relation,
    /// The relation does not allow the type of the subject or object.
    Type,
    /// The polarity is not affirmed, negated or ended.
    Polarity,
    /// Subject and object are the same.
    #[strum(serialize = "same")]
    SameSides,
    /// There are more items than allowed.
    TooMany,
    /// The quote does not occur in the message.
    Quote,
}

impl Refusal {
    /// Returns the label for metrics.
    pub(super) fn label(self) -> &'static str {
        self.into()
    }

    /// Returns a fixed sentence for the repair prompt, without words of the reply.
    fn sentence(self) -> &'static str {
        match self {
            Self::Name => "a name does not occur in the message; copy names letter by letter",
            Self::Nobody => "a pronoun or an unspecific word is used as a name",
            Self::Relation => "a relation is not in the list",
            Self::Type => "the subject or object of a fact has a type that its relation does not allow",
            Self::Polarity => "a polarity is not affirmed, negated or ended",
            Self::SameSides => "subject and object of a fact are the same",
            Self::TooMany => "there are more items than a message can hold",
            Self::Quote => "a quote does not occur in the message; copy it letter by letter",
        }
    }
}

/// The parts of a proposal that passed the check, and why others did not.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) extraction: Extraction,
    pub(super) refused: Vec<Refusal>,
}

impl Checked {
    /// Returns one sentence for each kind of problem.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.refused.iter().map(|r| r.sentence().to_owned()).collect();
        sentences.sort();
        sentences.dedup();
        sentences
    }
}

/// Checks a proposal against the message it is about.
pub(super) fn check(text: &str, proposal: Proposal, ontology: &Ontology) -> Checked {
    let mut checker =
        Checker { text: SearchableText::new(text), ontology, mentions: Vec::new(), by_key: HashMap::new(), refused: Vec::new() };
    if proposal.entities.len() > MAX_ITEMS || proposal.facts.len() > MAX_ITEMS {
        checker.refused.push(Refusal::TooMany);
    }
    for e in proposal.entities.iter().take(MAX_ITEMS).filter(|e| !is_self(&e.name)) {
        if let Err(r) = checker.mention(&e.name, EntityType::parse_word(&e.entity_type)) {
            checker.refused.push(r);
        }
    }
    let kind = proposal.kind.as_deref().and_then(MessageKind::parse_word).unwrap_or(MessageKind::Statement);
    let mut facts: Vec<CandidateFact> = Vec::new();
    // A question states no facts.
    for f in proposal.facts.iter().take(MAX_ITEMS).filter(|_| kind != MessageKind::Question) {
        match checker.fact(f) {
            Ok(fact) if facts.iter().any(|g| states_same(g, &fact)) => {}
            Ok(fact) => facts.push(fact),
            Err(r) => checker.refused.push(r),
        }
    }
    let Checker { text, mentions, refused, .. } = checker;
    Checked { extraction: merge_appositions(&text, sort_by_position(kind, mentions, facts)), refused }
}

struct Checker<'a> {
    text: SearchableText,
    ontology: &'a Ontology,
    mentions: Vec<Mention>,
    by_key: HashMap<EntityKey, usize>,
    refused: Vec<Refusal>,
}

impl Checker<'_> {
    /// Returns the mention of a name and adds it if it is new.
    fn mention(&mut self, name: &str, entity_type: Option<EntityType>) -> Result<usize, Refusal> {
        let name = name.trim();
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(Refusal::Name);
        }
        let lower = name.to_lowercase();
        if lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).all(|w| NOBODY.contains(&w) || is_self(w)) {
            return Err(Refusal::Nobody);
        }
        let key = EntityKey::of(name).ok_or(Refusal::Name)?;
        if let Some(i) = self.by_key.get(&key) {
            return Ok(*i);
        }
        let span = self.text.find(name).map(|s| self.text.without_determiners(s)).ok_or(Refusal::Name)?;
        let mention = Mention {
            // The spelling of the message, not of the model.
            name: self.text.piece(span),
            entity_type: entity_type.unwrap_or(EntityType::Thing),
            span,
            confidence: MENTION,
            description: None,
        };
        self.mentions.push(mention);
        self.by_key.insert(key, self.mentions.len() - 1);
        Ok(self.mentions.len() - 1)
    }

    fn fact(&mut self, f: &ProposedFact) -> Result<CandidateFact, Refusal> {
        let relation = self.ontology.get(&f.relation).filter(|r| !r.has_values()).ok_or(Refusal::Relation)?;
        let polarity = Polarity::parse_word(&f.polarity).ok_or(Refusal::Polarity)?;
        let subject = self.party(&f.subject, &relation.subject_types)?;
        let object = self.party(&f.object, &relation.object_types)?;
        if subject == object {
            return Err(Refusal::SameSides);
        }
        self.fits(relation, subject, object)?;
        let quote = self.text.find_passage(&f.quote);
        if quote.is_none() && !f.quote.trim().is_empty() {
            // The fact is kept with less confidence, because its names occur. A repair may correct the quote.
            self.refused.push(Refusal::Quote);
        }
        let confidence = if quote.is_some() { WITH_QUOTE } else { WITHOUT_QUOTE };
        let span = quote.or_else(|| self.enclosing_span(subject, object)).ok_or(Refusal::Name)?;
        Ok(CandidateFact { subject, relation: relation.name.clone(), object, value: None, polarity, confidence, span })
    }

    fn party(&mut self, name: &str, allowed: &[EntityType]) -> Result<Party, Refusal> {
        if is_self(name) { Ok(Party::Speaker) } else { self.mention(name, allowed.first().copied()).map(Party::Mention) }
    }

    fn fits(&self, relation: &Relation, subject: Party, object: Party) -> Result<(), Refusal> {
        let of = |p: Party| match p {
            Party::Speaker => Some(EntityType::Person),
            Party::Mention(i) => self.mentions.get(i).map(|m| m.entity_type),
        };
        let fits = |p: Party, allowed: &[EntityType]| allowed.is_empty() || of(p).is_some_and(|t| allowed.contains(&t));
        let both = fits(subject, &relation.subject_types) && fits(object, &relation.object_types);
        if both { Ok(()) } else { Err(Refusal::Type) }
    }

    /// Returns the span from the first to the last name.
    fn enclosing_span(&self, a: Party, b: Party) -> Option<Span> {
        let spans = [a, b].into_iter().filter_map(|p| match p {
            Party::Speaker => None,
            Party::Mention(i) => self.mentions.get(i).map(|m| m.span),
        });
        spans.reduce(|x, y| Span { start: x.start.min(y.start), end: x.end.max(y.end) })
    }
}

/// Whether a name stands for the speaker.
fn is_self(name: &str) -> bool {
    let name = name.trim();
    names_user(name) || [SPEAKER, "mine"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
