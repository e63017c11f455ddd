//! What one message states: the input of resolution and decisions.

use recall_domain::{EventId, Extraction, MessageId, MessageKind, SessionId, Timestamp, UserText};

/// A message and its extraction.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The message.
    pub message: MessageId,
    /// Its session.
    pub session: SessionId,
    /// When it was said. Facts get this date.
    pub at: Timestamp,
    /// Its text, used for excerpts.
    pub text: UserText,
    /// The speaker, if it is not the user.
    pub speaker: Option<String>,
    /// The message has no particular speaker, as in shared memory: "I" means nobody.
    pub is_impersonal: bool,
    /// For a chunk of a document: the id of the event that tells its progress.
    pub chunk_event: Option<EventId>,
    /// What the extractor found.
    pub extraction: Extraction,
}

impl Statement {
    /// Whether it only asks and states nothing.
    pub(crate) fn only_asks(&self) -> bool {
        self.extraction.kind == MessageKind::Question && self.extraction.facts.is_empty()
    }

    /// Whether it comes from a document.
    pub(crate) fn is_of_document(&self) -> bool {
        self.chunk_event.is_some()
    }
}
