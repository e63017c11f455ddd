//! One connection to the database file. Its statements are prepared once and kept.

use std::{path::Path, sync::atomic::AtomicU32};

use rusqlite::{Connection, OpenFlags, Params, config::DbConfig, functions::FunctionFlags};

use super::{
    SqliteConfig,
    extension::{self, Counters},
    failure::Failure,
    rows::Columns,
};

/// Number of prepared statements that a connection keeps. All statements of this crate fit.
const CACHED_STATEMENTS: usize = 512;

/// Opens connections to one database file that count their statements.
#[derive(Clone, Debug)]
pub(super) struct Opener {
    path: std::path::PathBuf,
    config: SqliteConfig,
    counters: &'static Counters,
}

impl Opener {
    pub(super) fn new(path: &Path, config: SqliteConfig, counters: &'static Counters) -> Self {
        Self { path: path.to_owned(), config, counters }
    }

    /// The number of pages in the write-ahead log after the latest commit.
    pub(super) fn log_pages(&self) -> &'static AtomicU32 {
        &self.counters.log_pages
    }

    /// Opens a connection that may write.
    pub(super) fn writer(&self) -> Result<Db, Failure> {
        self.open("OFF", self.config.writer_cache_kib)
    }

    /// Opens a connection on which a write that reaches it by mistake fails instead of competing with the writer.
    pub(super) fn reader(&self) -> Result<Db, Failure> {
        self.open("ON", self.config.reader_cache_kib)
    }

    fn open(&self, query_only: &str, cache_kib: u32) -> Result<Db, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.config.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        // Otherwise SQLite plans some statements again whenever a bound value changes.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // The WAL file shrinks back to `journal_size_limit` after a large transaction.
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -{cache_kib}; PRAGMA journal_size_limit = {}; PRAGMA query_only = {query_only};",
            64 * 1024 * 1024,
        ))?;
        // `lower` of SQLite knows only ASCII.
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
        connection.create_scalar_function("unicode_lower", 1, flags, |values| Ok(values.get::<String>(0)?.to_lowercase()))?;
        extension::observe(&connection, self.counters);
        Ok(Db(connection))
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Db(Connection);

impl Db {
    /// Runs a statement and returns the number of changed rows.
    pub(super) fn execute(&self, sql: &str, values: impl Params) -> Result<u64, Failure> {
        Ok(self.0.prepare_cached(sql)?.execute(values)? as u64)
    }

    /// Runs a statement and reads all rows of `table`.
    pub(super) fn rows<T>(
        &self,
        table: &'static str,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Columns<'_, '_>) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(&Columns::of(row, table))?);
        }
        Ok(found)
    }

    /// Runs a statement and reads its first row, if there is one.
    pub(super) fn row<T>(
        &self,
        table: &'static str,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Columns<'_, '_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let found = rows.next()?.map(|row| read(&Columns::of(row, table))).transpose()?;
        // Ends a statement that changes rows: SQLite completes it only when it has returned all of them.
        while rows.next()?.is_some() {}
        Ok(found)
    }

    /// Runs a statement and reads its only row.
    pub(super) fn only_row<T>(
        &self,
        table: &'static str,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Columns<'_, '_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        Ok(self.row(table, sql, values, read)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
    }

    /// Whether a statement finds a row.
    pub(super) fn exists(&self, sql: &str, values: impl Params) -> Result<bool, Failure> {
        Ok(self.0.prepare_cached(sql)?.exists(values)?)
    }

    /// Returns the first column of the only row.
    pub(super) fn number(&self, sql: &str, values: impl Params) -> Result<i64, Failure> {
        Ok(self.0.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
    }

    /// Runs several statements without values.
    pub(super) fn batch(&self, sql: &str) -> Result<(), Failure> {
        Ok(self.0.execute_batch(sql)?)
    }

    /// Runs several reads that see one state of the database.
    pub(super) fn snapshot<R>(&mut self, read: impl FnOnce(&mut Self) -> Result<R, Failure>) -> Result<R, Failure> {
        self.batch("BEGIN")?;
        let result = read(self);
        // Nothing was written, so it makes no difference how the transaction ends.
        self.batch("ROLLBACK")?;
        result
    }

    /// Begins a transaction that holds the write lock and rolls back unless it is committed.
    pub(super) fn transaction(&mut self) -> Result<rusqlite::Transaction<'_>, Failure> {
        Ok(self.0.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?)
    }

    /// Closes the connection.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.0.close().map_err(|(_, e)| e.into())
    }

    /// The connection itself, for statements that are made at run time.
    pub(super) fn raw(&self) -> &Connection {
        &self.0
    }
}
