//! PostgreSQL for tests: a schema of its own per test, on the server that RECALL_TEST_POSTGRES names.

use std::time::Duration;

use recall_domain::Timestamp;
use recall_ports::StoreError;
use recall_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::sync::OnceCell;

/// What the program is to the server: the owner of its tables and nothing more, so that row-level security holds in every test.
pub(crate) const ROLE: &str = "recall_tests";

/// Limits that a machine keeps which is many times slower than usual; tests that are not about limits know no others.
pub(crate) fn patient() -> PostgresConfig {
    let long = Duration::from_secs(600);
    PostgresConfig { acquire_timeout: long, statement_timeout: long, lock_timeout: long, ..PostgresConfig::default() }
}

/// A schema that only one test uses.
pub(crate) struct Schema {
    /// Names server, database and schema, for the role of the tests.
    pub(crate) url: String,
    /// The same for the role that may do everything.
    admin: String,
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

    /// A store of its own: what another process would open.
    pub(crate) async fn open(&self, config: PostgresConfig, now: Timestamp) -> Result<PostgresStore, StoreError> {
        PostgresStore::open(&self.url, config, now).await
    }

    /// From now on the queue goes by what each caller takes the time to be, so that a test can say it.
    pub(crate) async fn believe_callers(&self) {
        let clock = "CREATE OR REPLACE FUNCTION queue_time(asking timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT asking'";
        self.connection().await.execute(clock).await.unwrap();
    }

    /// A connection past the store, and past row-level security.
    pub(crate) async fn connection(&self) -> PgConnection {
        PgConnection::connect(&self.admin).await.unwrap()
    }

    /// The URL for a role that may do everything.
    pub(crate) fn admin(&self) -> &str {
        &self.admin
    }
}

/// The URL for a role whose password is its name.
pub(crate) fn as_role(url: &str, role: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let server = rest.split_once('@').map_or(rest, |(_, server)| server);
    format!("{scheme}://{role}:{role}@{server}")
}
