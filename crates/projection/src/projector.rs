//! The background task that applies changes to the graph engine.

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
    inspector::{Inspection, Inspector},
    projection::caller_for,
    reader::Missed,
};
use recall_domain::{Caller, UserId};
use recall_ports::GraphError;

/// Interval of polling for changes.
const POLL: Duration = Duration::from_millis(200);
/// Longest pause between two attempts to reach the engine.
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);
/// Time until a user whose graph could not be written is retried.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Applies changes to the graph engine until it is shut down.
#[derive(Debug)]
pub struct Projector {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Projector {
    /// Starts the task. `missed` are users whose graph a [`super::GraphReader`] found behind.
    pub fn start(projection: Projection, missed: Arc<Missed>, status: Arc<GraphStatus>) -> Self {
        let stop = CancellationToken::new();
        let inspector = Inspector::new(projection.clone());
        let (mark, parked, damaged, failed) = (0, HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut task = ProjectorTask { projection, missed, status, inspector, mark, parked, damaged, failed, stop: stop.clone() };
        Self { stop, task: Some(tokio::spawn(async move { task.run().await })) }
    }

    /// Stops after the current batch, at the latest after `grace`. The next start resumes with the remaining changes.
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

struct ProjectorTask {
    projection: Projection,
    missed: Arc<Missed>,
    status: Arc<GraphStatus>,
    inspector: Inspector,
    /// Position up to which the list of changed users was read.
    mark: u64,
    /// Users to skip until a time.
    parked: HashMap<Caller, Instant>,
    /// Users whose graph is missing or damaged.
    damaged: BTreeSet<UserId>,
    /// Users whose graph could not be written.
    failed: BTreeSet<UserId>,
    stop: CancellationToken,
}

impl ProjectorTask {
    async fn run(&mut self) {
        let mut failures = 0u32;
        while !self.stop.is_cancelled() {
            // Starts from the beginning, because the engine may be empty or another one after a reconnect.
            self.mark = 0;
            let outcome = match self.projection.prepare().await {
                Ok(feed) => {
                    metrics::gauge!("recall_graph_up").set(1.0);
                    info!("connected to the graph engine");
                    failures = 0;
                    self.follow(&feed).await
                }
                Err(e) => Err(e),
            };
            if let Err(e) = outcome {
                metrics::gauge!("recall_graph_up").set(0.0);
                // Logged once and not at every attempt.
                if failures == 0 {
                    warn!(error = %e, "the graph engine is not available; facts are read from the store until it is");
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

    /// Applies changes until the engine fails, its graph was wiped, or the task is stopped.
    async fn follow(&mut self, feed: &str) -> Result<(), GraphError> {
        self.damaged.extend(self.inspector.begin(feed).await?);
        self.status.set_behind(self.count_behind());
        loop {
            let started = Instant::now();
            let (users, mark) = self.projection.feed().users_after(self.mark).await?;
            let due: Vec<Caller> = self.parked.iter().filter(|(_, at)| **at <= started).map(|(c, _)| *c).collect();
            let damaged: Vec<UserId> = self.missed.take().into_iter().chain(self.damaged.iter().copied()).collect();
            let (mut sent, mut visited) = (0, HashSet::new());
            for caller in users.into_iter().chain(damaged.into_iter().map(caller_for)).chain(due) {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                let is_parked = self.parked.get(&caller).is_some_and(|at| *at > started);
                if !is_parked && visited.insert(caller.user()) {
                    sent += self.update_user(feed, &caller).await?;
                }
            }
            // The mark moves only now, so that a failed round starts again from the old mark.
            self.mark = mark;
            self.status.record_round(started, self.count_behind());
            match self.inspector.inspect(feed).await? {
                Inspection::Wiped => {
                    warn!("the graph was wiped or replaced and will be rebuilt");
                    return Ok(());
                }
                Inspection::Damaged(users) if users.is_empty() => {}
                Inspection::Damaged(users) => {
                    info!(users = users.len(), "graphs of users are missing or damaged and will be rebuilt");
                    self.damaged.extend(users);
                    self.status.set_behind(self.count_behind());
                }
            }
            if sent == 0 {
                self.pause(POLL).await;
            }
            if self.stop.is_cancelled() {
                return Ok(());
            }
        }
    }

    /// Counts the users whose graph is missing or behind. Users that another server updates do not count.
    fn count_behind(&self) -> usize {
        self.damaged.union(&self.failed).count()
    }

    /// Updates the graph of one user and returns the number of changes sent.
    ///
    /// A failure of one user does not stop the others. Only an unavailable engine or store is an error.
    async fn update_user(&mut self, feed: &str, caller: &Caller) -> Result<u64, GraphError> {
        let outcome = match self.projection.catch_up(feed, caller).await {
            Err(GraphError::Failed(e)) => {
                warn!(error = %e, user = %caller.user(), "a graph could not be written and is rebuilt");
                match self.projection.engine().begin(caller, feed).await {
                    Ok(()) => self.projection.catch_up(feed, caller).await,
                    Err(e) => Err(e),
                }
            }
            outcome => outcome,
        };
        match outcome {
            Ok(sent) => {
                self.parked.remove(caller);
                self.damaged.remove(&caller.user());
                self.failed.remove(&caller.user());
                Ok(sent)
            }
            // Another server updates it. This one checks again later, in case the other stops.
            Err(GraphError::Contended) => {
                self.parked.insert(*caller, Instant::now() + RETRY_AFTER);
                Ok(0)
            }
            Err(e @ GraphError::Failed(_)) => {
                error!(error = %e, user = %caller.user(), "a graph could not be rebuilt and stays behind until the next attempt");
                self.failed.insert(caller.user());
                self.parked.insert(*caller, Instant::now() + RETRY_AFTER);
                Ok(0)
            }
            Err(e) => Err(e),
        }
    }
}
