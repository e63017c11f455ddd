//! Answers graph queries from the engine while it is reachable and up to date, else from the store.
//!
//! The answers are the same. A metric tells which of the two answered.

use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::{sync::OnceCell, time::Instant};

use super::Projection;
use recall_domain::{Caller, EntityId, UserId};
use recall_ports::{
    Checkpoint, GraphCopy, GraphError, GraphQueries, Neighbour, NeighbourQuery, Path, PathQuery, SharedNeighbour, StoreError,
};

/// Time after a failure in which the engine is not queried, so that not every query waits for the timeout.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Users whose graph a query found behind or missing. The projector updates them.
#[derive(Debug, Default)]
pub struct Missed(Mutex<BTreeSet<UserId>>);

impl Missed {
    /// Returns and removes all users.
    pub(super) fn take(&self) -> BTreeSet<UserId> {
        std::mem::take(&mut *self.0.lock())
    }

    fn add(&self, caller: &Caller) {
        self.0.lock().insert(caller.user());
    }
}

/// Queries the engine first, then the store.
pub struct GraphReader {
    projection: Projection,
    engine: Arc<dyn GraphQueries>,
    store: Arc<dyn GraphQueries>,
    timeout: Duration,
    feed: OnceCell<String>,
    paused_until: Mutex<Option<Instant>>,
    missed: Arc<Missed>,
}

/// Why the engine did not answer.
enum NotAnswered {
    Paused,
    Behind,
    TimedOut,
    Failed(GraphError),
}

impl GraphReader {
    /// Queries `engine`, which `projection` updates; on a failure or after `timeout`, queries `store`.
    pub fn new(projection: Projection, engine: Arc<dyn GraphQueries>, store: Arc<dyn GraphQueries>, timeout: Duration) -> Self {
        let (feed, paused_until, missed) = (OnceCell::new(), Mutex::new(None), Arc::new(Missed::default()));
        Self { projection, engine, store, timeout, feed, paused_until, missed }
    }

    /// Returns the set of users whose graph was found behind.
    pub fn missed(&self) -> Arc<Missed> {
        self.missed.clone()
    }

    fn is_paused(&self) -> bool {
        let until = *self.paused_until.lock();
        until.is_some_and(|t| Instant::now() < t)
    }

    fn pause(&self) {
        *self.paused_until.lock() = Some(Instant::now() + PAUSE_AFTER_FAILURE);
    }

    /// Returns the checkpoint of the caller's graph, if it is up to date with the store.
    async fn current_checkpoint(&self, caller: &Caller) -> Result<Option<Checkpoint>, GraphError> {
        let feed = self.feed.get_or_try_init(|| self.projection.feed_name()).await.map_err(GraphError::from)?;
        let head = self.projection.feed().head(caller).await.map_err(GraphError::from)?;
        let at = self.projection.engine().checkpoint(caller).await?;
        Ok(at.filter(|c| c.feed == *feed && c.position == head))
    }

    async fn query_engine<T>(&self, caller: &Caller, answer: impl Future<Output = Result<T, GraphError>>) -> Result<T, NotAnswered> {
        if self.is_paused() {
            return Err(NotAnswered::Paused);
        }
        let query = async {
            let before = self.current_checkpoint(caller).await?;
            if before.is_none() {
                return Ok(None);
            }
            let answer = answer.await?;
            // An answer takes several reads. If the graph changed meanwhile, they do not belong together.
            Ok((self.projection.engine().checkpoint(caller).await? == before).then_some(answer))
        };
        match tokio::time::timeout(self.timeout, query).await {
            Ok(Ok(answer)) => answer.ok_or(NotAnswered::Behind),
            Ok(Err(e)) => Err(NotAnswered::Failed(e)),
            Err(_) => Err(NotAnswered::TimedOut),
        }
    }

    async fn query<T>(
        &self,
        caller: &Caller,
        engine: impl Future<Output = Result<T, GraphError>>,
        store: impl Future<Output = Result<T, GraphError>>,
    ) -> Result<T, GraphError> {
        let outcome = match self.query_engine(caller, engine).await {
            Ok(answer) => {
                metrics::counter!("recall_graph_queries_total", "answered_by" => self.engine.engine(), "outcome" => "ok").increment(1);
                return Ok(answer);
            }
            // The store failed. It is queried next and reports its own error.
            Err(NotAnswered::Failed(GraphError::Store(StoreError::Permanent(_) | StoreError::Transient(_)))) => "store",
            Err(NotAnswered::Failed(e)) => {
                tracing::warn!(error = %e, "the graph engine failed; the store answers");
                self.pause();
                "failed"
            }
            Err(NotAnswered::TimedOut) => {
                tracing::warn!("the graph engine did not answer in time; the store answers");
                self.pause();
                "late"
            }
            Err(NotAnswered::Behind) => {
                self.missed.add(caller);
                "behind"
            }
            Err(NotAnswered::Paused) => "resting",
        };
        metrics::counter!("recall_graph_queries_total", "answered_by" => self.store.engine(), "outcome" => outcome).increment(1);
        store.await
    }
}

#[async_trait]
impl GraphQueries for GraphReader {
    fn engine(&self) -> &'static str {
        self.engine.engine()
    }

    async fn around(&self, caller: &Caller, query: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError> {
        self.query(caller, self.engine.around(caller, query), self.store.around(caller, query)).await
    }

    async fn ways(&self, caller: &Caller, query: &PathQuery) -> Result<Vec<Path>, GraphError> {
        self.query(caller, self.engine.ways(caller, query), self.store.ways(caller, query)).await
    }

    async fn shared(&self, caller: &Caller, one: EntityId, other: EntityId, first: u32) -> Result<Vec<SharedNeighbour>, GraphError> {
        self.query(caller, self.engine.shared(caller, one, other, first), self.store.shared(caller, one, other, first)).await
    }

    async fn copy(&self, caller: &Caller) -> Result<Option<GraphCopy>, GraphError> {
        let current = self.current_checkpoint(caller).await?.is_some();
        if !current {
            self.missed.add(caller);
        }
        let (nodes, relationships) = self.projection.engine().size(caller).await?;
        Ok(Some(GraphCopy { nodes, relationships, current }))
    }
}
