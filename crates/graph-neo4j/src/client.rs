//! Connections to Neo4j, with time limits.
//!
//! The driver waits without a limit. It gives a connection back to its pool as it is: with the rest of a response still pending if the
//! caller was cancelled, or with an open transaction that keeps its locks. So every use of a connection runs in its own task, which
//! completes even if its caller is cancelled, and a connection on which something failed is closed.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use neo4rs::{Config, ConfigBuilder, Graph, Query, Row, Txn, query};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{Neo4jConfig, failure::Failure};

/// Most concurrent uses of the server. Further callers wait within their own time limit, so a hanging server does not collect
/// tasks.
const MAX_CONCURRENT: usize = 12;

/// Time limit for reading status.
///
/// A caller with a user request has less time and stops waiting earlier. The projector has time, and must not take a server that is
/// starting for one that is down.
pub(super) const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs statements on the server.
pub(super) struct Client {
    driver: Config,
    /// The connections that nobody uses.
    idle: Arc<Mutex<Vec<Connection>>>,
    slots: Arc<Semaphore>,
    pub(super) query_timeout: Duration,
    pub(super) write_timeout: Duration,
}

/// A pool of the driver with room for one connection.
struct Connection(Graph);

impl Client {
    pub(super) fn new(config: Neo4jConfig) -> Result<Self, Failure> {
        let driver = ConfigBuilder::default()
            .uri(config.url)
            .user(config.user)
            .password(config.password)
            .db(config.database)
            .fetch_size(2_000)
            .max_connections(1)
            .build()?;
        let idle = Arc::new(Mutex::new(vec![open(&driver)?]));
        let slots = Arc::new(Semaphore::new(MAX_CONCURRENT));
        Ok(Self { driver, idle, slots, query_timeout: config.query_timeout, write_timeout: config.write_timeout })
    }

    /// Checks that the server answers.
    pub(super) async fn ping(&self) -> Result<(), Failure> {
        self.read(STATUS_TIMEOUT, query("RETURN 1 AS one")).await.map(|_| ())
    }

    /// Runs one statement and returns all rows.
    pub(super) async fn read(&self, within: Duration, statement: Query) -> Result<Vec<Row>, Failure> {
        // In a transaction, because the driver retries a statement outside of one for up to a minute.
        self.transaction(within, |txn| Box::pin(rows(txn, statement))).await
    }

    /// Runs `work` in one transaction. Commits if it succeeds, and closes the connection if it fails, which ends the transaction.
    pub(super) async fn transaction<R, W>(&self, within: Duration, work: W) -> Result<R, Failure>
    where
        R: Send + 'static,
        W: for<'t> FnOnce(&'t mut Txn) -> BoxFuture<'t, Result<R, Failure>> + Send + 'static,
    {
        let (driver, idle, slots) = (self.driver.clone(), self.idle.clone(), self.slots.clone());
        let task = tokio::spawn(async move {
            let whole = async {
                let _slot = slots.acquire_owned().await.map_err(|_| Failure::Driver("the client is closed"))?;
                let free = idle.lock().pop();
                let connection = free.map_or_else(|| open(&driver), Ok)?;
                let done = run(&connection, work).await?;
                idle.lock().push(connection);
                Ok(done)
            };
            tokio::time::timeout(within, whole).await.unwrap_or(Err(Failure::Silent(within)))
        });
        let outcome = task.await.unwrap_or(Err(Failure::Driver("the task panicked")));
        // Otherwise each of the others would fail in its turn, the silent ones after a whole time limit.
        if outcome.as_ref().is_err_and(Failure::may_concern_all_connections) {
            self.idle.lock().clear();
        }
        outcome
    }
}

async fn run<R, W>(connection: &Connection, work: W) -> Result<R, Failure>
where
    W: for<'t> FnOnce(&'t mut Txn) -> BoxFuture<'t, Result<R, Failure>>,
{
    let mut txn = connection.0.start_txn().await?;
    let done = work(&mut txn).await?;
    txn.commit().await?;
    Ok(done)
}

/// Makes a connection, which connects at its first use.
fn open(config: &Config) -> Result<Connection, Failure> {
    use futures_util::FutureExt;
    // The driver only checks the address here; the function is asynchronous in name only.
    let opened = Graph::connect(config.clone()).now_or_never().ok_or(Failure::Driver("connecting did not complete at once"))?;
    Ok(Connection(opened?))
}

/// Runs one statement in a transaction and returns all rows.
pub(super) async fn rows(txn: &mut Txn, statement: Query) -> Result<Vec<Row>, Failure> {
    let mut stream = txn.execute(statement).await?;
    let mut rows = Vec::new();
    while let Some(row) = stream.next(txn.handle()).await? {
        rows.push(row);
    }
    Ok(rows)
}
