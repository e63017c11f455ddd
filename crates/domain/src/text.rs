//! Text that people wrote. It must never reach a log, so its `Debug` shows only its length.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A piece of user text. `Debug` is redacted and there is no `Display`: showing it is a decision, made with [`UserText::as_str`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct UserText(String);

impl UserText {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<T: Into<String>> From<T> for UserText {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for UserText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<text of {} bytes>", self.0.len())
    }
}
