//! Settings of what is never stored.

use recall_text::{PatternError, SensitiveKind, SensitivePatterns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, sections::texts, wrong};

/// What is never stored. A mark such as `[card number]` replaces it in messages, titles and names before anything is stored.
/// A fact that is stated with such text is refused. Uploaded documents stay as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrivacyConfig {
    /// Kinds of text: `card_number`, `bank_account`, `secret_key`, `password`, `security_number`. An empty list stores everything.
    #[serde(deserialize_with = "texts")]
    pub never_store: Vec<String>,
    /// Regular expressions of further text, in the syntax of the Rust crate `regex`. In the variable, commas separate them.
    #[serde(deserialize_with = "texts")]
    pub patterns: Vec<String>,
}

impl Default for PrivacyConfig {
    fn default() -> Self {
        Self { never_store: SensitiveKind::ALL.map(|kind| kind.word().to_owned()).to_vec(), patterns: Vec::new() }
    }
}

impl PrivacyConfig {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// `Value` for an unknown kind or an invalid pattern.
    pub fn sensitive_patterns(&self) -> Result<SensitivePatterns, ConfigError> {
        SensitivePatterns::new(self.kinds()?, &self.patterns).map_err(invalid_pattern)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.kinds()?;
        // The rules of the kinds are constants, and compile in milliseconds.
        SensitivePatterns::new([], &self.patterns).map(drop).map_err(invalid_pattern)
    }

    fn kinds(&self) -> Result<Vec<SensitiveKind>, ConfigError> {
        let known = || SensitiveKind::ALL.map(SensitiveKind::word).join(", ");
        let kind = |word: &String| {
            SensitiveKind::parse_word(word).ok_or_else(|| wrong("privacy.never_store", format!("{word} is unknown; known are {}", known())))
        };
        self.never_store.iter().map(kind).collect()
    }
}

fn invalid_pattern(error: PatternError) -> ConfigError {
    wrong("privacy.patterns", error.to_string())
}
