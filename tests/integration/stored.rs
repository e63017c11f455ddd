//! A store of its own for one test, on either engine, with its statements counted.

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

/// A store and what it lives in.
pub(crate) struct Stored {
    pub(crate) store: Arc<dyn Store>,
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
        Self { store: store.clone(), engine: Engine::Sqlite { store, _folder: folder } }
    }

    /// `None` where no server is there to be tested.
    pub(crate) async fn postgres() -> Option<Self> {
        let schema = Schema::new().await?;
        let (proxy, url) = Proxy::to(&schema.url).await;
        let store = PostgresStore::open(&url, PostgresConfig { connections: 4, ..patient() }, SystemClock.now()).await;
        Some(Self { store: Arc::new(store.unwrap()), engine: Engine::Postgres(proxy) })
    }

    /// One of each engine that is there.
    pub(crate) async fn all() -> Vec<Self> {
        let mut all = vec![Self::sqlite().await];
        all.extend(Self::postgres().await);
        all
    }

    /// Statements so far, those that begin and end transactions included where they travel.
    pub(crate) async fn statements(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite { store, .. } => store.statements(),
            Engine::Postgres(proxy) => proxy.statements_at_rest().await,
        }
    }
}
