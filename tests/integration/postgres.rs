//! PostgreSQL for tests: a schema of its own per test, on the server that RECALL_TEST_POSTGRES names.

use recall::{
    adapters::postgres::{PostgresConfig, PostgresStore},
    domain::Timestamp,
    ports::StoreError,
};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::sync::OnceCell;

/// A schema that only one test uses.
pub(crate) struct Schema {
    /// Names server, database and schema.
    pub(crate) url: String,
    /// The schema alone.
    pub(crate) name: String,
}

impl Schema {
    /// An empty schema; `None`, and a word about it, where no server is named. `./test` always names one.
    pub(crate) async fn new() -> Option<Self> {
        static PREPARED: OnceCell<()> = OnceCell::const_new();
        let Ok(server) = std::env::var("RECALL_TEST_POSTGRES") else {
            eprintln!("skipped: RECALL_TEST_POSTGRES names no server (tests/services/postgres starts one)");
            return None;
        };
        let mut connection = PgConnection::connect(&server).await.expect("the server of RECALL_TEST_POSTGRES answers");
        PREPARED
            .get_or_init(|| async {
                // Once for all schemas; in the first one of them the others would not find it. The lock is for other test runs.
                let mut connection = PgConnection::connect(&server).await.unwrap();
                connection
                    .execute("BEGIN; SELECT pg_advisory_xact_lock(7); CREATE EXTENSION IF NOT EXISTS vector SCHEMA public; COMMIT")
                    .await
                    .unwrap();
            })
            .await;
        let id: uuid::Uuid = sqlx::query_scalar("SELECT gen_random_uuid()").fetch_one(&mut connection).await.unwrap();
        let name = format!("test_{}", id.as_simple());
        connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {name}"))).await.unwrap();
        let separator = if server.contains('?') { '&' } else { '?' };
        Some(Self { url: format!("{server}{separator}options=-csearch_path%3D{name}%2Cpublic"), name })
    }

    /// A store of its own: what another process would open.
    pub(crate) async fn open(&self, config: PostgresConfig, now: Timestamp) -> Result<PostgresStore, StoreError> {
        PostgresStore::open(&self.url, config, now).await
    }

    /// From now on the queue goes by what each caller takes the time to be, so that a test can say it.
    pub(crate) async fn believe_callers(&self) {
        let clock = "CREATE OR REPLACE FUNCTION queue_time(asking timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT asking'";
        self.connection().await.execute(clock).await.unwrap();
    }

    /// A connection past the store.
    pub(crate) async fn connection(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.unwrap()
    }
}
