//! The parsed reply of a model, and why parts of it are refused.

use serde::Deserialize;

use recall_domain::{Polarity, Word};

/// The parsed reply of a model.
#[derive(Debug, Deserialize)]
pub(super) struct Proposal {
    #[serde(default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) entities: Vec<ProposedEntity>,
    pub(super) facts: Vec<ProposedFact>,
    #[serde(default)]
    pub(super) names: Vec<ProposedName>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProposedEntity {
    pub(super) name: String,
    #[serde(default, rename = "type")]
    pub(super) entity_type: String,
    /// The words of the message that stand for the name, if the message does not contain it.
    #[serde(default)]
    pub(super) words: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProposedFact {
    #[serde(default)]
    pub(super) quote: String,
    pub(super) subject: String,
    pub(super) relation: String,
    pub(super) object: String,
    #[serde(default = "affirmed")]
    pub(super) polarity: String,
    #[serde(default = "stated")]
    pub(super) mark: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProposedName {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) change: String,
}

fn affirmed() -> String {
    Polarity::Affirmed.word().to_owned()
}

fn stated() -> String {
    Mark::Stated.word().to_owned()
}

/// How firmly a message states a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Mark {
    /// The speaker says so.
    Stated,
    /// Somebody else said so, or the speaker is not sure.
    Hearsay,
    /// It is intended and has not happened yet.
    Plan,
}

/// Why a part of a proposal was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Refusal {
    /// The name occurs neither in the message nor in what was shown with it.
    Name,
    /// The word is not a name.
    Nobody,
    /// The ontology has no such relation.
    Relation,
    /// The relation does not allow the type of the subject or object.
    Type,
    /// The polarity, mark or change is none of the allowed words.
    Polarity,
    /// Subject and object are the same.
    #[strum(serialize = "same")]
    SameSides,
    /// There are more items than allowed.
    TooMany,
    /// The quote does not occur in the message.
    Quote,
    /// Nothing in the message shows that it is about a name which it does not contain.
    Unquoted,
}

impl Refusal {
    /// Returns the label for metrics.
    pub(super) fn label(self) -> &'static str {
        self.into()
    }

    /// Returns a fixed sentence for the repair prompt, without words of the reply.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Name => "a name occurs neither in the message nor in what came with it; copy names letter by letter",
            Self::Nobody => "a pronoun or an unspecific word is used as a name",
            Self::Relation => "a relation is not in the list",
            Self::Type => "a fact has a person where its relation takes none, or no person where it takes one",
            Self::Polarity => "a polarity, mark or change is not one of the allowed words",
            Self::SameSides => "two sides of a fact or of a name are the same",
            Self::TooMany => "there are more items than a message can hold",
            Self::Quote => "a quote does not occur in the message; copy it letter by letter",
            Self::Unquoted => "a fact about a name that the message leaves out needs a quote from the message",
        }
    }
}
