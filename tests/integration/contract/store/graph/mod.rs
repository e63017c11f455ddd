//! The contract of `ports::graph`: questions about connections, asked of the store and of an engine that follows it; the change
//! feed; and what becomes of an engine that is behind, gone or wiped.

mod beside;
pub(super) mod feed;
mod follow;
mod injection;
mod memory;
mod neo4j;
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

/// A store of its own, whatever it is kept in.
pub(super) struct Folder {
    pub(super) store: Arc<dyn Store>,
    _place: Option<Box<dyn Any + Send + Sync>>,
}

impl Folder {
    /// In SQLite.
    pub(super) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(&folder.path().join("recall.db"), SqliteConfig::default(), at(0)).await.unwrap();
        Self { store: Arc::new(store), _place: Some(Box::new(folder)) }
    }

    /// In PostgreSQL, if there is one.
    pub(super) async fn postgres() -> Option<Self> {
        let schema = Schema::new().await?;
        let config = PostgresConfig { connections: 6, ..PostgresConfig::default() };
        Some(Self { store: Arc::new(schema.open(config, at(0)).await.unwrap()), _place: None })
    }

    /// In what is there already.
    pub(super) fn over(store: Arc<dyn Store>) -> Self {
        Self { store, _place: None }
    }

    /// A user of the store.
    pub(super) fn world(&self) -> World {
        World::new(&self.store)
    }

    pub(super) fn feed(&self) -> Arc<dyn ChangeFeed> {
        self.store.clone()
    }

    /// Answers from the store.
    pub(super) fn graph(&self) -> Arc<dyn GraphQueries> {
        Arc::new(StoreGraph::new(self.store.clone(), self.store.engine()))
    }
}

/// Who answers, and how to wait until it knows what the store knows.
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

/// A fact of this strength.
pub(super) fn strong(subject: &Entity, relation: &str, object: &Entity, support: f64) -> Fact {
    Fact { support, ..fact(subject, relation, object) }
}

pub(super) fn ids<'e>(entities: impl IntoIterator<Item = &'e Entity>) -> Vec<EntityId> {
    entities.into_iter().map(|e| e.id).collect()
}
