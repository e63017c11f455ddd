//! The pool as statements see it: none waits longer than a moment past its limit. The server ends what takes too long, but of a
//! cut wire or a machine that was switched off nothing is heard, and the kernel waits a quarter of an hour before it says so.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{TryStreamExt, future::BoxFuture, stream, stream::BoxStream};
use sqlx::{
    AssertSqlSafe, Connection, Describe, Either, Error, Execute, Executor, PgConnection, PgPool, Postgres, SqlStr, Transaction,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, watch},
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    connect::{self, PostgresConfig},
    failure::is_wrong_server,
    row_security::{Access, RowAccess},
    servers::{Servers, address},
};
use recall_domain::UserId;
use recall_ports::{ConnectionCounts, FairShare};

/// What the server has, past its own limit of a statement, to say that it ended one.
const GRACE: Duration = Duration::from_secs(2);

/// A call that waits longer for a connection makes the choice of the server be looked at: a machine that was switched off says
/// nothing.
const SLOW: Duration = Duration::from_secs(1);
/// Wait between two looks at servers of which none will do.
const FIRST_LOOK: Duration = Duration::from_millis(250);
const LAST_LOOK: Duration = Duration::from_secs(2);

/// Connections to the server that was chosen, each lent for a bounded time.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    current: watch::Receiver<Current>,
    /// Told when the server that was chosen may not be the right one any more.
    trouble: Arc<Notify>,
    waiting: Arc<AtomicU32>,
    patience: Duration,
    /// Of one caller at once.
    share: Arc<FairShare>,
    /// Ends the choosing with the last of the pools.
    _choosing: Arc<DropGuard>,
}

/// The server that was chosen.
#[derive(Clone, Debug)]
pub(super) struct Current {
    server: usize,
    /// How to connect to it past the pool.
    pub(super) options: PgConnectOptions,
    pool: PgPool,
}

impl Pool {
    /// Begins with `server`, and goes over to another one when that one will not do any more.
    pub(super) fn start(servers: Servers, server: usize, config: PostgresConfig) -> Self {
        let (trouble, stop) = (Arc::new(Notify::new()), CancellationToken::new());
        let patience = config.statement_timeout.saturating_add(GRACE);
        let share = Arc::new(FairShare::half_of(config.connections));
        let choosing = Choosing { servers, config, trouble: trouble.clone() };
        let (sender, current) = watch::channel(choosing.current(server));
        if choosing.servers.are_several() {
            tokio::spawn(stop.clone().run_until_cancelled_owned(choosing.run(sender)));
        }
        Self { current, trouble, waiting: Arc::default(), patience, share, _choosing: Arc::new(stop.drop_guard()) }
    }

    /// The longest that a connection is lent.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The server that is used, and whoever holds it learns of the next one.
    pub(super) fn server(&self) -> watch::Receiver<Current> {
        self.current.clone()
    }

    /// The server that is used may not be the right one any more.
    pub(super) fn report_trouble(&self) {
        self.trouble.notify_one();
    }

    /// How many connections there are, and who waits for one.
    pub(super) fn connections(&self) -> ConnectionCounts {
        let pool = self.current.borrow().pool.clone();
        ConnectionCounts {
            open: pool.size(),
            idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
            most: pool.options().get_max_connections(),
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }

    /// A connection for work in a scope. It counts for the caller until it goes back, so nobody may wait for another one meanwhile.
    pub(super) async fn lend(&self, scope: RowAccess) -> Result<Lent, Error> {
        let share = match scope {
            RowAccess::Caller(user) => self.share.share(user).await,
            _ => None,
        };
        let connection = Some(self.take().await?);
        Ok(Lent { connection, is_doubtful: false, trouble: self.trouble.clone(), _share: share })
    }

    async fn take(&self) -> Result<PoolConnection<Postgres>, Error> {
        let _waits = Waits::begin(&self.waiting);
        let mut current = self.current.clone();
        loop {
            let pool = current.borrow_and_update().pool.clone();
            // Whoever waits for one of a server that was left takes one of the next.
            tokio::select! {
                biased;
                acquired = self.acquire(&pool) => match acquired {
                    Err(Error::PoolClosed) if current.has_changed().unwrap_or(false) => {}
                    acquired => return acquired,
                },
                Ok(()) = current.changed() => {}
            }
        }
    }

    async fn acquire(&self, pool: &PgPool) -> Result<PoolConnection<Postgres>, Error> {
        let acquiring = pool.acquire();
        tokio::pin!(acquiring);
        let acquired = match timeout(SLOW, &mut acquiring).await {
            Ok(acquired) => acquired,
            Err(_) => {
                self.report_trouble();
                acquiring.await
            }
        };
        acquired.inspect_err(|e| {
            if is_wrong_server(e) {
                self.report_trouble();
            }
        })
    }

    /// For a statement that reads.
    pub(super) fn reading(&self, scope: impl Into<RowAccess>) -> Rows<'_> {
        Rows { pool: self, scope: scope.into(), access: Access::Read }
    }

    /// For a statement that writes.
    pub(super) fn writing(&self, scope: impl Into<RowAccess>) -> Rows<'_> {
        Rows { pool: self, scope: scope.into(), access: Access::Write }
    }

    /// A read transaction that lasts as long as whoever takes what it reads: for the archive, at the command line.
    pub(super) async fn snapshot(&self, user: UserId) -> Result<Transaction<'static, Postgres>, Error> {
        let (pool, begin) = (self.current.borrow().pool.clone(), RowAccess::Caller(user).begin(Access::Snapshot));
        // In a task, so that it ends whoever waits for it: see `Lent::begin`.
        match tokio::spawn(async move { pool.begin_with(begin).await }).await {
            Ok(begun) => begun,
            Err(_) => Err(Error::BeginFailed),
        }
    }

    pub(super) async fn close(&self) {
        let pool = self.current.borrow().pool.clone();
        // A silent connection says no goodbye.
        let _ = timeout(self.patience, pool.close()).await;
    }
}

/// Counts a call that waits.
struct Waits<'p>(&'p AtomicU32);

impl<'p> Waits<'p> {
    fn begin(waiting: &'p AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Chooses among several servers.
struct Choosing {
    servers: Servers,
    config: PostgresConfig,
    trouble: Arc<Notify>,
}

impl Choosing {
    fn current(&self, server: usize) -> Current {
        let options = self.servers.options(server).cloned().unwrap_or_default();
        let choice = self.servers.are_several().then(|| (self.servers.wanted, self.trouble.clone()));
        Current { server, pool: connect::pool(&options, choice, &self.config), options }
    }

    /// Looks whenever there is trouble, until a server will do.
    async fn run(self, current: watch::Sender<Current>) {
        loop {
            self.trouble.notified().await;
            let mut pause = FIRST_LOOK;
            loop {
                let old = current.borrow().clone();
                match self.servers.choose(old.server, self.config.acquire_timeout).await {
                    Ok((server, connection)) => {
                        let _ = timeout(GRACE, connection.close()).await;
                        if server != old.server {
                            let next = self.current(server);
                            tracing::warn!(from = address(&old.options), to = address(&next.options), "another database server is used");
                            current.send_replace(next);
                            // Ends when the last of its connections comes back.
                            tokio::spawn(async move { old.pool.close().await });
                        }
                        break;
                    }
                    Err(e) => {
                        tracing::warn!(error = %e, "no database server takes writes");
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LAST_LOOK);
                    }
                }
            }
            // What else went wrong meanwhile had the same cause.
            tokio::time::sleep(FIRST_LOOK).await;
        }
    }
}

/// A connection of the pool. Dropped, it goes back once it has shown that it is alive and rolled back what was left open. The pool
/// would wait for that without a limit, and one wire that was cut could cost it all its places.
pub(super) struct Lent {
    connection: Option<PoolConnection<Postgres>>,
    /// Whether a transaction may be open of which the library knows nothing.
    is_doubtful: bool,
    trouble: Arc<Notify>,
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

    /// Its server takes no writes or is gone: it does not go back, and the choice of the server is looked at.
    pub(super) fn blame_server(&mut self) {
        self.is_doubtful = true;
        self.trouble.notify_one();
    }

    /// It fell silent, and does not go back.
    pub(super) fn give_up(mut self) -> Error {
        self.blame_server();
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
    scope: RowAccess,
    access: Access,
}

/// Does the work on a connection of the pool, in a transaction of its own where the scope asks for one. A macro, because no bound
/// on a closure says that its future may hold the query.
macro_rules! run {
    ($rows:expr, $connection:ident => $work:expr) => {{
        let rows = $rows;
        let mut lent = rows.pool.lend(rows.scope).await?;
        let whole = async {
            if matches!(rows.scope, RowAccess::Nobody) {
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
            Ok(Err(e)) => {
                if is_wrong_server(&e) {
                    lent.blame_server();
                }
                Err(e)
            }
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
