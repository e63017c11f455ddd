//! Updates the graph of one user, and rebuilds the graphs of all users.

use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

use super::batch::to_batch;
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{ChangeFeed, GraphContents, GraphEngine, GraphError, StoreError};

/// The format of the graph: which nodes and relationships it has. Increase it when they change, and every graph is rebuilt.
const FORMAT: u32 = 3;

/// Number of changes per transaction of the engine.
///
/// Large enough that commits do not dominate, small enough for the engine's memory.
const BATCH_SIZE: u32 = 5_000;
/// Attempts after a conflict with other writers: other servers, or batches of other users on the same pages.
const ATTEMPTS: u32 = 10;
/// Attempts of what locks a whole label or graph, about one minute in total: other servers may prepare or rebuild at the same time.
const REBUILD_ATTEMPTS: u32 = 300;
const BACKOFF: Duration = Duration::from_millis(20);
const LONGEST_BACKOFF: Duration = Duration::from_millis(200);

/// A store's change feed and the engine that applies it.
#[derive(Clone)]
pub struct Projection {
    feed: Arc<dyn ChangeFeed>,
    engine: Arc<dyn GraphEngine>,
}

/// Result of a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of users whose graph was rebuilt.
    pub users: u64,
    /// Number of changes sent to the engine.
    pub changes: u64,
}

impl Projection {
    /// Creates the projection of `feed` into `engine`.
    pub fn new(feed: Arc<dyn ChangeFeed>, engine: Arc<dyn GraphEngine>) -> Self {
        Self { feed, engine }
    }

    /// Returns the source.
    pub fn feed(&self) -> &Arc<dyn ChangeFeed> {
        &self.feed
    }

    /// Returns the target.
    pub fn engine(&self) -> &Arc<dyn GraphEngine> {
        &self.engine
    }

    /// Starts the feed, and returns the name that checkpoints have: that of the feed with the format of the graph.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn feed_name(&self) -> Result<String, StoreError> {
        Ok(format!("{}.{FORMAT}", self.feed.start().await?))
    }

    /// Prepares the engine and starts the feed. Returns the name of the feed.
    ///
    /// # Errors
    /// Fails if either cannot be reached.
    pub async fn prepare(&self) -> Result<String, GraphError> {
        retry_conflicts(REBUILD_ATTEMPTS, || self.engine.prepare()).await?;
        Ok(self.feed_name().await?)
    }

    /// Updates the caller's graph and returns the number of changes sent.
    ///
    /// # Errors
    /// Fails if either side fails, or if all attempts conflict with other writers.
    pub async fn catch_up(&self, feed: &str, caller: &Caller) -> Result<u64, GraphError> {
        retry_conflicts(ATTEMPTS, || self.try_to_catch_up(feed, caller)).await
    }

    async fn try_to_catch_up(&self, feed: &str, caller: &Caller) -> Result<u64, GraphError> {
        let head = self.feed.head(caller).await?;
        let (mut position, is_new) = match self.engine.checkpoint(caller).await? {
            // A graph ahead of the store was made before a backup of the store was restored.
            Some(c) if c.feed == feed && c.position <= head => (c.position, false),
            _ => {
                self.engine.begin(caller, feed).await?;
                (0, true)
            }
        };
        let (mut sent, mut changes) = (0, self.feed.changes(caller, position, BATCH_SIZE).await?);
        while !changes.is_empty() {
            let count = changes.len() as u64;
            let mut batch = to_batch(position, changes);
            // The feed lists a thing once, with its latest change. Later changes come after this head.
            batch.fresh = is_new && batch.upto <= head;
            let started = tokio::time::Instant::now();
            // The store reads the next page while the engine writes.
            let (applied, next) =
                futures_util::future::join(self.engine.apply(caller, feed, &batch), self.feed.changes(caller, batch.upto, BATCH_SIZE))
                    .await;
            applied?;
            metrics::histogram!("recall_graph_batch_seconds").record(started.elapsed().as_secs_f64());
            metrics::counter!("recall_graph_changes_total").increment(count);
            sent += count;
            position = batch.upto;
            changes = next?;
        }
        Ok(sent)
    }

    /// Rebuilds the graphs of all users, and removes those of users that the store does not know.
    ///
    /// # Errors
    /// Fails if either side fails.
    pub async fn rebuild(&self) -> Result<Rebuilt, GraphError> {
        let feed = self.prepare().await?;
        for caller in self.engine.users().await?.into_iter().map(caller_for) {
            retry_conflicts(REBUILD_ATTEMPTS, || self.engine.wipe(&caller)).await?;
        }
        let mut rebuilt = Rebuilt::default();
        for caller in self.feed.users_after(0).await?.0 {
            rebuilt.changes += retry_conflicts(REBUILD_ATTEMPTS, || self.try_to_catch_up(&feed, &caller)).await?;
            rebuilt.users += 1;
        }
        Ok(rebuilt)
    }

    /// Returns all users of either side.
    pub(super) async fn users_of_both(&self) -> Result<Vec<Caller>, GraphError> {
        let mut all: BTreeSet<UserId> = self.feed.users_after(0).await?.0.iter().map(Caller::user).collect();
        all.extend(self.engine.users().await?);
        Ok(all.into_iter().map(caller_for).collect())
    }

    /// Returns the contents that the caller's graph should have, each kind sorted by id.
    pub(super) async fn expected_contents(&self, caller: &Caller) -> Result<GraphContents, GraphError> {
        let (mut truth, mut position) = (GraphContents::default(), 0);
        loop {
            let changes = self.feed.changes(caller, position, BATCH_SIZE).await?;
            if changes.is_empty() {
                break;
            }
            let next = to_batch(position, changes);
            position = next.upto;
            truth.sessions.extend(next.sessions);
            truth.entities.extend(next.entities);
            truth.messages.extend(next.messages);
            truth.documents.extend(next.documents);
            truth.chunks.extend(next.chunks);
            truth.topics.extend(next.topics);
            truth.facts.extend(next.facts);
        }
        truth.sessions.sort_by_key(|s| s.id);
        truth.entities.sort_by_key(|e| e.id);
        truth.messages.sort_by_key(|m| m.id);
        truth.documents.sort_by_key(|d| d.id);
        truth.chunks.sort_by_key(|c| c.id);
        truth.topics.sort_by_key(|t| t.id);
        truth.facts.sort_by_key(|f| f.id);
        Ok(truth)
    }
}

/// Runs `work` again after each conflict with another writer, up to `attempts` times.
async fn retry_conflicts<T, F: Future<Output = Result<T, GraphError>>>(
    attempts: u32,
    mut work: impl FnMut() -> F,
) -> Result<T, GraphError> {
    let mut attempt = 1;
    loop {
        match work().await {
            Err(GraphError::Contended) if attempt < attempts => {
                tokio::time::sleep((BACKOFF * attempt).min(LONGEST_BACKOFF)).await;
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Returns the caller of a user.
pub(super) fn caller_for(user: UserId) -> Caller {
    Caller::verified(user, ViewerRole::User)
}
