//! When the model is asked in addition to the local extractor.

use recall_domain::{Extraction, MessageKind, belief::FLAG_BELOW};
use recall_ports::extract::ExtractInput;

/// Length in bytes from which a message is long: the rules probably miss facts of it.
const LONG_MESSAGE: usize = 400;

/// Decides when the model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// If the local extractor is unsure or found nothing in a statement, or the message is long.
    Hybrid,
    /// For every message; its facts replace the local ones.
    Model,
}

impl Policy {
    /// Returns why the model should be asked about a message; `None` if it should not.
    pub fn reason(self, input: &ExtractInput, local: &Extraction) -> Option<&'static str> {
        let tells = matches!(local.kind, MessageKind::Statement | MessageKind::Mixed);
        let long = input.text.as_str().len() >= LONG_MESSAGE;
        match self {
            Self::Model => Some("always"),
            Self::Hybrid if local.facts.iter().any(|f| f.confidence < FLAG_BELOW) => Some("unsure"),
            Self::Hybrid if tells && local.facts.is_empty() => Some("nothing_found"),
            Self::Hybrid if long && local.kind != MessageKind::Question => Some("long"),
            Self::Hybrid => None,
        }
    }
}
