//! Settings of storage.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Secret,
    sections::{at_most, flexible, positive},
    wrong,
};

/// Storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StorageConfig {
    /// Folder for the data of this server.
    pub data: PathBuf,
    /// `sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE`. Without it a SQLite file in the data folder.
    pub database_url: Option<Secret>,
    /// Whether `serve` applies migrations.
    #[serde(deserialize_with = "flexible")]
    pub migrate: bool,
    /// PostgreSQL: maximum number of connections of this server, plus one that listens for notifications.
    #[serde(deserialize_with = "flexible")]
    pub connections: u32,
    /// PostgreSQL: maximum wait for a connection, in seconds.
    #[serde(deserialize_with = "flexible")]
    pub connect_seconds: u64,
    /// PostgreSQL: maximum time a statement may run, in seconds.
    #[serde(deserialize_with = "flexible")]
    pub statement_seconds: u64,
    /// PostgreSQL: maximum time a statement may wait for another transaction, in seconds.
    #[serde(deserialize_with = "flexible")]
    pub lock_seconds: u64,
    /// PostgreSQL: whether a pooler such as PgBouncer is in front of it.
    #[serde(deserialize_with = "flexible")]
    pub pooler: bool,
    /// PostgreSQL: whether to refuse a database in which row-level security does not hold.
    #[serde(deserialize_with = "flexible")]
    pub require_row_security: bool,
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self {
            data: PathBuf::from("recall-data"),
            database_url: None,
            migrate: true,
            connections: 16,
            connect_seconds: 10,
            statement_seconds: 30,
            lock_seconds: 5,
            pooler: false,
            require_row_security: false,
        }
    }
}

/// The database engine that the URL names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// SQLite, with the path of its file.
    Sqlite(PathBuf),
    /// PostgreSQL, with the URL of its server.
    Postgres(Secret),
}

impl std::fmt::Display for Engine {
    /// Writes the path, or server and database without password and options.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres(url) => {
                let address = url.expose().split_once("://").map_or("", |(_, rest)| rest).split('?').next().unwrap_or_default();
                write!(f, "postgres://{}", address.rsplit_once('@').map_or(address, |(_, server)| server))
            }
        }
    }
}

impl StorageConfig {
    /// The configured engine. Default: a SQLite file in the data folder.
    pub fn engine(&self) -> Engine {
        match self.database_url.as_ref().map(Secret::expose) {
            Some(url) if is_postgres(url) => Engine::Postgres(url.into()),
            Some(url) => Engine::Sqlite(PathBuf::from(file_of(url).unwrap_or(url))),
            None => Engine::Sqlite(self.data.join("recall.db")),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        positive("storage.connections", self.connections.into())?;
        at_most("storage.connections", self.connections.into(), 10_000)?;
        for (key, seconds) in [
            ("storage.connect_seconds", self.connect_seconds),
            ("storage.statement_seconds", self.statement_seconds),
            ("storage.lock_seconds", self.lock_seconds),
        ] {
            positive(key, seconds)?;
            at_most(key, seconds, 86_400)?;
        }
        let fail = |problem| Err(wrong("storage.database_url", problem));
        match self.database_url.as_ref().map(Secret::expose) {
            Some(url) if is_postgres(url) => Ok(()),
            Some(url) => match file_of(url) {
                None => fail("must start with sqlite: or postgres://"),
                Some("" | ":memory:") => fail("must name a file, for example sqlite:/var/lib/recall/recall.db"),
                Some(_) => Ok(()),
            },
            None => Ok(()),
        }
    }
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

fn file_of(url: &str) -> Option<&str> {
    url.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path))
}
