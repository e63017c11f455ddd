//! The graph in Neo4j, over Bolt. A projection of the store: `write` makes the changes it is told of, `contents` reads everything
//! back for comparison, `queries` answers questions. `client` is the only file that waits for the network; `verbs` the only one
//! from which a name gets into the text of a statement.
//!
//! Invariant: every statement on user data names the user, and everything that comes from users travels as a parameter.

mod client;
mod contents;
mod failure;
mod queries;
mod strays;
mod values;
mod verbs;
mod write;

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;

use self::{client::Client, verbs::Verbs};
use recall_domain::{Caller, Ontology, UserId};
use recall_ports::{Checkpoint, ForeignElement, GraphBatch, GraphContents, GraphEngine, GraphError};

/// How Neo4j is reached.
#[derive(Clone, PartialEq, Eq)]
pub struct Neo4jConfig {
    /// `bolt://host:port`, or with `neo4j`, `+s` and `+ssc` as Neo4j's own tools take it.
    pub url: String,
    /// Who signs in.
    pub user: String,
    /// With which secret.
    pub password: String,
    /// Which database.
    pub database: String,
    /// Longest time for a question.
    pub query_timeout: Duration,
    /// Longest time for one step of writing or comparing.
    pub write_timeout: Duration,
}

impl Neo4jConfig {
    /// The defaults for a server.
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

/// Without the secret.
impl std::fmt::Debug for Neo4jConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Neo4jConfig").field("url", &self.url).field("user", &self.user).finish_non_exhaustive()
    }
}

/// The graph in Neo4j.
pub struct Neo4jGraph {
    client: Client,
    verbs: Verbs,
}

impl Neo4jGraph {
    /// A graph whose facts use the verbs of this ontology. Connects when first used.
    ///
    /// # Errors
    /// When the address is malformed.
    pub fn new(config: Neo4jConfig, ontology: &Ontology) -> Result<Self, GraphError> {
        Ok(Self { client: Client::new(config)?, verbs: Verbs::of(ontology) })
    }
}

#[async_trait]
impl GraphEngine for Neo4jGraph {
    async fn ping(&self) -> Result<(), GraphError> {
        Ok(self.client.ping().await?)
    }

    async fn prepare(&self) -> Result<(), GraphError> {
        Ok(write::prepare(&self.client, &self.verbs).await?)
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
        Ok(write::apply(&self.client, &self.verbs, caller.user(), feed, batch).await?)
    }

    async fn size(&self, caller: &Caller) -> Result<(u64, u64), GraphError> {
        Ok(contents::size(&self.client, caller.user()).await?)
    }

    async fn contents(&self, caller: &Caller) -> Result<GraphContents, GraphError> {
        Ok(contents::of(&self.client, caller.user()).await?)
    }
}
