//! The loop that follows the feed while the server runs.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{
    GraphStatus, Projection,
    inspector::{Inspected, Inspector},
    reader::Missed,
    step::of,
};
use recall_domain::{Caller, UserId};
use recall_ports::GraphError;

/// Longest time that a change waits to be noticed.
const POLL: Duration = Duration::from_millis(200);
/// Longest wait between two attempts to reach an engine that is gone.
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);
/// When a user whose graph cannot be written is tried again.
const PARKED: Duration = Duration::from_secs(60);

/// Follows the feed until it is shut down.
#[derive(Debug)]
pub struct Projector {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Projector {
    /// Starts following. `missed` are users whose graph a reader found behind; see [`super::GraphReader`].
    pub fn start(projection: Projection, missed: Arc<Missed>, status: Arc<GraphStatus>) -> Self {
        let stop = CancellationToken::new();
        let inspector = Inspector::new(projection.clone());
        let (mark, parked, lost, failed) = (0, HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut following = Following { projection, missed, status, inspector, mark, parked, lost, failed, stop: stop.clone() };
        Self { stop, task: Some(tokio::spawn(async move { following.run().await })) }
    }

    /// Ends after the batch at work, at the latest after `grace`. What is left is done after the next start.
    pub async fn shutdown(mut self, grace: Duration) {
        self.stop.cancel();
        if let Some(mut task) = self.task.take()
            && tokio::time::timeout(grace, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Drop for Projector {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

struct Following {
    projection: Projection,
    missed: Arc<Missed>,
    status: Arc<GraphStatus>,
    inspector: Inspector,
    mark: u64,
    parked: HashMap<Caller, Instant>,
    /// Users whose graph was found to be gone or damaged, and those whose graph could not be written.
    lost: BTreeSet<UserId>,
    failed: BTreeSet<UserId>,
    stop: CancellationToken,
}

impl Following {
    async fn run(&mut self) {
        let mut failures = 0u32;
        while !self.stop.is_cancelled() {
            // Everything from the beginning: the engine that comes back may be empty, or another one.
            self.mark = 0;
            let outcome = match self.projection.prepare().await {
                Ok(feed) => {
                    metrics::gauge!("recall_graph_up").set(1.0);
                    info!("the graph engine is followed");
                    failures = 0;
                    self.follow(&feed).await
                }
                Err(e) => Err(e),
            };
            if let Err(e) = outcome {
                metrics::gauge!("recall_graph_up").set(0.0);
                // Once and not at every attempt of an hour.
                if failures == 0 {
                    warn!(error = %e, "the graph engine cannot be followed; facts are read from the store, and it is tried again");
                }
                failures += 1;
                let pause = (Duration::from_millis(250) * 2u32.saturating_pow(failures.min(10))).min(LONGEST_BACKOFF);
                self.pause(pause).await;
            }
        }
    }

    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = sleep(time) => {}
        }
    }

    /// Returns when the engine cannot be used any more, when its graph was wiped, or at the end.
    async fn follow(&mut self, feed: &str) -> Result<(), GraphError> {
        self.lost.extend(self.inspector.begin(feed).await?);
        self.status.found(self.behind());
        loop {
            let started = Instant::now();
            let (users, mark) = self.projection.feed().users_after(self.mark).await?;
            let due: Vec<Caller> = self.parked.iter().filter(|(_, at)| **at <= started).map(|(c, _)| *c).collect();
            let lost: Vec<UserId> = self.missed.take().into_iter().chain(self.lost.iter().copied()).collect();
            let (mut told, mut asked) = (0, HashSet::new());
            for caller in users.into_iter().chain(lost.into_iter().map(of)).chain(due) {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                let is_parked = self.parked.get(&caller).is_some_and(|at| *at > started);
                if !is_parked && asked.insert(caller.user()) {
                    told += self.user(feed, &caller).await?;
                }
            }
            // Only now: what failed before is looked at again from the old mark.
            self.mark = mark;
            self.status.told(started, self.behind());
            match self.inspector.inspect(feed).await? {
                Inspected::Wiped => {
                    warn!("the graph was wiped or replaced, and is made again");
                    return Ok(());
                }
                Inspected::Lost(users) if users.is_empty() => {}
                Inspected::Lost(users) => {
                    info!(users = users.len(), "graphs of users are missing or damaged, and are made again");
                    self.lost.extend(users);
                    self.status.found(self.behind());
                }
            }
            if told == 0 {
                self.pause(POLL).await;
            }
            if self.stop.is_cancelled() {
                return Ok(());
            }
        }
    }

    /// How many users have a graph that is known to be missing or behind. One that another server is at is in good hands.
    fn behind(&self) -> usize {
        self.lost.union(&self.failed).count()
    }

    /// How many changes were told. One user's trouble must not hold up the others; only an engine or a store that is gone ends the
    /// round.
    async fn user(&mut self, feed: &str, caller: &Caller) -> Result<u64, GraphError> {
        let outcome = match self.projection.catch_up(feed, caller).await {
            Err(GraphError::Failed(e)) => {
                warn!(error = %e, user = %caller.user(), "a graph could not be written and is made anew");
                match self.projection.engine().begin(caller, feed).await {
                    Ok(()) => self.projection.catch_up(feed, caller).await,
                    Err(e) => Err(e),
                }
            }
            outcome => outcome,
        };
        match outcome {
            Ok(told) => {
                self.parked.remove(caller);
                self.lost.remove(&caller.user());
                self.failed.remove(&caller.user());
                Ok(told)
            }
            // Another server is at it; it is looked at again, in case that one stops.
            Err(GraphError::Contended) => {
                self.parked.insert(*caller, Instant::now() + PARKED);
                Ok(0)
            }
            Err(e @ GraphError::Failed(_)) => {
                error!(error = %e, user = %caller.user(), "a graph is left behind for a while");
                self.failed.insert(caller.user());
                self.parked.insert(*caller, Instant::now() + PARKED);
                Ok(0)
            }
            Err(e) => Err(e),
        }
    }
}
