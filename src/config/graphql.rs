//! Settings of GraphQL.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, sections::flexible, wrong};

/// GraphQL operations that clients may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphqlConfig {
    /// Whether clients may read the schema. GraphiQL needs it.
    #[serde(deserialize_with = "flexible")]
    pub introspection: bool,
    /// A file with persisted documents, which clients name by id: a JSON object of ids and texts, as generators of persisted documents
    /// write it.
    pub documents: Option<PathBuf>,
    /// Whether only these documents and those of the bundled pages are run.
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
            // An introspection query is a document too, and it is not in the list.
            true => Err(wrong("graphql.introspection", "must be false with graphql.documents_only, which would refuse it anyway")),
            false => Ok(()),
        }
    }
}
