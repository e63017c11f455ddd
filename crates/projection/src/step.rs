//! Bringing the graph of one user up to date, and all of them anew.

use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

use super::batch::batch;
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{ChangeFeed, GraphContents, GraphEngine, GraphError};

/// Changes in one transaction of the engine: large enough that its disk does not set the pace, small enough for its memory.
const BATCH: u32 = 5_000;
/// Attempts while other writers are in the way: other instances, and other users' batches on the same pages.
const ATTEMPTS: u32 = 10;
/// Attempts of a rebuild, a minute in all: a server that runs meanwhile finds the graph gone and makes it, too.
const AT_ONCE_WITH_A_SERVER: u32 = 300;
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// A store's feed and an engine that follows it.
#[derive(Clone)]
pub struct Projection {
    feed: Arc<dyn ChangeFeed>,
    engine: Arc<dyn GraphEngine>,
}

/// What a rebuild did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Users whose graph was made.
    pub users: u64,
    /// Things told to the engine.
    pub changes: u64,
}

impl Projection {
    /// The projection of `feed` into `engine`.
    pub fn new(feed: Arc<dyn ChangeFeed>, engine: Arc<dyn GraphEngine>) -> Self {
        Self { feed, engine }
    }

    /// The source.
    pub fn feed(&self) -> &Arc<dyn ChangeFeed> {
        &self.feed
    }

    /// The copy.
    pub fn engine(&self) -> &Arc<dyn GraphEngine> {
        &self.engine
    }

    /// Makes the engine ready and the feed record. Returns the name of the feed.
    ///
    /// # Errors
    /// When either cannot be reached.
    pub async fn prepare(&self) -> Result<String, GraphError> {
        while_contended(ATTEMPTS, || self.engine.prepare()).await?;
        Ok(self.feed.start().await?)
    }

    /// Brings the caller's graph up to date. Returns how many changes that took.
    ///
    /// # Errors
    /// When either side fails, or other writers stay in the way.
    pub async fn catch_up(&self, feed: &str, caller: &Caller) -> Result<u64, GraphError> {
        while_contended(ATTEMPTS, || self.try_to_catch_up(feed, caller)).await
    }

    async fn try_to_catch_up(&self, feed: &str, caller: &Caller) -> Result<u64, GraphError> {
        let head = self.feed.head(caller).await?;
        let (mut position, begun) = match self.engine.checkpoint(caller).await? {
            // Ahead of the store is what was made from another past of it, such as before a backup was restored.
            Some(c) if c.feed == feed && c.position <= head => (c.position, false),
            _ => {
                self.engine.begin(caller, feed).await?;
                (0, true)
            }
        };
        let (mut told, mut changes) = (0, self.feed.changes(caller, position, BATCH).await?);
        while !changes.is_empty() {
            let count = changes.len() as u64;
            let mut batch = batch(position, changes);
            // The feed lists a thing once; what changes again from now on comes after this head.
            batch.fresh = begun && batch.upto <= head;
            let started = tokio::time::Instant::now();
            // The store reads on while the engine writes.
            let (applied, next) =
                futures_util::future::join(self.engine.apply(caller, feed, &batch), self.feed.changes(caller, batch.upto, BATCH)).await;
            applied?;
            metrics::histogram!("recall_graph_batch_seconds").record(started.elapsed().as_secs_f64());
            metrics::counter!("recall_graph_changes_total").increment(count);
            told += count;
            position = batch.upto;
            changes = next?;
        }
        Ok(told)
    }

    /// Makes the graphs of all users anew, and removes those of users that the store does not know.
    ///
    /// # Errors
    /// When either side fails.
    pub async fn rebuild(&self) -> Result<Rebuilt, GraphError> {
        let feed = self.prepare().await?;
        for caller in self.engine.users().await?.into_iter().map(of) {
            while_contended(AT_ONCE_WITH_A_SERVER, || self.engine.wipe(&caller)).await?;
        }
        let mut done = Rebuilt::default();
        for caller in self.feed.users_after(0).await?.0 {
            done.changes += while_contended(AT_ONCE_WITH_A_SERVER, || self.try_to_catch_up(&feed, &caller)).await?;
            done.users += 1;
        }
        Ok(done)
    }

    /// All users of either side.
    pub(super) async fn users_of_both(&self) -> Result<Vec<Caller>, GraphError> {
        let mut all: BTreeSet<UserId> = self.feed.users_after(0).await?.0.iter().map(Caller::user).collect();
        all.extend(self.engine.users().await?);
        Ok(all.into_iter().map(of).collect())
    }

    /// What the graph of the caller should hold, each kind by id.
    pub(super) async fn truth(&self, caller: &Caller) -> Result<GraphContents, GraphError> {
        let (mut truth, mut position) = (GraphContents::default(), 0);
        loop {
            let changes = self.feed.changes(caller, position, BATCH).await?;
            if changes.is_empty() {
                break;
            }
            let next = batch(position, changes);
            position = next.upto;
            truth.sessions.extend(next.sessions);
            truth.entities.extend(next.entities);
            truth.messages.extend(next.messages);
            truth.facts.extend(next.facts);
        }
        truth.sessions.sort_by_key(|s| s.id);
        truth.entities.sort_by_key(|e| e.id);
        truth.messages.sort_by_key(|m| m.id);
        truth.facts.sort_by_key(|f| f.id);
        Ok(truth)
    }
}

async fn while_contended<T, F: Future<Output = Result<T, GraphError>>>(
    attempts: u32,
    mut work: impl FnMut() -> F,
) -> Result<T, GraphError> {
    let mut attempt = 1;
    loop {
        match work().await {
            Err(GraphError::Contended) if attempt < attempts => {
                tokio::time::sleep((PAUSE * attempt).min(LONGEST_PAUSE)).await;
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

/// The caller that a user is.
pub(super) fn of(user: UserId) -> Caller {
    Caller::verified(user, ViewerRole::User)
}
