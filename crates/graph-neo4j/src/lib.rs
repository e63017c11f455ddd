//! The graph in Neo4j over Bolt, a projection of the store.
//!
//! `write` applies changes, `contents` reads everything back for comparison, `documents` does both for documents, and `queries` answers
//! graph queries. Only `client` waits for the network. Only `relationship_types` puts names of relations into the text of statements.
//!
//! Invariant: every statement on user data names the user, and all values from users travel as parameters.

mod client;
mod contents;
mod documents;
mod failure;
mod queries;
mod relationship_types;
mod strays;
mod values;
mod write;

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;

use self::{client::Client, relationship_types::RelationshipTypes};
use recall_domain::{Caller, Ontology, UserId};
use recall_ports::{Checkpoint, ForeignElement, GraphBatch, GraphContents, GraphEngine, GraphError};

/// How to connect to Neo4j.
#[derive(Clone, PartialEq, Eq)]
pub struct Neo4jConfig {
    /// The address: `bolt://host:port`, or a URL with `neo4j`, `+s` or `+ssc` as Neo4j's own tools accept.
    pub url: String,
    /// The user name.
    pub user: String,
    /// The password.
    pub password: String,
    /// The name of the database.
    pub database: String,
    /// Time limit for a query.
    pub query_timeout: Duration,
    /// Time limit for one step of writing or comparing.
    pub write_timeout: Duration,
}

impl Neo4jConfig {
    /// Makes a configuration with defaults for a server.
    pub fn at(url: impl Into<String>, user: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            user: user.into(),
            password: password.into(),
            database: "neo4j".to_owned(),
            query_timeout: Duration::from_millis(500),
            write_timeout: Duration::from_secs(60),
        }
    }
}

/// Hides the password.
impl std::fmt::Debug for Neo4jConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Neo4jConfig").field("url", &self.url).field("user", &self.user).finish_non_exhaustive()
    }
}

/// The graph in Neo4j.
pub struct Neo4jGraph {
    client: Client,
    types: RelationshipTypes,
}

impl Neo4jGraph {
    /// Makes a graph whose fact relationships use this ontology. It connects when first used.
    ///
    /// # Errors
    /// If the address is malformed.
    pub fn new(config: Neo4jConfig, ontology: &Ontology) -> Result<Self, GraphError> {
        Ok(Self { client: Client::new(config)?, types: RelationshipTypes::of(ontology) })
    }
}

#[async_trait]
impl GraphEngine for Neo4jGraph {
    async fn ping(&self) -> Result<(), GraphError> {
        Ok(self.client.ping().await?)
    }

    async fn prepare(&self) -> Result<(), GraphError> {
        Ok(write::prepare(&self.client, &self.types).await?)
    }

    async fn marker(&self) -> Result<Option<String>, GraphError> {
        Ok(contents::marker(&self.client).await?)
    }

    async fn checkpoints(&self) -> Result<BTreeMap<UserId, Checkpoint>, GraphError> {
        Ok(contents::checkpoints(&self.client).await?)
    }

    async fn strays(&self, limit: u32) -> Result<Vec<ForeignElement>, GraphError> {
        Ok(strays::find(&self.client, limit).await?)
    }

    async fn users(&self) -> Result<Vec<UserId>, GraphError> {
        Ok(contents::users(&self.client).await?)
    }

    async fn checkpoint(&self, caller: &Caller) -> Result<Option<Checkpoint>, GraphError> {
        Ok(contents::checkpoint(&self.client, caller.user()).await?)
    }

    async fn wipe(&self, caller: &Caller) -> Result<(), GraphError> {
        Ok(write::wipe(&self.client, caller.user()).await?)
    }

    async fn begin(&self, caller: &Caller, feed: &str) -> Result<(), GraphError> {
        Ok(write::begin(&self.client, caller.user(), feed).await?)
    }

    async fn apply(&self, caller: &Caller, feed: &str, batch: &GraphBatch) -> Result<(), GraphError> {
        Ok(write::apply(&self.client, &self.types, caller.user(), feed, batch).await?)
    }

    async fn size(&self, caller: &Caller) -> Result<(u64, u64), GraphError> {
        Ok(contents::size(&self.client, caller.user()).await?)
    }

    async fn contents(&self, caller: &Caller) -> Result<GraphContents, GraphError> {
        Ok(contents::read_all(&self.client, caller.user()).await?)
    }
}
