//! The store on SQLite: one file, one writer, several readers.
//!
//! Only this crate contains SQL for SQLite, and it makes no decisions about knowledge. Each file implements one port or one table
//! group; `rows` converts rows to domain types.
//!
//! Invariants:
//! - Every statement on user data names the user.
//! - Only `writer` opens write transactions.
//! - Nothing here reads a clock.

mod access;
mod account_deletion;
mod archive;
mod audit;
mod codec;
mod delete;
mod events;
mod extension;
mod failure;
mod graph;
mod inspect;
mod jobs;
mod knowledge;
mod lock;
mod logins;
mod messages;
mod migrate;
mod readers;
mod round_robin;
mod rows;
mod session_deletion;
mod sessions;
#[cfg(test)]
mod tests;
mod transaction;
mod usage;
mod visits;
mod writer;

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures_util::future::BoxFuture;
use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

pub use self::lock::{LockError, ServerLock};
use self::{
    failure::Failure,
    readers::Readers,
    writer::{Durability, Writer},
};
use recall_domain::Timestamp;
use recall_ports::StoreError;
use recall_store::{RoundRobin, keys};

/// Options for opening the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// Number of connections for reading, at least 1. Each has its own thread.
    pub readers: u32,
    /// How long to wait while another process holds the database lock.
    pub busy_timeout: Duration,
    /// How long a read may wait for a connection.
    pub acquire_timeout: Duration,
    /// Largest page cache of each connection in KiB. It is allocated as needed.
    pub cache_kib: u32,
    /// Whether to apply missing migrations. If false, a database that lacks one is refused.
    pub migrate: bool,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self {
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            acquire_timeout: Duration::from_secs(10),
            cache_kib: 8 * 1024,
            migrate: true,
        }
    }
}

/// How many rows a reader's thread may buffer ahead of the task that awaits them.
///
/// With sqlx's default of 50, thread and task kept waiting for each other in every larger read.
const ROW_BUFFER: usize = 4096;

/// The store in one SQLite file.
pub struct SqliteStore {
    readers: Readers,
    writer: Writer,
    statements: &'static AtomicU64,
    round_robin: RoundRobin,
}

impl SqliteStore {
    /// Opens the database file `path` and migrates it to the current schema.
    ///
    /// Creates the file and its folders if needed. `now` becomes the start time of a new installation. Must be called inside a
    /// Tokio runtime.
    ///
    /// # Errors
    /// If the file cannot be opened, was written by a newer version of this program, or has changed migrations.
    pub async fn open(path: &Path, config: SqliteConfig, now: Timestamp) -> Result<Self, StoreError> {
        Ok(Self::open_inner(path, config, now).await?)
    }

    /// Number of SQL statements since the store was opened, including transaction control.
    ///
    /// For tests that count the statements of a request.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    async fn open_inner(path: &Path, config: SqliteConfig, now: Timestamp) -> Result<Self, Failure> {
        extension::register_vectors();
        create_private_file(path).map_err(Failure::File)?;
        // Never freed, because SQLite keeps a bare pointer to it in each connection. This costs eight bytes per open.
        let statements: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let opener = Opener { statements };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(config.busy_timeout)
            .pragma("cache_size", format!("-{}", config.cache_kib))
            .pragma("temp_store", "MEMORY")
            // The WAL file shrinks back to this size after a large transaction.
            .pragma("journal_size_limit", (64 * 1024 * 1024).to_string())
            .row_buffer_size(ROW_BUFFER)
            .disable_statement_logging();

        let mut connection = opener.open(&options).await?;
        match config.migrate {
            true => migrate::run(&mut connection).await?,
            false => migrate::verify(&mut connection).await?,
        }
        inspect::ensure_installation(&mut connection, now).await?;

        let readers = SqlitePoolOptions::new()
            .max_connections(config.readers.max(1))
            .acquire_timeout(config.acquire_timeout)
            // Many slow acquires must not flood the log.
            .acquire_slow_threshold(Duration::MAX)
            .after_connect(move |connection, _| Box::pin(async move { extension::count_statements(connection, statements).await }))
            // A write that reaches a reader by mistake fails instead of competing with the writer.
            .connect_lazy_with(options.clone().pragma("query_only", "ON"));
        let writer = Writer::start(connection, options, opener);
        Ok(Self { readers: Readers::new(readers), writer, statements, round_robin: RoundRobin::default() })
    }

    async fn close_inner(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Runs one write transaction; see [`Writer::run`].
    async fn write<R, F>(&self, write: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<R, Failure>> + Send + 'static,
    {
        self.writer.run(Durability::Durable, write).await
    }

    /// Runs a write that a power failure may undo. Use it only for data that is worthless after a power failure.
    async fn write_relaxed<R, F>(&self, write: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<R, Failure>> + Send + 'static,
    {
        self.writer.run(Durability::Relaxed, write).await
    }
}

/// Opens connections that count their statements.
#[derive(Clone, Copy)]
struct Opener {
    statements: &'static AtomicU64,
}

impl Opener {
    async fn open(&self, options: &SqliteConnectOptions) -> Result<SqliteConnection, Failure> {
        let mut connection = SqliteConnection::connect_with(options).await?;
        extension::count_statements(&mut connection, self.statements).await?;
        Ok(connection)
    }
}

/// Creates an empty database file that only its owner may read. SQLite gives its side files the same permissions.
fn create_private_file(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}
