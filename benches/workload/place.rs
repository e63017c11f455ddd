//! The data of a server: a folder, or a new PostgreSQL schema. Empty at first, removed at the end.

use anyhow::Context;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tempfile::TempDir;

/// The storage engine.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    /// SQLite in the server's folder.
    Embedded,
    /// PostgreSQL at this URL.
    Postgres(String),
}

impl Engine {
    /// Returns the name of the engine in figures.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Embedded => "",
            Self::Postgres(_) => "PostgreSQL: ",
        }
    }

    /// Returns the limit for this engine.
    pub(crate) fn either(&self, embedded: f64, postgres: f64) -> f64 {
        match self {
            Self::Embedded => embedded,
            Self::Postgres(_) => postgres,
        }
    }
}

/// The data of one installation.
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
        // In its own schema, because the schema of the first server is removed.
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public").await?;
        let name: String =
            sqlx::query_scalar("SELECT 'bench_' || replace(gen_random_uuid()::text, '-', '')").fetch_one(&mut connection).await?;
        connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {name}"))).await?;
        let separator = if url.contains('?') { '&' } else { '?' };
        let schema = format!("{url}{separator}options=-csearch_path%3D{name}%2Cpublic");
        Ok(Self { folder, schema: Some((schema, url.clone(), name)) })
    }

    /// Returns the database URL for the server; `None` for its folder.
    pub(crate) fn database_url(&self) -> Option<&str> {
        self.schema.as_ref().map(|(url, ..)| url.as_str())
    }

    /// Returns the size of the data on disk.
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
