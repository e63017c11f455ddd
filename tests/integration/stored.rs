//! A store for one test on either engine, with a statement counter.

use std::sync::Arc;

use recall::system::SystemClock;
use recall_ports::{Clock, Store};
use recall_store_postgres::{PostgresConfig, PostgresStore};
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use tempfile::TempDir;

use crate::{
    postgres::{Schema, patient},
    proxy::Proxy,
};

/// A store with its engine.
pub(crate) struct Stored {
    pub(crate) store: Arc<dyn Store>,
    /// Whether files of documents are in a folder instead.
    pub(crate) originals_in_folder: bool,
    engine: Engine,
}

enum Engine {
    Sqlite { store: Arc<SqliteStore>, _folder: TempDir },
    Postgres(Proxy),
}

impl Stored {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("memory.db"), SqliteConfig::default(), SystemClock.now()).await.unwrap();
        let store = Arc::new(store);
        Self { store: store.clone(), originals_in_folder: false, engine: Engine::Sqlite { store, _folder: folder } }
    }

    /// Creates a PostgreSQL store; `None` if there is no server for tests.
    pub(crate) async fn postgres() -> Option<Self> {
        let schema = Schema::new().await?;
        let (proxy, url) = Proxy::to(&schema.url).await;
        let store = PostgresStore::open(&url, PostgresConfig { connections: 4, ..patient() }, SystemClock.now()).await;
        Some(Self { store: Arc::new(store.unwrap()), originals_in_folder: false, engine: Engine::Postgres(proxy) })
    }

    /// Creates a store on each available engine.
    pub(crate) async fn all() -> Vec<Self> {
        let mut all = vec![Self::sqlite().await];
        all.extend(Self::postgres().await);
        all
    }

    /// Returns the number of statements so far, including BEGIN and COMMIT where they are sent.
    pub(crate) async fn statements(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite { store, .. } => store.statements(),
            Engine::Postgres(proxy) => proxy.statements_at_rest().await,
        }
    }
}
