//! The contract on PostgreSQL, and what only a shared engine must show.

use std::sync::Arc;

use recall::{adapters::postgres::PostgresConfig, ports::Store};
use tokio::sync::OnceCell;

use super::given::at;
use crate::postgres::Schema;

/// One schema, made when it is first needed.
struct Database(OnceCell<Option<Schema>>);

impl Database {
    fn new() -> Self {
        Self(OnceCell::new())
    }

    /// Each call opens the database anew, as another process would.
    async fn store(&self) -> Option<Arc<dyn Store>> {
        let schema = self.0.get_or_init(Schema::new).await.as_ref()?;
        let config = PostgresConfig { connections: 8, ..PostgresConfig::default() };
        Some(Arc::new(schema.open(config, at(0)).await.unwrap()))
    }
}

mod contract {
    crate::contract::store::store_contract!(super::Database::new());
}
