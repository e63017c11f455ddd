//! The read connections, shared fairly between users.

use futures_util::{TryStreamExt, future::BoxFuture, stream, stream::BoxStream};
use sqlx::{
    Either, Error, Execute, Executor, Sqlite, SqliteConnection, SqlitePool,
    pool::PoolConnection,
    sqlite::{SqliteQueryResult, SqliteRow},
};

use recall_domain::{Caller, UserId};
use recall_ports::FairShare;

/// The pool of read connections.
#[derive(Debug)]
pub(super) struct Readers {
    pool: SqlitePool,
    share: FairShare,
}

impl Readers {
    pub(super) fn new(pool: SqlitePool) -> Self {
        let share = FairShare::half_of(pool.options().get_max_connections());
        Self { pool, share }
    }

    /// A reader for one statement on the data of one user.
    pub(super) fn for_user(&self, user: impl Into<ReaderKey>) -> UserReader<'_> {
        UserReader { readers: self, user: user.into().0 }
    }

    /// The pool for statements of the server itself.
    pub(super) fn for_server(&self) -> &SqlitePool {
        &self.pool
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

/// The user whose data is read.
pub(super) struct ReaderKey(UserId);

impl From<UserId> for ReaderKey {
    fn from(user: UserId) -> Self {
        Self(user)
    }
}

impl From<&Caller> for ReaderKey {
    fn from(caller: &Caller) -> Self {
        Self(caller.user())
    }
}

/// The readers for one statement on the data of one user.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserReader<'r> {
    readers: &'r Readers,
    user: UserId,
}

/// Runs the work on a connection that counts for the user until the work ends.
///
/// This is a macro because no bound on a closure can say that its future may hold the query.
macro_rules! run {
    ($reading:expr, $connection:ident => $work:expr) => {{
        let readers = $reading.readers;
        let _share = readers.share.share($reading.user).await;
        let mut lent: PoolConnection<Sqlite> = readers.pool.acquire().await?;
        let $connection: &mut SqliteConnection = &mut lent;
        $work.await
    }};
}

impl<'r> Executor<'r> for UserReader<'r> {
    type Database = Sqlite;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<SqliteQueryResult, SqliteRow>, Error>>
    where
        'r: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        // Collects all rows first, so that a slow consumer does not hold a connection.
        let all = async move { run!(self, connection => connection.fetch_many(query).try_collect::<Vec<_>>()) };
        Box::pin(stream::once(all).map_ok(|steps| stream::iter(steps.into_iter().map(Ok))).try_flatten())
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<SqliteRow>, Error>>
    where
        'r: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        Box::pin(async move { run!(self, connection => connection.fetch_optional(query)) })
    }

    fn prepare_with<'e>(
        self,
        sql: sqlx::SqlStr,
        parameters: &'e [<Sqlite as sqlx::Database>::TypeInfo],
    ) -> BoxFuture<'e, Result<<Sqlite as sqlx::Database>::Statement, Error>>
    where
        'r: 'e,
    {
        Box::pin(async move { run!(self, connection => connection.prepare_with(sql, parameters)) })
    }

    fn describe<'e>(self, sql: sqlx::SqlStr) -> BoxFuture<'e, Result<sqlx::Describe<Sqlite>, Error>>
    where
        'r: 'e,
    {
        Box::pin(async move { run!(self, connection => connection.describe(sql)) })
    }
}
