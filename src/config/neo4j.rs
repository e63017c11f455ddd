//! Settings of the optional graph engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Secret, wrong};

/// A Neo4j server that is kept in step with the store and answers questions about connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Neo4jSection {
    /// The address: `bolt://host:port`, or with `bolt+s`, `neo4j` or `neo4j+s`. Without it there is no graph engine.
    pub url: Option<String>,
    /// The user name.
    pub user: String,
    /// The password.
    pub password: Option<Secret>,
    /// The database on the Neo4j server.
    pub database: String,
}

impl Default for Neo4jSection {
    fn default() -> Self {
        Self { url: None, user: "neo4j".to_owned(), password: None, database: "neo4j".to_owned() }
    }
}

const SCHEMES: [&str; 6] = ["bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"];

impl Neo4jSection {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Some(url) = &self.url else { return Ok(()) };
        if self.password.as_ref().is_some_and(|password| password.expose().is_empty()) {
            return Err(wrong("neo4j.password", "must not be empty; leave it out for a server without a password"));
        }
        let host = url.split_once("://").filter(|(scheme, _)| SCHEMES.contains(scheme)).map(|(_, host)| host);
        match host {
            None | Some("") => Err(wrong("neo4j.url", "must be bolt:// or neo4j:// with a host, such as bolt://127.0.0.1:7687")),
            // The address appears in logs.
            Some(host) if host.contains('@') => Err(wrong("neo4j.url", "must not hold the password; use neo4j.user and neo4j.password")),
            Some(host) if host.contains(['/', '?', '#', ' ']) => Err(wrong("neo4j.url", "must end after the host and the port")),
            Some(_) => Ok(()),
        }
    }
}
