//! Where a server keeps its data: a folder, or a schema of its own in a PostgreSQL database. Empty at first, gone at the end.

use anyhow::Context;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tempfile::TempDir;

/// What serves as the store.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    /// SQLite in the server's own folder.
    Embedded,
    /// The PostgreSQL of this URL.
    Postgres(String),
}

impl Engine {
    /// How figures are told apart.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Embedded => "",
            Self::Postgres(_) => "PostgreSQL: ",
        }
    }

    /// The limit for this engine.
    pub(crate) fn either(&self, embedded: f64, postgres: f64) -> f64 {
        match self {
            Self::Embedded => embedded,
            Self::Postgres(_) => postgres,
        }
    }
}

/// Room for one installation.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    /// URL of the schema, URL of the database, name of the schema.
    schema: Option<(String, String, String)>,
}

impl Place {
    pub(crate) async fn new(engine: &Engine) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let Engine::Postgres(url) = engine else { return Ok(Self { folder, schema: None }) };
        let mut connection = PgConnection::connect(url).await.context("the database cannot be reached")?;
        // In a schema of its own, so that it does not go with that of the first server.
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public").await?;
        let name: String =
            sqlx::query_scalar("SELECT 'bench_' || replace(gen_random_uuid()::text, '-', '')").fetch_one(&mut connection).await?;
        connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {name}"))).await?;
        let separator = if url.contains('?') { '&' } else { '?' };
        let schema = format!("{url}{separator}options=-csearch_path%3D{name}%2Cpublic");
        Ok(Self { folder, schema: Some((schema, url.clone(), name)) })
    }

    /// What the server is told to use, if it is not its folder.
    pub(crate) fn database_url(&self) -> Option<&str> {
        self.schema.as_ref().map(|(url, ..)| url.as_str())
    }

    /// How large the data are on disk.
    pub(crate) async fn bytes(&self) -> anyhow::Result<u64> {
        let Some((url, _, name)) = &self.schema else {
            return Ok(std::fs::read_dir(self.folder.path())?.filter_map(|f| f.ok()?.metadata().ok()).map(|m| m.len()).sum());
        };
        let sum = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace";
        let bytes: i64 = sqlx::query_scalar(sum).bind(name).fetch_one(&mut PgConnection::connect(url).await?).await?;
        Ok(bytes.unsigned_abs())
    }

    /// Removes everything.
    pub(crate) async fn remove(self) -> anyhow::Result<()> {
        if let Some((_, url, name)) = &self.schema {
            PgConnection::connect(url).await?.execute(AssertSqlSafe(format!("DROP SCHEMA {name} CASCADE"))).await?;
        }
        Ok(())
    }
}
