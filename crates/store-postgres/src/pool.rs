//! The connection pool. No statement waits much longer than its time limit.
//!
//! The server cancels slow statements. But a cut cable or a machine that was switched off sends no signal, and the kernel waits a
//! quarter of an hour before it reports the loss.

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
    row_security::{RowAccess, TransactionKind},
    servers::{Servers, address},
};
use recall_domain::UserId;
use recall_ports::{ConnectionCounts, FairShare};

/// Extra time past the statement timeout, in which the server can report that it cancelled a statement.
const GRACE: Duration = Duration::from_secs(2);

/// A call that waits longer for a connection triggers a check of the server choice: a machine that was switched off sends no
/// signal.
const SLOW_ACQUIRE: Duration = Duration::from_secs(1);
/// First pause between two checks while no server is suitable.
const FIRST_CHECK_PAUSE: Duration = Duration::from_millis(250);
const LAST_CHECK_PAUSE: Duration = Duration::from_secs(2);

/// Connections to the chosen server, each lent for a limited time.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    current: watch::Receiver<ChosenServer>,
    /// Notified when the chosen server may no longer be suitable.
    trouble: Arc<Notify>,
    waiting: Arc<AtomicU32>,
    time_limit: Duration,
    /// Limits the connections that one user holds at once.
    share: Arc<FairShare>,
    /// Stops the server choice when the last clone of the pool is dropped.
    _stop_choice: Arc<DropGuard>,
}

/// The chosen server.
#[derive(Clone, Debug)]
pub(super) struct ChosenServer {
    server: usize,
    /// Options for connecting to it without the pool.
    pub(super) options: PgConnectOptions,
    pool: PgPool,
}

impl Pool {
    /// Starts with `server`, and switches to another one when that one is no longer suitable.
    pub(super) fn start(servers: Servers, server: usize, config: PostgresConfig) -> Self {
        let (trouble, stop) = (Arc::new(Notify::new()), CancellationToken::new());
        let time_limit = config.statement_timeout.saturating_add(GRACE);
        let share = Arc::new(FairShare::half_of(config.connections));
        let choice = ServerChoice { servers, config, trouble: trouble.clone() };
        let (sender, current) = watch::channel(choice.current(server));
        if choice.servers.has_several() {
            tokio::spawn(stop.clone().run_until_cancelled_owned(choice.run(sender)));
        }
        Self { current, trouble, waiting: Arc::default(), time_limit, share, _stop_choice: Arc::new(stop.drop_guard()) }
    }

    /// The longest time that a connection is lent.
    pub(super) fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// The chosen server; the receiver is notified of the next one.
    pub(super) fn server(&self) -> watch::Receiver<ChosenServer> {
        self.current.clone()
    }

    /// Requests a check of the server choice.
    pub(super) fn report_trouble(&self) {
        self.trouble.notify_one();
    }

    /// Number of connections and of callers that wait for one.
    pub(super) fn connections(&self) -> ConnectionCounts {
        let pool = self.current.borrow().pool.clone();
        ConnectionCounts {
            open: pool.size(),
            idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
            most: pool.options().get_max_connections(),
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }

    /// Lends a connection for work in a scope.
    ///
    /// It counts towards the user's share until it is returned. So a caller with a connection must not wait for another one.
    pub(super) async fn lend(&self, scope: RowAccess) -> Result<LentConnection, Error> {
        let share = match scope {
            RowAccess::Caller(user) => self.share.share(user).await,
            _ => None,
        };
        let connection = Some(self.acquire_current().await?);
        Ok(LentConnection { connection, is_doubtful: false, trouble: self.trouble.clone(), _share: share })
    }

    async fn acquire_current(&self) -> Result<PoolConnection<Postgres>, Error> {
        let _waits = WaitCount::begin(&self.waiting);
        let mut current = self.current.clone();
        loop {
            let pool = current.borrow_and_update().pool.clone();
            // A caller that waits for the previous server's pool takes a connection of the next one.
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
        let acquired = match timeout(SLOW_ACQUIRE, &mut acquiring).await {
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

    /// A scope for one reading statement.
    pub(super) fn reading(&self, scope: impl Into<RowAccess>) -> ScopedPool<'_> {
        ScopedPool { pool: self, scope: scope.into(), kind: TransactionKind::Read }
    }

    /// A scope for one reading statement that is planned each time.
    pub(super) fn planning(&self, scope: impl Into<RowAccess>) -> ScopedPool<'_> {
        ScopedPool { pool: self, scope: scope.into(), kind: TransactionKind::PlannedRead }
    }

    /// A scope for one writing statement.
    pub(super) fn writing(&self, scope: impl Into<RowAccess>) -> ScopedPool<'_> {
        ScopedPool { pool: self, scope: scope.into(), kind: TransactionKind::Write }
    }

    /// Begins a read transaction that lasts as long as its reader needs, for exporting archives at the command line.
    pub(super) async fn snapshot(&self, user: UserId) -> Result<Transaction<'static, Postgres>, Error> {
        let (pool, begin) = (self.current.borrow().pool.clone(), RowAccess::Caller(user).begin(TransactionKind::Snapshot));
        // In a task, so that it completes even if its caller is cancelled: see `LentConnection::begin`.
        match tokio::spawn(async move { pool.begin_with(begin).await }).await {
            Ok(begun) => begun,
            Err(_) => Err(Error::BeginFailed),
        }
    }

    pub(super) async fn close(&self) {
        let pool = self.current.borrow().pool.clone();
        // Closing a silent connection would wait without a limit.
        let _ = timeout(self.time_limit, pool.close()).await;
    }
}

/// Counts a waiting call until it is dropped.
struct WaitCount<'p>(&'p AtomicU32);

impl<'p> WaitCount<'p> {
    fn begin(waiting: &'p AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Chooses among several servers.
struct ServerChoice {
    servers: Servers,
    config: PostgresConfig,
    trouble: Arc<Notify>,
}

impl ServerChoice {
    fn current(&self, server: usize) -> ChosenServer {
        let options = self.servers.options(server).cloned().unwrap_or_default();
        let choice = self.servers.has_several().then(|| (self.servers.wanted, self.trouble.clone()));
        ChosenServer { server, pool: connect::pool(&options, choice, &self.config), options }
    }

    /// After each report of trouble, checks the servers until one is suitable.
    async fn run(self, current: watch::Sender<ChosenServer>) {
        loop {
            self.trouble.notified().await;
            let mut pause = FIRST_CHECK_PAUSE;
            loop {
                let old = current.borrow().clone();
                match self.servers.choose(old.server, self.config.acquire_timeout).await {
                    Ok((server, connection)) => {
                        let _ = timeout(GRACE, connection.close()).await;
                        if server != old.server {
                            let next = self.current(server);
                            tracing::warn!(
                                from = address(&old.options),
                                to = address(&next.options),
                                "switched to another database server"
                            );
                            current.send_replace(next);
                            // Ends when the last of its connections is returned.
                            tokio::spawn(async move { old.pool.close().await });
                        }
                        break;
                    }
                    Err(e) => {
                        tracing::warn!(error = %e, "no database server takes writes");
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LAST_CHECK_PAUSE);
                    }
                }
            }
            // Other trouble reported meanwhile had the same cause.
            tokio::time::sleep(FIRST_CHECK_PAUSE).await;
        }
    }
}

/// A lent connection of the pool.
///
/// When it is dropped, it is tested, rolled back and returned. The pool itself would test it without a time limit, so a single cut
/// cable could block all its slots.
pub(super) struct LentConnection {
    connection: Option<PoolConnection<Postgres>>,
    /// Whether a transaction may be open that the driver does not know of.
    is_doubtful: bool,
    trouble: Arc<Notify>,
    _share: Option<OwnedSemaphorePermit>,
}

impl LentConnection {
    /// Begins a transaction.
    ///
    /// If the caller is cancelled between BEGIN and its answer, the driver does not know that a transaction is open. The next
    /// user's single statements would join it and never be committed. So the connection is not returned until the answer arrives.
    pub(super) async fn begin(&mut self, statement: AssertSqlSafe<String>) -> Result<Transaction<'_, Postgres>, Error> {
        let Self { connection, is_doubtful, .. } = self;
        let connection = connection.as_mut().ok_or(Error::BeginFailed)?;
        *is_doubtful = true;
        let transaction = connection.begin_with(statement).await?;
        *is_doubtful = false;
        Ok(transaction)
    }

    /// Reports that the server is gone or takes no writes. The connection is not returned, and the server choice is checked.
    pub(super) fn blame_server(&mut self) {
        self.is_doubtful = true;
        self.trouble.notify_one();
    }

    /// Discards a connection that fell silent.
    pub(super) fn discard(mut self) -> Error {
        self.blame_server();
        Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the database server does not answer"))
    }
}

impl Drop for LentConnection {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.is_doubtful {
            drop(connection.detach());
            return;
        }
        tokio::spawn(timeout(GRACE, connection.return_to_pool()));
    }
}

impl Deref for LentConnection {
    type Target = PgConnection;

    #[allow(clippy::expect_used, reason = "only `drop` takes the connection")]
    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("lent")
    }
}

impl DerefMut for LentConnection {
    #[allow(clippy::expect_used, reason = "only `drop` takes the connection")]
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("lent")
    }
}

/// The pool for one statement in one scope.
///
/// Each statement is its own transaction, which first tells PostgreSQL its user. BEGIN costs a round trip. A read needs no COMMIT:
/// the test of a returned connection ends its transaction at no extra cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopedPool<'p> {
    pool: &'p Pool,
    scope: RowAccess,
    kind: TransactionKind,
}

/// Runs the work on a lent connection, in a transaction if the scope needs one.
///
/// This is a macro because no bound on a closure can say that its future may hold the query.
macro_rules! run {
    ($rows:expr, $connection:ident => $work:expr) => {{
        let rows = $rows;
        let mut lent = rows.pool.lend(rows.scope).await?;
        let whole = async {
            if matches!(rows.scope, RowAccess::Nobody) {
                let $connection = &mut *lent;
                return $work.await;
            }
            let mut transaction = lent.begin(rows.scope.begin(rows.kind)).await?;
            let $connection = &mut *transaction;
            let done = $work.await?;
            if rows.kind == TransactionKind::Write {
                transaction.commit().await?;
            }
            Ok(done)
        };
        match timeout(rows.pool.time_limit, whole).await {
            Ok(Err(e)) => {
                if is_wrong_server(&e) {
                    lent.blame_server();
                }
                Err(e)
            }
            Ok(done) => done,
            Err(_) => Err(lent.discard()),
        }
    }};
}

impl<'p> Executor<'p> for ScopedPool<'p> {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        // Collects all rows first, so that a slow consumer does not hold a connection.
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
