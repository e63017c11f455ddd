//! User text, which must never reach a log. Its `Debug` output shows only the length.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A piece of user text. `Debug` is redacted and there is no `Display`; call [`UserText::as_str`] to show it on purpose.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(transparent)]
pub struct UserText(String);

impl UserText {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text as an owned string.
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
