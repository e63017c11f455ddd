//! What clients may run over GraphQL.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, sections::flexible, wrong};

/// What clients may run over GraphQL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphqlConfig {
    /// Whether clients may ask for the schema. GraphiQL needs it.
    #[serde(deserialize_with = "flexible")]
    pub introspection: bool,
    /// File with documents that clients may name instead of sending: a JSON object of ids and texts, as the generators of
    /// persisted documents write it.
    pub documents: Option<PathBuf>,
    /// Whether nothing is run but these documents and those of the bundled pages.
    #[serde(deserialize_with = "flexible")]
    pub documents_only: bool,
}

impl Default for GraphqlConfig {
    fn default() -> Self {
        Self { introspection: true, documents: None, documents_only: false }
    }
}

impl GraphqlConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self.documents_only && self.introspection {
            // Asking for the schema is a document as well, which nobody has listed.
            true => Err(wrong("graphql.introspection", "must be false with graphql.documents_only, which would refuse it anyway")),
            false => Ok(()),
        }
    }
}
