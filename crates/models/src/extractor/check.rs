//! Checks the proposal of a model against its message.
//!
//! Each name must occur in the message or in what was shown with it, each relation in the ontology, and persons stand where the
//! relation takes persons. A fact about a name that the message does not contain needs a quote from it. So a message that instructs
//! the model can only state facts about names that its session knows, as any message can.

use std::collections::HashMap;

use super::{
    appositions::merge_appositions,
    candidates::{sort_by_position, states_same},
    proposal::{Mark, Proposal, ProposedFact, ProposedName, Refusal},
    references::{Reference, References},
    schema::SPEAKER,
};
use crate::text_search::SearchableText;
use recall_domain::{
    CandidateFact, EntityKey, EntityType, Extraction, Mention, MessageKind, NameChange, NameStatement, Ontology, Party, Polarity, Span,
    Word, names_user,
};
use recall_ports::ExtractInput;

/// Most entities, most facts and most names of one message.
const MAX_ITEMS: usize = 64;
/// Longest name, in bytes.
const MAX_NAME: usize = 200;
/// Confidence of a fact with a quote from the message, and without one.
const WITH_QUOTE: f64 = 0.8;
const WITHOUT_QUOTE: f64 = 0.7;
/// Confidence of a fact that the speaker only heard: it is flagged.
const HEARSAY: f64 = 0.6;
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

/// Checks a proposal against the message it is about. `text` is the part of the message that the model saw.
pub(super) fn check(text: &str, input: &ExtractInput, proposal: Proposal, ontology: &Ontology) -> Checked {
    let mut checker = Checker {
        text: SearchableText::new(text),
        references: References::of(&input.background),
        by_user: input.speaker.is_none(),
        ontology,
        mentions: Vec::new(),
        by_key: HashMap::new(),
        types: HashMap::new(),
        refused: Vec::new(),
    };
    if [proposal.entities.len(), proposal.facts.len(), proposal.names.len()].into_iter().any(|n| n > MAX_ITEMS) {
        checker.refused.push(Refusal::TooMany);
    }
    for e in proposal.entities.iter().take(MAX_ITEMS).filter(|e| !is_self(&e.name)) {
        if let Err(r) = checker.add_entity(&e.name, &e.words, EntityType::parse_word(&e.entity_type)) {
            checker.refused.push(r);
        }
    }
    let kind = proposal.kind.as_deref().and_then(MessageKind::parse_word).unwrap_or(MessageKind::Statement);
    let (mut facts, mut names) = (Vec::new(), Vec::new());
    // A question states nothing.
    if kind != MessageKind::Question {
        facts = checker.facts(&proposal.facts);
        names = checker.names(&proposal.names);
    }
    let Checker { text, mentions, refused, .. } = checker;
    let extraction = sort_by_position(Extraction { mentions, facts, names, ..Extraction::empty(kind) });
    Checked { extraction: merge_appositions(&text, extraction), refused }
}

struct Checker<'a> {
    text: SearchableText,
    references: References<'a>,
    /// The user is the speaker.
    by_user: bool,
    ontology: &'a Ontology,
    mentions: Vec<Mention>,
    by_key: HashMap<EntityKey, usize>,
    /// Proposed types of names that the message does not contain.
    types: HashMap<EntityKey, EntityType>,
    refused: Vec<Refusal>,
}

/// Where a name was found.
enum Located {
    /// In the message: an index into the mentions.
    Here(usize),
    /// Only in what was shown with the message.
    Elsewhere(EntityKey, Reference),
}

impl Checker<'_> {
    fn add_entity(&mut self, name: &str, words: &str, entity_type: Option<EntityType>) -> Result<(), Refusal> {
        let (key, reference) = match self.locate(name, entity_type)? {
            Located::Here(_) => return Ok(()),
            Located::Elsewhere(key, reference) => (key, reference),
        };
        self.types.extend(entity_type.map(|t| (key.clone(), t)));
        // The message calls it by another word: "she", "there".
        if let Some(span) = self.text.find(words.trim()) {
            self.add_mention(key, reference, span, None);
        }
        Ok(())
    }

    /// Finds a name in the message, and adds its mention, or in what was shown with the message.
    fn locate(&mut self, name: &str, entity_type: Option<EntityType>) -> Result<Located, Refusal> {
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
            return Ok(Located::Here(*i));
        }
        let Some(span) = self.text.find(name).map(|s| self.text.without_determiners(s)) else {
            let reference = self.references.find(name, &key).ok_or(Refusal::Name)?;
            return Ok(Located::Elsewhere(key, reference));
        };
        let entity_type = entity_type.or_else(|| self.references.find(name, &key).and_then(|known| known.entity_type));
        // The spelling of the message, not of the model.
        let said = || Reference { name: self.text.piece(span), entity_type };
        let reference = self.references.find_longer(&key, entity_type).unwrap_or_else(said);
        Ok(Located::Here(self.add_mention(key, reference, span, None)))
    }

    fn add_mention(&mut self, key: EntityKey, reference: Reference, span: Span, expected: Option<EntityType>) -> usize {
        let entity_type = reference.entity_type.or_else(|| self.types.get(&key).copied()).or(expected).unwrap_or(EntityType::Thing);
        let mut index = self.mentions.len();
        // The proposal may call it by the proposed name or by the known one.
        if let Some(known) = EntityKey::of(&reference.name) {
            index = *self.by_key.entry(known).or_insert(index);
        }
        self.by_key.insert(key, index);
        if index < self.mentions.len() {
            return index;
        }
        self.mentions.push(Mention { name: reference.name, entity_type, span, confidence: MENTION, description: None });
        index
    }

    fn facts(&mut self, proposed: &[ProposedFact]) -> Vec<CandidateFact> {
        let mut facts: Vec<CandidateFact> = Vec::new();
        for f in proposed.iter().take(MAX_ITEMS) {
            match self.fact(f) {
                Ok(Some(fact)) if !facts.iter().any(|g| states_same(g, &fact)) => facts.push(fact),
                Ok(_) => {}
                Err(r) => self.refused.push(r),
            }
        }
        let opposite = |f: &CandidateFact| self.ontology.get(&f.relation).and_then(|r| r.opposite.clone());
        let affirmed: Vec<_> =
            facts.iter().filter(|f| f.polarity == Polarity::Affirmed).map(|f| (f.subject, opposite(f), f.object)).collect();
        // "I hate it" says already that "I like it" does not hold.
        facts.retain(|f| f.polarity != Polarity::Negated || !affirmed.contains(&(f.subject, Some(f.relation.clone()), f.object)));
        let kept: Vec<CandidateFact> = facts.iter().filter_map(|f| self.kept_plan(f)).collect();
        for plan in kept {
            if !facts.iter().any(|f| states_same(f, &plan)) {
                facts.push(plan);
            }
        }
        facts
    }

    /// Returns the checked fact; `None` for a plan if the ontology keeps no plans.
    fn fact(&mut self, f: &ProposedFact) -> Result<Option<CandidateFact>, Refusal> {
        let mut relation = self.ontology.get(&f.relation).filter(|r| !r.has_values()).ok_or(Refusal::Relation)?;
        let mut polarity = Polarity::parse_word(&f.polarity).ok_or(Refusal::Polarity)?;
        let mark = Mark::parse_word(&f.mark).ok_or(Refusal::Polarity)?;
        let quote = self.text.find_passage(&f.quote);
        let subject = self.party(&f.subject, &relation.subject_types, quote)?;
        let object = self.party(&f.object, &relation.object_types, quote)?;
        if subject == object {
            return Err(Refusal::SameSides);
        }
        if mark == Mark::Plan {
            let Some(plan) = self.ontology.plan() else { return Ok(None) };
            relation = plan;
            if polarity == Polarity::Negated {
                polarity = Polarity::Ended;
            }
        }
        if !relation.admits(self.type_of(subject), self.type_of(object)) {
            return Err(Refusal::Type);
        }
        if quote.is_none() && !f.quote.trim().is_empty() {
            // The fact is kept with less confidence, because its names occur. A repair may correct the quote.
            self.refused.push(Refusal::Quote);
        }
        let confidence = if quote.is_some() { WITH_QUOTE } else { WITHOUT_QUOTE };
        let confidence = if mark == Mark::Hearsay { confidence.min(HEARSAY) } else { confidence };
        let span = quote.or_else(|| self.enclosing_span(subject, object)).ok_or(Refusal::Name)?;
        Ok(Some(CandidateFact { subject, relation: relation.name.clone(), object, value: None, polarity, confidence, span }))
    }

    /// Returns the end of a plan that a fact fulfils.
    fn kept_plan(&self, f: &CandidateFact) -> Option<CandidateFact> {
        let plan = self.ontology.plan().filter(|p| p.name != f.relation && f.polarity == Polarity::Affirmed && f.confidence > HEARSAY)?;
        let name = |p: Party| match p {
            Party::Speaker => None,
            Party::Mention(i) => self.mentions.get(i).map(|m| m.name.as_str()),
        };
        let is_user = |p: Party| p == Party::Speaker && !self.by_user;
        let holds = !is_user(f.subject) && !is_user(f.object) && self.references.holds(name(f.subject), &plan.name, name(f.object));
        holds.then(|| CandidateFact { relation: plan.name.clone(), polarity: Polarity::Ended, ..f.clone() })
    }

    fn party(&mut self, name: &str, expected: &[EntityType], quote: Option<Span>) -> Result<Party, Refusal> {
        if is_self(name) {
            return Ok(Party::Speaker);
        }
        let expected = expected.first().copied();
        match self.locate(name, expected)? {
            Located::Here(i) => Ok(Party::Mention(i)),
            Located::Elsewhere(key, reference) => {
                let span = quote.ok_or(Refusal::Unquoted)?;
                Ok(Party::Mention(self.add_mention(key, reference, span, expected)))
            }
        }
    }

    fn type_of(&self, p: Party) -> EntityType {
        match p {
            Party::Speaker => EntityType::Person,
            Party::Mention(i) => self.mentions.get(i).map_or(EntityType::Thing, |m| m.entity_type),
        }
    }

    /// Returns the span from the first to the last name.
    fn enclosing_span(&self, a: Party, b: Party) -> Option<Span> {
        let spans = [a, b].into_iter().filter_map(|p| match p {
            Party::Speaker => None,
            Party::Mention(i) => self.mentions.get(i).map(|m| m.span),
        });
        spans.reduce(|x, y| Span { start: x.start.min(y.start), end: x.end.max(y.end) })
    }

    fn names(&mut self, proposed: &[ProposedName]) -> Vec<NameStatement> {
        let mut names: Vec<NameStatement> = Vec::new();
        for n in proposed.iter().take(MAX_ITEMS) {
            match self.name(n, &names) {
                Ok(name) => names.extend(name),
                Err(r) => self.refused.push(r),
            }
        }
        names
    }

    /// Returns the checked statement about a name, which the message must contain; `None` if `before` has one about it.
    fn name(&mut self, n: &ProposedName, before: &[NameStatement]) -> Result<Option<NameStatement>, Refusal> {
        let change = NameChange::parse_word(&n.change).ok_or(Refusal::Polarity)?;
        if is_self(&n.name) {
            return Err(Refusal::Nobody);
        }
        let Located::Here(name) = self.locate(&n.name, None)? else { return Err(Refusal::Name) };
        if before.iter().any(|b| b.name == name) {
            return Ok(None);
        }
        let span = self.mentions.get(name).map(|m| m.span);
        let of = self.party(&n.of, &[], span)?;
        if of == Party::Mention(name) {
            return Err(Refusal::SameSides);
        }
        // The two are one entity, so they have one type.
        let of_type = self.type_of(of);
        if let Some(m) = self.mentions.get_mut(name) {
            m.entity_type = of_type;
        }
        Ok(Some(NameStatement { name, of, change }))
    }
}

/// Whether a name stands for the speaker.
fn is_self(name: &str) -> bool {
    let name = name.trim();
    names_user(name) || [SPEAKER, "mine"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
