//! The parts of the protocol's answers that are read. Whatever a server leaves out or adds is passed over: compatible
//! servers differ most in what they leave out.

use serde::Deserialize;

use recall_domain::TokenCount;

/// An answer, or one piece of a streamed one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chat {
    #[serde(default)]
    pub(super) choices: Vec<Choice>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    /// A failure in the middle of a stream.
    #[serde(default)]
    pub(super) error: Option<serde::de::IgnoredAny>,
}

/// The first one counts.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) message: Option<Said>,
    #[serde(default)]
    pub(super) delta: Option<Said>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

/// Text, or a refusal to give one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
}

impl Usage {
    /// As the house counts. A server's word: it may be any number.
    pub(super) fn tokens(self) -> TokenCount {
        TokenCount { input: self.prompt_tokens, output: self.completion_tokens }
    }
}

/// Vectors.
#[derive(Debug, Deserialize)]
pub(super) struct Vectors {
    pub(super) data: Vec<Vector>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

/// One vector. Servers may give them in any order.
#[derive(Debug, Deserialize)]
pub(super) struct Vector {
    #[serde(default)]
    pub(super) index: Option<usize>,
    pub(super) embedding: Vec<f32>,
}
