//! Answers from the graph engine while it is reachable and up to date, else from the store. The answers are the same; only a
//! metric tells which of them spoke.

use std::{
    collections::BTreeSet,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{sync::OnceCell, time::Instant};

use super::Projection;
use recall_domain::{Caller, EntityId, UserId};
use recall_ports::{
    Checkpoint, GraphCopy, GraphError, GraphQueries, Neighbour, NeighbourQuery, Path, PathQuery, SharedNeighbour, StoreError,
};

/// After a failure the engine is left alone for so long: not every question shall wait for the time-out.
const REST: Duration = Duration::from_secs(5);

/// Users whose graph was found behind or missing, for the projector: nothing else would notice that somebody wiped it.
#[derive(Debug, Default)]
pub struct Missed(Mutex<BTreeSet<UserId>>);

impl Missed {
    /// Those noted since the last call.
    pub(super) fn take(&self) -> BTreeSet<UserId> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, caller: &Caller) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(caller.user());
    }
}

/// Asks the engine first.
pub struct GraphReader {
    projection: Projection,
    engine: Arc<dyn GraphQueries>,
    store: Arc<dyn GraphQueries>,
    within: Duration,
    feed: OnceCell<String>,
    rests_until: Mutex<Option<Instant>>,
    missed: Arc<Missed>,
}

/// Why the engine was not the one that answered.
enum Passed {
    Resting,
    Behind,
    Late,
    Failed(GraphError),
}

impl GraphReader {
    /// Asks `engine`, which `projection` keeps in step, and after `within` or on failure `store`.
    pub fn new(projection: Projection, engine: Arc<dyn GraphQueries>, store: Arc<dyn GraphQueries>, within: Duration) -> Self {
        let (feed, rests_until, missed) = (OnceCell::new(), Mutex::new(None), Arc::new(Missed::default()));
        Self { projection, engine, store, within, feed, rests_until, missed }
    }

    /// Where users are noted whose graph is behind.
    pub fn missed(&self) -> Arc<Missed> {
        self.missed.clone()
    }

    fn rests(&self) -> bool {
        let until = *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|t| Instant::now() < t)
    }

    fn rest(&self) {
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
    }

    /// Where the caller's graph stands, if it holds all that the store held when this was called.
    async fn current(&self, caller: &Caller) -> Result<Option<Checkpoint>, GraphError> {
        let feed = self.feed.get_or_try_init(|| async { self.projection.feed().start().await }).await.map_err(GraphError::from)?;
        let head = self.projection.feed().head(caller).await.map_err(GraphError::from)?;
        let at = self.projection.engine().checkpoint(caller).await?;
        Ok(at.filter(|c| c.feed == *feed && c.position == head))
    }

    async fn ask_engine<T>(&self, caller: &Caller, answer: impl Future<Output = Result<T, GraphError>>) -> Result<T, Passed> {
        if self.rests() {
            return Err(Passed::Resting);
        }
        let asked = async {
            let before = self.current(caller).await?;
            if before.is_none() {
                return Ok(None);
            }
            let answer = answer.await?;
            // An answer takes several reads. If the graph moved meanwhile they are of different moments, or of one half made anew.
            Ok((self.projection.engine().checkpoint(caller).await? == before).then_some(answer))
        };
        match tokio::time::timeout(self.within, asked).await {
            Ok(Ok(answer)) => answer.ok_or(Passed::Behind),
            Ok(Err(e)) => Err(Passed::Failed(e)),
            Err(_) => Err(Passed::Late),
        }
    }

    async fn ask<T>(
        &self,
        caller: &Caller,
        engine: impl Future<Output = Result<T, GraphError>>,
        store: impl Future<Output = Result<T, GraphError>>,
    ) -> Result<T, GraphError> {
        let outcome = match self.ask_engine(caller, engine).await {
            Ok(answer) => {
                metrics::counter!("recall_graph_queries_total", "answered_by" => self.engine.engine(), "outcome" => "ok").increment(1);
                return Ok(answer);
            }
            // The store is asked next and says so itself.
            Err(Passed::Failed(GraphError::Store(StoreError::Permanent(_) | StoreError::Transient(_)))) => "store",
            Err(Passed::Failed(e)) => {
                tracing::warn!(error = %e, "the graph engine did not answer; the store does");
                self.rest();
                "failed"
            }
            Err(Passed::Late) => {
                tracing::warn!("the graph engine did not answer in time; the store does");
                self.rest();
                "late"
            }
            Err(Passed::Behind) => {
                self.missed.note(caller);
                "behind"
            }
            Err(Passed::Resting) => "resting",
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

    async fn around(&self, caller: &Caller, asked: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError> {
        self.ask(caller, self.engine.around(caller, asked), self.store.around(caller, asked)).await
    }

    async fn ways(&self, caller: &Caller, asked: &PathQuery) -> Result<Vec<Path>, GraphError> {
        self.ask(caller, self.engine.ways(caller, asked), self.store.ways(caller, asked)).await
    }

    async fn shared(&self, caller: &Caller, one: EntityId, other: EntityId, first: u32) -> Result<Vec<SharedNeighbour>, GraphError> {
        self.ask(caller, self.engine.shared(caller, one, other, first), self.store.shared(caller, one, other, first)).await
    }

    async fn copy(&self, caller: &Caller) -> Result<Option<GraphCopy>, GraphError> {
        let current = self.current(caller).await?.is_some();
        if !current {
            self.missed.note(caller);
        }
        let (nodes, relationships) = self.projection.engine().size(caller).await?;
        Ok(Some(GraphCopy { nodes, relationships, current }))
    }
}
