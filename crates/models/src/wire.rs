//! Response types of the protocol, with the fields that are used.
//!
//! Missing and additional fields are accepted, because compatible servers differ most in the fields they omit.

use serde::Deserialize;

use recall_domain::TokenCount;

/// A chat completion, or one chunk of a stream.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ChatResponse {
    #[serde(default)]
    pub(super) choices: Vec<Choice>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    /// An error in the middle of a stream.
    #[serde(default)]
    pub(super) error: Option<serde::de::IgnoredAny>,
}

/// One choice; only the first is used.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) message: Option<MessageContent>,
    #[serde(default)]
    pub(super) delta: Option<MessageContent>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

/// Text or refusal of the model.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MessageContent {
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
}

/// Token counts of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
}

impl Usage {
    /// Converts to the domain type. The numbers come from the server and may be wrong.
    pub(super) fn tokens(self) -> TokenCount {
        TokenCount { input: self.prompt_tokens, output: self.completion_tokens }
    }
}

/// The response to an embedding request.
#[derive(Debug, Deserialize)]
pub(super) struct Vectors {
    pub(super) data: Vec<Vector>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

/// One vector. Servers may return them in any order.
#[derive(Debug, Deserialize)]
pub(super) struct Vector {
    #[serde(default)]
    pub(super) index: Option<usize>,
    pub(super) embedding: Vec<f32>,
}
