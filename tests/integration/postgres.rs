//! PostgreSQL for tests: each test gets its own schema on the server of RECALL_TEST_POSTGRES.

use std::time::Duration;

use recall_domain::Timestamp;
use recall_ports::StoreError;
use recall_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::sync::OnceCell;

/// The role of the program: it owns the tables and nothing more, so that row-level security applies in every test.
pub(crate) const ROLE: &str = "recall_tests";

/// Long time-outs for a slow machine, for tests that are not about time-outs.
pub(crate) fn patient() -> PostgresConfig {
    let long = Duration::from_secs(600);
    PostgresConfig { acquire_timeout: long, statement_timeout: long, lock_timeout: long, ..PostgresConfig::default() }
}

/// A schema for one test.
pub(crate) struct Schema {
    /// Names server, database and schema, with the role of the program.
    pub(crate) url: String,
    /// The same with a superuser.
    admin: String,
    /// The name of the schema.
    pub(crate) name: String,
}

impl Schema {
    /// Creates an empty schema; `None`, with a message, without a server. `./test` always provides one.
    pub(crate) async fn new() -> Option<Self> {
        static PREPARED: OnceCell<()> = OnceCell::const_new();
        let Ok(server) = std::env::var("RECALL_TEST_POSTGRES") else {
            eprintln!("skipped: RECALL_TEST_POSTGRES names no server (tests/services/postgres starts one)");
            return None;
        };
        let mut connection = PgConnection::connect(&server).await.expect("the server of RECALL_TEST_POSTGRES does not answer");
        PREPARED
            .get_or_init(|| async {
                // Once for all schemas: in the first schema the others would not find it. The lock is for other test
                // runs.
                let mut connection = PgConnection::connect(&server).await.unwrap();
                connection
                    .execute(AssertSqlSafe(format!(
                        "BEGIN; SELECT pg_advisory_xact_lock(7); CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
                         DO $$ BEGIN CREATE ROLE {ROLE} LOGIN PASSWORD '{ROLE}'; EXCEPTION WHEN duplicate_object THEN NULL; END $$; COMMIT"
                    )))
                    .await
                    .unwrap();
            })
            .await;
        let id: uuid::Uuid = sqlx::query_scalar("SELECT gen_random_uuid()").fetch_one(&mut connection).await.unwrap();
        let name = format!("test_{}", id.as_simple());
        connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {name} AUTHORIZATION {ROLE}"))).await.unwrap();
        let separator = if server.contains('?') { '&' } else { '?' };
        let admin = format!("{server}{separator}options=-csearch_path%3D{name}%2Cpublic");
        Some(Self { url: as_role(&admin, ROLE), admin, name })
    }

    /// Opens another store, as another process would.
    pub(crate) async fn open(&self, config: PostgresConfig, now: Timestamp) -> Result<PostgresStore, StoreError> {
        PostgresStore::open(&self.url, config, now).await
    }

    /// Makes the queue use the callers' times instead of the database's, so that a test can set the time.
    pub(crate) async fn use_callers_time(&self) {
        let clock = "CREATE OR REPLACE FUNCTION queue_time(asking timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT asking'";
        self.connection().await.execute(clock).await.unwrap();
    }

    /// Connects without the store and without row-level security.
    pub(crate) async fn connection(&self) -> PgConnection {
        PgConnection::connect(&self.admin).await.unwrap()
    }

    /// The URL with a superuser.
    pub(crate) fn admin(&self) -> &str {
        &self.admin
    }
}

/// Replaces the role in a URL; its password is its name.
pub(crate) fn as_role(url: &str, role: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let server = rest.split_once('@').map_or(rest, |(_, server)| server);
    format!("{scheme}://{role}:{role}@{server}")
}
