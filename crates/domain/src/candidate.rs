//! What understanding finds in one message, before anything known is looked at.

use super::{EntityType, MessageKind};

/// A piece of the message text, in Unicode code points, end exclusive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// First code point.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
}

/// Everything found in one message.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// What the message does.
    pub kind: MessageKind,
    /// Things mentioned, in order of appearance, one entry per name.
    pub mentions: Vec<Mention>,
    /// Facts stated, in order of appearance.
    pub facts: Vec<CandidateFact>,
}

/// A thing named in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Shortest natural name, without article or possessive, original case.
    pub name: String,
    /// What sort of thing it seems to be.
    pub entity_type: EntityType,
    /// Where its first occurrence stands.
    pub span: Span,
    /// 0 to 1.
    pub confidence: f64,
    /// Its role, when the text says one ("my manager Dave": "manager").
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

/// How a fact is stated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Polarity {
    /// "I use X."
    Affirmed,
    /// "I don't use X."
    Negated,
    /// "I no longer use X."
    Ended,
}

impl Polarity {
    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Affirmed => "affirmed",
            Self::Negated => "negated",
            Self::Ended => "ended",
        }
    }
}

/// A fact that the text states.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateFact {
    /// Who or what it is about.
    pub subject: Party,
    /// Name of a relation of the ontology in force.
    pub relation: String,
    /// The other side.
    pub object: Party,
    /// How it is stated.
    pub polarity: Polarity,
    /// 0 to 1; a plain statement has 1.
    pub confidence: f64,
    /// The words that state it.
    pub span: Span,
}

impl Extraction {
    /// Nothing found.
    pub fn empty(kind: MessageKind) -> Self {
        Self { kind, mentions: Vec::new(), facts: Vec::new() }
    }
}
