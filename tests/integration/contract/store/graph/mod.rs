//! The contract of `ports::graph`: questions about connections, asked of the store and of an engine that follows it; the change
//! feed; and what becomes of an engine that is behind, gone or wiped.

mod beside;
mod feed;
mod follow;
mod injection;
mod memory;
mod neo4j;
mod queries;
pub(crate) mod service;

use std::sync::Arc;

use recall::{
    adapters::sqlite::{SqliteConfig, SqliteStore},
    domain::{Entity, EntityId, Fact, SessionId},
    ports::{ChangeFeed, GraphQueries, KnowledgeCommit},
};
use tempfile::TempDir;

use super::given::{World, at, fact};

/// A store in a folder of its own.
pub(super) struct Folder {
    pub(super) store: Arc<SqliteStore>,
    _folder: TempDir,
}

impl Folder {
    pub(super) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(&folder.path().join("recall.db"), SqliteConfig::default(), at(0)).await.unwrap();
        Self { store: Arc::new(store), _folder: folder }
    }

    /// A user of the store.
    pub(super) fn world(&self) -> World {
        let store: Arc<dyn recall::ports::Store> = self.store.clone();
        World::new(&store)
    }

    pub(super) fn feed(&self) -> Arc<dyn ChangeFeed> {
        self.store.clone()
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
