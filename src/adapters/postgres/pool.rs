//! The pool as statements see it: none waits longer than a moment past its limit. The server ends what takes too long, but of a
//! cut wire or a machine that was switched off nothing is heard, and the kernel waits a quarter of an hour before it says so.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use futures_util::{TryStreamExt, future::BoxFuture, stream, stream::BoxStream};
use sqlx::{
    Either, Error, Execute, Executor, PgConnection, PgPool, Postgres, SqlStr, Transaction,
    pool::PoolConnection,
    postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};
use tokio::time::timeout;

/// What the server has, past its own limit of a statement, to say that it ended one.
const GRACE: Duration = Duration::from_secs(2);

/// Connections, each lent for a bounded time.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pool: PgPool,
    patience: Duration,
}

impl Pool {
    /// `limit` is how long the server lets a statement run.
    pub(super) fn new(pool: PgPool, limit: Duration) -> Self {
        Self { pool, patience: limit.saturating_add(GRACE) }
    }

    /// The longest that a connection is lent.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// A connection.
    pub(super) async fn lend(&self) -> Result<Lent, Error> {
        Ok(Lent(Some(self.pool.acquire().await?)))
    }

    /// A transaction that lasts as long as whoever takes what it reads: for the archive, at the command line.
    pub(super) async fn begin_with(&self, statement: &'static str) -> Result<Transaction<'static, Postgres>, Error> {
        self.pool.begin_with(statement).await
    }

    pub(super) async fn close(&self) {
        // A silent connection says no goodbye.
        let _ = timeout(self.patience, self.pool.close()).await;
    }
}

/// A connection of the pool. Dropped, it goes back once it has shown that it is alive and rolled back what was left open. The pool
/// would wait for that without a limit, and one wire that was cut could cost it all its places.
pub(super) struct Lent(Option<PoolConnection<Postgres>>);

impl Lent {
    /// It fell silent, and does not go back.
    pub(super) fn give_up(mut self) -> Error {
        if let Some(connection) = self.0.take() {
            drop(connection.detach());
        }
        Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the database server does not answer"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(mut connection) = self.0.take() else { return };
        tokio::spawn(timeout(GRACE, connection.return_to_pool()));
    }
}

impl Deref for Lent {
    type Target = PgConnection;

    #[allow(clippy::expect_used, reason = "taken only by what consumes it")]
    fn deref(&self) -> &PgConnection {
        self.0.as_ref().expect("lent")
    }
}

impl DerefMut for Lent {
    #[allow(clippy::expect_used, reason = "taken only by what consumes it")]
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.0.as_mut().expect("lent")
    }
}

impl<'p> Executor<'p> for &'p Pool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        // Whole, because a connection is not to be held by a reader that takes its time.
        let pool = self.clone();
        let all = async move {
            let mut lent = pool.lend().await?;
            let done = timeout(pool.patience, lent.fetch_many(query).try_collect::<Vec<_>>()).await;
            done.unwrap_or_else(|_| Err(lent.give_up()))
        };
        Box::pin(stream::once(all).map_ok(|steps| stream::iter(steps.into_iter().map(Ok))).try_flatten())
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let pool = self.clone();
        Box::pin(async move {
            let mut lent = pool.lend().await?;
            let done = timeout(pool.patience, lent.fetch_optional(query)).await;
            done.unwrap_or_else(|_| Err(lent.give_up()))
        })
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, Result<PgStatement, Error>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        Box::pin(async move {
            let mut lent = pool.lend().await?;
            let done = timeout(pool.patience, lent.prepare_with(sql, parameters)).await;
            done.unwrap_or_else(|_| Err(lent.give_up()))
        })
    }
}
