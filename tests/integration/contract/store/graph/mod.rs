//! The contract of `ports::graph`: graph queries and the change feed.
//! The store and an engine that follows it answer the queries. Further tests cover an engine that is behind, down or
//! wiped.

pub(super) mod documents;
pub(super) mod feed;
mod follow;
mod injection;
mod memory;
mod neo4j;
mod neo4j_documents;
mod neo4j_projection;
mod people;
mod queries;
pub(crate) mod service;

use std::{any::Any, sync::Arc};

use recall_domain::{Entity, EntityId, Fact, SessionId};
use recall_ports::{ChangeFeed, GraphQueries, KnowledgeCommit, Store};
use recall_projection::StoreGraph;
use recall_store_postgres::PostgresConfig;
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use tempfile::TempDir;

use super::given::{World, at, fact};
use crate::postgres::Schema;

/// A store in any engine.
pub(super) struct Folder {
    pub(super) store: Arc<dyn Store>,
    _place: Option<Box<dyn Any + Send + Sync>>,
}

impl Folder {
    /// Creates a store in SQLite.
    pub(super) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(&folder.path().join("recall.db"), SqliteConfig::default(), at(0)).await.unwrap();
        Self { store: Arc::new(store), _place: Some(Box::new(folder)) }
    }

    /// Creates a store in PostgreSQL, if available.
    pub(super) async fn postgres() -> Option<Self> {
        let schema = Schema::new().await?;
        let config = PostgresConfig { connections: 6, ..PostgresConfig::default() };
        Some(Self { store: Arc::new(schema.open(config, at(0)).await.unwrap()), _place: None })
    }

    /// Wraps an existing store.
    pub(super) fn over(store: Arc<dyn Store>) -> Self {
        Self { store, _place: None }
    }

    /// Creates a user of the store.
    pub(super) fn world(&self) -> World {
        World::new(&self.store)
    }

    pub(super) fn feed(&self) -> Arc<dyn ChangeFeed> {
        self.store.clone()
    }

    /// Queries that the store itself answers.
    pub(super) fn graph(&self) -> Arc<dyn GraphQueries> {
        Arc::new(StoreGraph::new(self.store.clone(), self.store.engine()))
    }
}

/// Answers graph queries, and waits until it knows what the store knows.
#[async_trait::async_trait]
pub(super) trait Answering: Send + Sync {
    fn queries(&self) -> Arc<dyn GraphQueries>;
    async fn settle(&self, world: &World);
}

/// Commits entities and facts of one session.
pub(super) async fn know(world: &World, session: SessionId, entities: &[&Entity], facts: &[&Fact]) {
    let plan = KnowledgeCommit {
        entities: entities.iter().map(|e| (*e).clone()).collect(),
        facts: facts.iter().map(|f| (*f).clone()).collect(),
        ..world.plan(session).await
    };
    world.commit(plan).await;
}

/// A fact with this support.
pub(super) fn strong(subject: &Entity, relation: &str, object: &Entity, support: f64) -> Fact {
    Fact { support, ..fact(subject, relation, object) }
}

pub(super) fn ids<'e>(entities: impl IntoIterator<Item = &'e Entity>) -> Vec<EntityId> {
    entities.into_iter().map(|e| e.id).collect()
}
