//! The result of extracting one message, before stored knowledge is considered.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::{CandidateValue, EntityType, MessageKind, exact};

/// A range of the message text in Unicode code points, end exclusive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Span {
    /// First code point.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
}

impl Span {
    /// Returns the span of the sentence around it in a text, given as its code points. A span of several sentences has all of them.
    pub fn sentence(self, text: &[char]) -> std::ops::Range<usize> {
        let closes = |c: &char| matches!(c, '.' | '!' | '?' | '\n' | ';');
        let (start, end) = ((self.start as usize).min(text.len()), (self.end as usize).min(text.len()));
        let from = text[..start].iter().rposition(closes).map_or(0, |i| i + 1);
        let to = text[end..].iter().position(closes).map_or(text.len(), |i| end + i);
        from..to.max(from)
    }
}

/// Everything found in one message.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// The kind of the message.
    pub kind: MessageKind,
    /// Mentioned entities in order of appearance, one entry per name.
    pub mentions: Vec<Mention>,
    /// Facts stated, in order of appearance.
    pub facts: Vec<CandidateFact>,
    /// Ends that count only if a fact is known that they can end.
    pub possible_ends: Vec<PossibleEnd>,
    /// What is said about names: aliases, renames and corrections.
    pub names: Vec<NameStatement>,
}

/// A mention: the place where a text names an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mention {
    /// Shortest natural name, without article or possessive, original case.
    pub name: String,
    /// The likely type of the entity.
    pub entity_type: EntityType,
    /// Its first occurrence.
    pub span: Span,
    /// Confidence, 0 to 1.
    #[serde(with = "exact")]
    pub confidence: f64,
    /// Its role, if the text gives one ("my manager Dave": "manager").
    pub description: Option<String>,
}

/// One side of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Party {
    /// The person who says "I".
    Speaker,
    /// An entry of [`Extraction::mentions`].
    Mention(usize),
}

/// Whether a fact is affirmed, denied or ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Polarity {
    /// "I use X."
    Affirmed,
    /// "I don't use X."
    Negated,
    /// "I no longer use X."
    Ended,
}

/// A candidate fact: a fact that the text states.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateFact {
    /// The subject.
    pub subject: Party,
    /// Name of a relation of the ontology.
    pub relation: String,
    /// The object. A fact with a value has its subject here.
    pub object: Party,
    /// The value that it states of its subject, instead of an object.
    pub value: Option<CandidateValue>,
    /// Whether it is affirmed, denied or ended.
    pub polarity: Polarity,
    /// Confidence, 0 to 1; a plain statement has 1.
    pub confidence: f64,
    /// The words that state it.
    pub span: Span,
}

/// An end that counts only if the fact is known: "Rima has quit", "we broke up", "Rollo died".
///
/// It adds nothing to what is known, so it needs less certainty than a [`CandidateFact`].
#[derive(Clone, Debug, PartialEq)]
pub struct PossibleEnd {
    /// The subject of the fact.
    pub subject: Party,
    /// Name of a relation of the ontology.
    pub relation: String,
    /// The object; `None` if the text does not name it.
    pub object: Option<Party>,
    /// Confidence, 0 to 1.
    pub confidence: f64,
    /// The words that state it.
    pub span: Span,
}

/// A statement that two names mean the same entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameStatement {
    /// The name: an index into [`Extraction::mentions`].
    pub name: usize,
    /// The entity that it names.
    pub of: Party,
    /// Whether it replaces the other name.
    pub change: NameChange,
}

impl PossibleEnd {
    /// Returns the end after mentions moved to other places; `None` if one of its sides has no place.
    pub fn moved(&self, place: impl Fn(Party) -> Option<Party>) -> Option<Self> {
        let object = match self.object {
            Some(object) => Some(place(object)?),
            None => None,
        };
        Some(Self { subject: place(self.subject)?, object, ..self.clone() })
    }
}

impl NameStatement {
    /// Returns the statement after mentions moved to other places; `None` if one of its sides has no place.
    pub fn moved(self, place: impl Fn(Party) -> Option<Party>) -> Option<Self> {
        match (place(Party::Mention(self.name))?, place(self.of)?) {
            (Party::Mention(name), of) if of != Party::Mention(name) => Some(Self { name, of, change: self.change }),
            _ => None,
        }
    }
}

/// What a message says about a name of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum NameChange {
    /// It is one more name: "everyone calls her Lena".
    Alias,
    /// It replaces the other name: "Falcon is called Osprey now".
    Renamed,
    /// The other name was wrong: "Aoki, not Okada".
    Corrected,
}

impl Extraction {
    /// Returns an extraction without mentions and facts.
    pub fn empty(kind: MessageKind) -> Self {
        Self { kind, mentions: Vec::new(), facts: Vec::new(), possible_ends: Vec::new(), names: Vec::new() }
    }
}
