//! Extracts kind, mentions and candidate facts from a message.

use std::sync::Arc;

use async_trait::async_trait;

use recall_domain::{Caller, EntityType, Extraction, MessageId, RelationName, Role, UserText};

/// The input of an extractor.
#[derive(Clone, Debug, Default)]
pub struct ExtractInput {
    /// Id of the message, if it is stored.
    pub message: Option<MessageId>,
    /// The message.
    pub text: UserText,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// Up to two earlier messages of the session, oldest first, for pronouns.
    pub previous: Vec<UserText>,
    /// What the session told before. Known names are empty without [`Extractor::reads_background`].
    pub background: Background,
}

/// What a message may refer to.
#[derive(Clone, Debug, Default)]
pub struct Background {
    /// Those of the six messages before it that are remembered, oldest first.
    pub earlier: Vec<EarlierMessage>,
    /// What is known about names that the message or the session mentions.
    pub known: Arc<Known>,
}

/// An earlier message of the session.
#[derive(Clone, Debug)]
pub struct EarlierMessage {
    /// Its id.
    pub id: MessageId,
    /// Who wrote it.
    pub role: Role,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// The message.
    pub text: UserText,
}

/// Known names and facts about them.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Names, those of the message first.
    pub names: Vec<KnownName>,
    /// Facts that hold between them, or between them and the user.
    pub facts: Vec<KnownFact>,
}

/// The names of a known entity.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownName {
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: EntityType,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Its role: "sister".
    pub description: Option<String>,
}

/// A fact that holds. A side is a name; `None` means the user.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownFact {
    /// The subject.
    pub subject: Option<String>,
    /// The relation.
    pub relation: RelationName,
    /// The object.
    pub object: Option<String>,
}

/// Finds kind, entities and facts in one message.
#[async_trait]
pub trait Extractor: Send + Sync {
    /// Extracts a message; the cost counts against the caller's budget. A text that states nothing gives an empty extraction.
    ///
    /// # Errors
    /// Fails if the extractor cannot work at all; the caller retries and keeps the message.
    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError>;

    /// Returns how many waiting messages of a session are worth extracting before the first is committed.
    ///
    /// More than one only if an extraction takes no more than a few milliseconds. A transaction may commit fewer of them; the others are
    /// extracted again.
    fn together(&self) -> u32 {
        1
    }

    /// Whether the extractor uses the known names of [`ExtractInput::background`], which cost queries.
    fn reads_background(&self) -> bool {
        false
    }

    /// Returns how many later messages [`Extractor::extract_ahead`] can use.
    fn looks_ahead(&self) -> u32 {
        0
    }

    /// Extracts a message, with access to the next waiting messages of its session, in order.
    ///
    /// An extractor with expensive requests may process some of them in the same request and cache the results.
    ///
    /// # Errors
    /// See [`Extractor::extract`].
    async fn extract_ahead(&self, caller: &Caller, input: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ExtractError> {
        let _ = next;
        self.extract(caller, input).await
    }
}

/// Why nothing could be extracted.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// May work later.
    #[error("the extractor is not reachable: {0}")]
    Transient(String),
    /// Will not work for this input.
    #[error("the extractor failed: {0}")]
    Permanent(String),
}
