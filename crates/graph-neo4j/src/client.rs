//! Connections to Neo4j, with time limits.
//!
//! The driver waits without a limit. If a caller is cancelled in the middle of a response, the connection returns to the pool with the
//! rest of the response still pending. So every use of a connection runs in its own task, which completes even if its caller is
//! cancelled. After a failure of unknown extent the whole pool is replaced.

use std::{future::Future, sync::Arc, time::Duration};

use neo4rs::{Config, ConfigBuilder, Graph, Query, Row, Txn, query};
use parking_lot::RwLock;
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
    pool: RwLock<Arc<Pool>>,
    slots: Arc<Semaphore>,
    pub(super) query_timeout: Duration,
    pub(super) write_timeout: Duration,
}

struct Pool(Graph);

impl Client {
    pub(super) fn new(config: Neo4jConfig) -> Result<Self, Failure> {
        let driver = ConfigBuilder::default()
            .uri(config.url)
            .user(config.user)
            .password(config.password)
            .db(config.database)
            .fetch_size(2_000)
            .max_connections(MAX_CONCURRENT)
            .build()?;
        let pool = RwLock::new(Arc::new(open(&driver)?));
        let slots = Arc::new(Semaphore::new(MAX_CONCURRENT));
        Ok(Self { driver, pool, slots, query_timeout: config.query_timeout, write_timeout: config.write_timeout })
    }

    /// Checks that the server answers.
    pub(super) async fn ping(&self) -> Result<(), Failure> {
        self.read(STATUS_TIMEOUT, query("RETURN 1 AS one")).await.map(|_| ())
    }

    /// Runs one statement and returns all rows.
    pub(super) async fn read(&self, within: Duration, statement: Query) -> Result<Vec<Row>, Failure> {
        // In a transaction, because the driver retries a statement outside of one for up to a minute.
        self.transaction(within, |mut txn| async move {
            let rows = rows(&mut txn, statement).await?;
            txn.commit().await?;
            Ok(rows)
        })
        .await
    }

    /// Runs one transaction. Everything that `work` does not commit is rolled back.
    pub(super) async fn transaction<R, W, F>(&self, within: Duration, work: W) -> Result<R, Failure>
    where
        R: Send + 'static,
        W: FnOnce(Txn) -> F + Send + 'static,
        F: Future<Output = Result<R, Failure>> + Send,
    {
        let pool = self.pool.read().clone();
        let (used, slots) = (pool.clone(), self.slots.clone());
        let task = tokio::spawn(async move {
            let whole = async {
                let _slot = slots.acquire_owned().await.map_err(|_| Failure::Driver("the client is closed"))?;
                work(used.0.start_txn().await?).await
            };
            tokio::time::timeout(within, whole).await.unwrap_or(Err(Failure::Silent(within)))
        });
        let outcome = task.await.unwrap_or(Err(Failure::Driver("the task panicked")));
        if outcome.as_ref().is_err_and(Failure::breaks_connections) {
            self.replace_pool(&pool);
        }
        outcome
    }

    /// Replaces the pool, unless another call has already replaced it.
    fn replace_pool(&self, pool: &Arc<Pool>) {
        let mut current = self.pool.write();
        if Arc::ptr_eq(&current, pool)
            && let Ok(fresh) = open(&self.driver)
        {
            *current = Arc::new(fresh);
        }
    }
}

/// Makes a pool without connections.
fn open(config: &Config) -> Result<Pool, Failure> {
    use futures_util::FutureExt;
    // The driver only checks the address here; the function is asynchronous in name only.
    let opened = Graph::connect(config.clone()).now_or_never().ok_or(Failure::Driver("connecting did not complete at once"))?;
    Ok(Pool(opened?))
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
