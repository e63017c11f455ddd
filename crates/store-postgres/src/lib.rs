//! The store on PostgreSQL with pgvector, shared by any number of server processes.
//!
//! Only this crate contains SQL for PostgreSQL, and it makes no decisions about knowledge. Each file implements one port or one
//! table group; `rows` converts rows to domain types.
//!
//! Invariants:
//! - Every statement on user data names the user, and runs with that user's row-level security (`row_security`).
//! - A transaction locks session, job and user in this order, so no two transactions deadlock.
//! - Numbers (`seq`, `memory_seq`, `position`, `feed_row`) come from counters in locked rows, so they become visible in order.
//! - Nothing here reads a clock.

mod access;
mod account_deletion;
mod allowances;
mod archive;
mod audit;
mod codec;
mod comparisons;
mod connect;
mod delete;
mod documents;
mod events;
mod failure;
mod files;
mod forget;
mod forget_knowledge;
mod graph;
mod inspect;
mod jobs;
mod knowledge;
mod list;
mod logins;
mod memory_log;
mod messages;
mod migrate;
mod notifications;
mod pool;
mod round_robin;
mod row_security;
mod rows;
mod servers;
mod session_deletion;
mod sessions;
mod statistics;
#[cfg(test)]
mod tests;
mod topics;
mod transaction;
mod usage;
mod visits;

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use sqlx::PgConnection;
use tokio::sync::Notify;
use uuid::Uuid;

pub use self::connect::PostgresConfig;
use self::{
    failure::{Failure, is_connection_lost},
    notifications::NotificationListener,
    pool::Pool,
    row_security::{RowAccess, TransactionKind},
    servers::Servers,
    statistics::GrowthCounter,
};
use recall_domain::Timestamp;
use recall_ports::{CommitListener, StoreError};
use recall_store::{RoundRobin, keys};

/// Makes cargo rebuild when another database checks the statements.
const _: Option<&str> = option_env!("STATEMENTS_DATABASE_URL");

/// Attempts of a transaction that loses against another one or loses its connection. After the last, the failure is reported as
/// transient.
const ATTEMPTS: u32 = 5;

/// The store in one PostgreSQL database.
pub struct PostgresStore {
    pool: Pool,
    notifications: NotificationListener,
    growth: GrowthCounter,
    /// Identifies this process.
    instance: Uuid,
    round_robin: RoundRobin,
}

impl PostgresStore {
    /// Connects and migrates the database to the current schema.
    ///
    /// `now` becomes the start time of a new installation. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// If the URL is not valid, the server cannot be reached or lacks pgvector, or the database was written by a newer version of
    /// this program or has changed migrations.
    pub async fn open(url: &str, config: PostgresConfig, now: Timestamp) -> Result<Self, StoreError> {
        Ok(Self::open_inner(url, config, now).await?)
    }

    async fn open_inner(url: &str, config: PostgresConfig, now: Timestamp) -> Result<Self, Failure> {
        let servers = Servers::parse(url)?;
        let (server, mut connection) = servers.connect_first(config.acquire_timeout).await?;
        migrate::check_server(&mut connection).await?;
        match config.migrate {
            true => migrate::run(&mut connection).await?,
            false => migrate::verify(&mut connection).await?,
        }
        row_security::check(&mut connection, config.require_row_security).await?;
        let instance = inspect::ensure_installation(&mut connection, now).await?;
        drop(connection);
        let pool = Pool::start(servers, server, config);
        let notifications = NotificationListener::start(pool.clone(), instance);
        Ok(Self { notifications, pool, growth: GrowthCounter::default(), instance, round_robin: RoundRobin::default() })
    }

    /// Starts to report the commits of other processes to `listener`, and their new jobs to `wake`.
    ///
    /// Without this, or while the connection is lost, polling finds all of it.
    pub fn follow(&self, listener: Arc<dyn CommitListener>, wake: Arc<Notify>) {
        self.notifications.follow(listener, wake);
    }

    /// Runs one write transaction.
    ///
    /// `work` may run several times: if it loses against another transaction, or the connection breaks before COMMIT. If the
    /// connection breaks during COMMIT, the outcome is unknown, so the transaction is not repeated.
    async fn write<T, R, F>(&self, scope: impl Into<RowAccess>, input: &T, work: F) -> Result<R, Failure>
    where
        T: Sync + ?Sized,
        R: Send,
        F: for<'c> Fn(&'c mut PgConnection, &'c T) -> BoxFuture<'c, Result<R, Failure>> + Send + Sync,
    {
        self.transact((scope.into(), TransactionKind::Write), input, work).await
    }

    /// Runs several reads in one snapshot.
    async fn snapshot<T, R, F>(&self, scope: impl Into<RowAccess>, input: &T, work: F) -> Result<R, Failure>
    where
        T: Sync + ?Sized,
        R: Send,
        F: for<'c> Fn(&'c mut PgConnection, &'c T) -> BoxFuture<'c, Result<R, Failure>> + Send + Sync,
    {
        self.transact((scope.into(), TransactionKind::Snapshot), input, work).await
    }

    async fn transact<T, R, F>(&self, whose: (RowAccess, TransactionKind), input: &T, work: F) -> Result<R, Failure>
    where
        T: Sync + ?Sized,
        R: Send,
        F: for<'c> Fn(&'c mut PgConnection, &'c T) -> BoxFuture<'c, Result<R, Failure>> + Send + Sync,
    {
        let mut attempt = 1;
        loop {
            match self.attempt(whose, input, &work).await {
                Err(e) if e.is_retryable() && attempt < ATTEMPTS => {
                    tracing::debug!(attempt, error = %e, "retrying a transaction");
                    tokio::time::sleep(Duration::from_millis(10) * attempt * attempt).await;
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    async fn attempt<T, R, F>(&self, whose: (RowAccess, TransactionKind), input: &T, work: &F) -> Result<R, Failure>
    where
        T: Sync + ?Sized,
        R: Send,
        F: for<'c> Fn(&'c mut PgConnection, &'c T) -> BoxFuture<'c, Result<R, Failure>> + Send + Sync,
    {
        let (scope, access) = whose;
        let mut connection = self.pool.lend(scope).await?;
        let whole = async {
            let mut transaction = connection.begin(scope.begin(access)).await?;
            let result = match work(&mut transaction, input).await {
                Ok(result) => result,
                Err(e) => {
                    // Dropped, it would be rolled back later, and the caller's next statement would meet its locks. A lost connection has none.
                    transaction.rollback().await.ok();
                    return Err(e);
                }
            };
            match transaction.commit().await {
                Err(e) if is_connection_lost(&e) => Err(Failure::NotConfirmed(e)),
                done => Ok(done.map(|()| result)?),
            }
        };
        let time_limit = self.pool.time_limit();
        match tokio::time::timeout(time_limit, whole).await {
            Ok(Err(e)) => {
                if e.is_wrong_server() {
                    connection.blame_server();
                }
                Err(e)
            }
            Ok(done) => done,
            Err(_) => {
                connection.discard();
                Err(Failure::NoAnswer(time_limit))
            }
        }
    }
}
