//! The pool as statements see it: none waits longer than a moment past its limit. The server ends what takes too long, but of a
//! cut wire or a machine that was switched off nothing is heard, and the kernel waits a quarter of an hour before it says so.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

use futures_util::{TryStreamExt, future::BoxFuture, stream, stream::BoxStream};
use sqlx::{
    AssertSqlSafe, Connection, Describe, Either, Error, Execute, Executor, PgConnection, PgPool, Postgres, SqlStr, Transaction,
    pool::PoolConnection,
    postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::walls::{Access, Scope};
use crate::{domain::UserId, ports::FairShare};

/// What the server has, past its own limit of a statement, to say that it ended one.
const GRACE: Duration = Duration::from_secs(2);

/// Connections, each lent for a bounded time.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pool: PgPool,
    patience: Duration,
    share: Arc<FairShare>,
}

impl Pool {
    /// `limit` is how long the server lets a statement run.
    pub(super) fn new(pool: PgPool, limit: Duration) -> Self {
        let share = Arc::new(FairShare::half_of(pool.options().get_max_connections()));
        Self { pool, patience: limit.saturating_add(GRACE), share }
    }

    /// The longest that a connection is lent.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// A connection for work in a scope. It counts for the caller until it goes back, so nobody may wait for another one meanwhile.
    pub(super) async fn lend(&self, scope: Scope) -> Result<Lent, Error> {
        let share = match scope {
            Scope::Caller(user) => self.share.share(user).await,
            _ => None,
        };
        Ok(Lent { connection: Some(self.pool.acquire().await?), is_doubtful: false, _share: share })
    }

    /// For a statement that reads.
    pub(super) fn reading(&self, scope: impl Into<Scope>) -> Rows<'_> {
        Rows { pool: self, scope: scope.into(), access: Access::Read }
    }

    /// For a statement that writes.
    pub(super) fn writing(&self, scope: impl Into<Scope>) -> Rows<'_> {
        Rows { pool: self, scope: scope.into(), access: Access::Write }
    }

    /// A read transaction that lasts as long as whoever takes what it reads: for the archive, at the command line.
    pub(super) async fn snapshot(&self, user: UserId) -> Result<Transaction<'static, Postgres>, Error> {
        let (pool, begin) = (self.pool.clone(), Scope::Caller(user).begin(Access::Snapshot));
        // In a task, so that it ends whoever waits for it: see `Lent::begin`.
        match tokio::spawn(async move { pool.begin_with(begin).await }).await {
            Ok(begun) => begun,
            Err(_) => Err(Error::BeginFailed),
        }
    }

    pub(super) async fn close(&self) {
        // A silent connection says no goodbye.
        let _ = timeout(self.patience, self.pool.close()).await;
    }
}

/// A connection of the pool. Dropped, it goes back once it has shown that it is alive and rolled back what was left open. The pool
/// would wait for that without a limit, and one wire that was cut could cost it all its places.
pub(super) struct Lent {
    connection: Option<PoolConnection<Postgres>>,
    /// Whether a transaction may be open of which the library knows nothing.
    is_doubtful: bool,
    _share: Option<OwnedSemaphorePermit>,
}

impl Lent {
    /// Begins a transaction. When whoever waits for it goes away after BEGIN was sent and before it was answered, the library does
    /// not know that a transaction is open, and what the next one writes without a transaction of his own would be part of it and
    /// never be committed. So until the answer is there the connection does not go back.
    pub(super) async fn begin(&mut self, statement: AssertSqlSafe<String>) -> Result<Transaction<'_, Postgres>, Error> {
        let Self { connection, is_doubtful, .. } = self;
        let connection = connection.as_mut().ok_or(Error::BeginFailed)?;
        *is_doubtful = true;
        let transaction = connection.begin_with(statement).await?;
        *is_doubtful = false;
        Ok(transaction)
    }

    /// It fell silent, and does not go back.
    pub(super) fn give_up(mut self) -> Error {
        self.is_doubtful = true;
        Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the database server does not answer"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.is_doubtful {
            drop(connection.detach());
            return;
        }
        tokio::spawn(timeout(GRACE, connection.return_to_pool()));
    }
}

impl Deref for Lent {
    type Target = PgConnection;

    #[allow(clippy::expect_used, reason = "taken only by what consumes it")]
    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("lent")
    }
}

impl DerefMut for Lent {
    #[allow(clippy::expect_used, reason = "taken only by what consumes it")]
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("lent")
    }
}

/// The pool for one statement on the rows of one scope. Such a statement is a transaction of its own: PostgreSQL is told first for
/// whom it is. To begin one costs a trip to the server, and to end one that only read costs none, because that travels with the
/// question that every connection is asked when it goes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'p> {
    pool: &'p Pool,
    scope: Scope,
    access: Access,
}

/// Does the work on a connection of the pool, in a transaction of its own where the scope asks for one. A macro, because no bound
/// on a closure says that its future may hold the query.
macro_rules! run {
    ($rows:expr, $connection:ident => $work:expr) => {{
        let rows = $rows;
        let mut lent = rows.pool.lend(rows.scope).await?;
        let whole = async {
            if matches!(rows.scope, Scope::Nobody) {
                let $connection = &mut *lent;
                return $work.await;
            }
            let mut transaction = lent.begin(rows.scope.begin(rows.access)).await?;
            let $connection = &mut *transaction;
            let done = $work.await?;
            if rows.access == Access::Write {
                transaction.commit().await?;
            }
            Ok(done)
        };
        match timeout(rows.pool.patience, whole).await {
            Ok(done) => done,
            Err(_) => Err(lent.give_up()),
        }
    }};
}

impl<'p> Executor<'p> for Rows<'p> {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        // Whole, because a connection is not to be held by a reader that takes its time.
        let all = async move { run!(self, connection => connection.fetch_many(query).try_collect::<Vec<_>>()) };
        Box::pin(stream::once(all).map_ok(|steps| stream::iter(steps.into_iter().map(Ok))).try_flatten())
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(async move { run!(self, connection => connection.fetch_optional(query)) })
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, Result<PgStatement, Error>>
    where
        'p: 'e,
    {
        Box::pin(async move { run!(self, connection => connection.prepare_with(sql, parameters)) })
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, Error>>
    where
        'p: 'e,
    {
        Box::pin(async move { run!(self, connection => connection.describe(sql)) })
    }
}
