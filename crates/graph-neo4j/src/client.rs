//! Connections, and how long they are waited for.
//!
//! The driver waits for ever, and a connection whose user left in the middle of an answer goes back to the driver's pool with
//! the rest of that answer still to come. So every use of a connection runs in a task of its own, that ends by itself also
//! when its caller has gone, and after a failure of unknown extent the whole pool is left behind.

use std::{
    future::Future,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use neo4rs::{Config, ConfigBuilder, Graph, Query, Row, Txn, query};
use tokio::sync::Semaphore;

use super::{Neo4jConfig, failure::Failure};

/// Uses of the server at a time. Beyond it callers wait within their time: a server that hangs must not collect tasks.
const AT_A_TIME: usize = 12;

/// Longest time for a look at where things stand. Who asks for a user has less, and stops waiting; the projector has time, and
/// must not take a server that is warming up for one that is gone.
pub(super) const LOOK: Duration = Duration::from_secs(5);

/// Runs things on the server.
pub(super) struct Client {
    driver: Config,
    pool: RwLock<Arc<Pool>>,
    places: Arc<Semaphore>,
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
            .max_connections(AT_A_TIME)
            .build()?;
        let pool = RwLock::new(Arc::new(open(&driver)?));
        let places = Arc::new(Semaphore::new(AT_A_TIME));
        Ok(Self { driver, pool, places, query_timeout: config.query_timeout, write_timeout: config.write_timeout })
    }

    /// Whether the server answers.
    pub(super) async fn ping(&self) -> Result<(), Failure> {
        self.read(LOOK, query("RETURN 1 AS one")).await.map(|_| ())
    }

    /// All rows of one statement.
    pub(super) async fn read(&self, within: Duration, statement: Query) -> Result<Vec<Row>, Failure> {
        // A transaction, because the driver repeats a statement outside of one for up to a minute.
        self.transaction(within, |mut txn| async move {
            let rows = rows(&mut txn, statement).await?;
            txn.commit().await?;
            Ok(rows)
        })
        .await
    }

    /// One transaction. What `work` does not commit is undone.
    pub(super) async fn transaction<R, W, F>(&self, within: Duration, work: W) -> Result<R, Failure>
    where
        R: Send + 'static,
        W: FnOnce(Txn) -> F + Send + 'static,
        F: Future<Output = Result<R, Failure>> + Send,
    {
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (used, places) = (pool.clone(), self.places.clone());
        let task = tokio::spawn(async move {
            let whole = async {
                let _place = places.acquire_owned().await.map_err(|_| Failure::Driver("the client is closed"))?;
                work(used.0.start_txn().await?).await
            };
            tokio::time::timeout(within, whole).await.unwrap_or(Err(Failure::Silent(within)))
        });
        let outcome = task.await.unwrap_or(Err(Failure::Driver("it panicked")));
        if outcome.as_ref().is_err_and(Failure::breaks_connections) {
            self.leave(&pool);
        }
        outcome
    }

    /// Takes new connections from now on, unless somebody else already left this pool.
    fn leave(&self, pool: &Arc<Pool>) {
        let mut current = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, pool)
            && let Ok(fresh) = open(&self.driver)
        {
            *current = Arc::new(fresh);
        }
    }
}

/// A pool without connections yet.
fn open(config: &Config) -> Result<Pool, Failure> {
    use futures_util::FutureExt;
    // The driver only checks the address here; it is asynchronous in name.
    let opened = Graph::connect(config.clone()).now_or_never().ok_or(Failure::Driver("it connects too early"))?;
    Ok(Pool(opened?))
}

/// All rows of one statement in a transaction.
pub(super) async fn rows(txn: &mut Txn, statement: Query) -> Result<Vec<Row>, Failure> {
    let mut stream = txn.execute(statement).await?;
    let mut rows = Vec::new();
    while let Some(row) = stream.next(txn.handle()).await? {
        rows.push(row);
    }
    Ok(rows)
}
