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
mod checkpointer;
mod codec;
mod comparisons;
mod connection;
mod delete;
mod documents;
mod events;
mod extension;
mod failure;
mod files;
mod forget;
mod forget_knowledge;
mod graph;
mod inspect;
mod jobs;
mod knowledge;
mod list;
mod lock;
mod logins;
mod memory_log;
mod messages;
mod migrate;
mod readers;
mod round_robin;
mod rows;
mod session_deletion;
mod sessions;
#[cfg(test)]
mod tests;
mod topics;
mod transaction;
mod usage;
mod visits;
mod writer;

use std::{path::Path, sync::atomic::Ordering, time::Duration};

pub use self::lock::{LockError, ServerLock};
use self::{
    connection::{Db, Opener},
    extension::Counters,
    failure::Failure,
    readers::{ReaderKey, Readers},
    transaction::WriteTransaction,
    writer::{Durability, Listener, Writer},
};
use recall_domain::Timestamp;
use recall_ports::StoreError;
use recall_store::{RoundRobin, keys};

/// Options for opening the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// Number of connections for reading, at least 1.
    pub readers: u32,
    /// How long to wait while another process holds the database lock.
    pub busy_timeout: Duration,
    /// How long a read may wait for a connection.
    pub acquire_timeout: Duration,
    /// Largest page cache of the writer in KiB. It is allocated as needed.
    pub writer_cache_kib: u32,
    /// The same for each reader. What it lacks is mostly in the page cache of the operating system: 8 MiB made no question faster.
    pub reader_cache_kib: u32,
    /// Whether to apply missing migrations. If false, a database that lacks one is refused.
    pub migrate: bool,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self {
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            acquire_timeout: Duration::from_secs(10),
            writer_cache_kib: 8 * 1024,
            reader_cache_kib: 2 * 1024,
            migrate: true,
        }
    }
}

/// The store in one SQLite file.
pub struct SqliteStore {
    readers: Readers,
    writer: Writer,
    counters: &'static Counters,
    round_robin: RoundRobin,
    listener: Listener,
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
        self.counters.statements.load(Ordering::Relaxed)
    }

    async fn open_inner(path: &Path, config: SqliteConfig, now: Timestamp) -> Result<Self, Failure> {
        extension::register_vectors();
        create_private_file(path).map_err(Failure::File)?;
        // Never freed, because SQLite keeps a bare pointer to it in each connection. This costs 16 bytes per open.
        let counters: &'static Counters = Box::leak(Box::default());
        let opener = Opener::new(path, config.clone(), counters);
        let open = opener.clone();
        // Migrations may take long on a large file.
        let connection = tokio::task::spawn_blocking(move || {
            let mut connection = open.writer()?;
            match config.migrate {
                true => migrate::run(&mut connection)?,
                false => migrate::verify(&connection)?,
            }
            inspect::ensure_installation(&connection, now)?;
            Ok(connection)
        });
        let connection = connection.await.unwrap_or(Err(Failure::Panicked))?;
        let readers = Readers::new(opener.clone(), config.readers, config.acquire_timeout);
        let listener = Listener::default();
        let writer = Writer::start(connection, opener, listener.clone())?;
        Ok(Self { readers, writer, counters, round_robin: RoundRobin::default(), listener })
    }

    async fn close_inner(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Reads the data of one user; see [`Readers::for_user`].
    async fn read<R, F>(&self, user: impl Into<ReaderKey>, read: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: FnOnce(&mut Db) -> Result<R, Failure> + Send + 'static,
    {
        self.readers.for_user(user, read).await
    }

    /// Runs one write transaction; see [`Writer::run`].
    async fn write<R, F>(&self, write: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTransaction<'_>) -> Result<R, Failure> + Send + 'static,
    {
        self.writer.run(Durability::Durable, write).await
    }

    /// Runs a write that a power failure may undo. Use it only for data that is worthless after a power failure.
    async fn write_relaxed<R, F>(&self, write: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTransaction<'_>) -> Result<R, Failure> + Send + 'static,
    {
        self.writer.run(Durability::Relaxed, write).await
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
