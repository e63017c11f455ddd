//! Notices what somebody did to the graph while the engine stayed there: all of it wiped, checkpoints gone or foreign, things gone.
//!
//! Nothing tells of that, so it is looked for: at the marker every other second, at all checkpoints now and then, and at one user
//! after the other, whose nodes and relationships are counted on both sides. What that costs is kept to a share of the time.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{Projection, step::of};
use recall_domain::{Caller, UserId};
use recall_ports::GraphError;

/// How often the marker is looked at.
const MARKER: Duration = Duration::from_secs(2);
/// How often all checkpoints are looked at, and one user is counted, at most.
const CHECKPOINTS: Duration = Duration::from_secs(10);
const COUNT: Duration = Duration::from_millis(200);
/// A look that took some time is followed by so many times as long without one.
const REST: u32 = 10;

/// What was found.
pub(super) enum Inspected {
    /// All that is there was made by another, or nothing is there.
    Wiped,
    /// Users whose graph is missing, of another feed, or lacks things. What is left of it was removed.
    Lost(Vec<UserId>),
}

/// Looks at the graph now and then.
pub(super) struct Inspector {
    projection: Projection,
    marker: Option<String>,
    marker_due: Instant,
    checkpoints_due: Instant,
    count_due: Instant,
    /// Users that are still to be counted.
    uncounted: VecDeque<UserId>,
    /// Whose graph was made again and still did not fit, at which position: another time would not help.
    hopeless: Option<(UserId, u64)>,
}

impl Inspector {
    pub(super) fn new(projection: Projection) -> Self {
        let now = Instant::now();
        let (marker_due, checkpoints_due, count_due) = (now, now, now);
        Self { projection, marker: None, marker_due, checkpoints_due, count_due, uncounted: VecDeque::new(), hopeless: None }
    }

    /// Remembers whose graph it is; users whose graph is missing or of another feed.
    pub(super) async fn begin(&mut self, feed: &str) -> Result<Vec<UserId>, GraphError> {
        self.marker = self.projection.engine().marker().await?;
        self.checkpoints_due = Instant::now() + CHECKPOINTS;
        self.without_checkpoint(feed).await
    }

    /// Looks at whatever is due.
    pub(super) async fn inspect(&mut self, feed: &str) -> Result<Inspected, GraphError> {
        let started = Instant::now();
        if started >= self.marker_due {
            if self.projection.engine().marker().await? != self.marker {
                return Ok(Inspected::Wiped);
            }
            self.marker_due = started + MARKER;
        }
        let mut lost = Vec::new();
        if started >= self.checkpoints_due {
            lost = self.without_checkpoint(feed).await?;
            self.checkpoints_due = Instant::now() + CHECKPOINTS.max(started.elapsed() * REST);
        }
        let started = Instant::now();
        if started >= self.count_due {
            lost.extend(self.count_next(feed).await?);
            self.count_due = Instant::now() + COUNT.max(started.elapsed() * REST);
        }
        Ok(Inspected::Lost(lost))
    }

    /// Users with changes and without a checkpoint of this feed.
    async fn without_checkpoint(&mut self, feed: &str) -> Result<Vec<UserId>, GraphError> {
        let there = self.projection.engine().checkpoints().await?;
        let users: Vec<UserId> = self.projection.feed().users_after(0).await?.0.iter().map(Caller::user).collect();
        if self.uncounted.is_empty() {
            self.uncounted.extend(&users);
        }
        Ok(users.into_iter().filter(|user| there.get(user).is_none_or(|at| at.feed != feed)).collect())
    }

    /// Counts one user on both sides. A graph that knows of every change and does not have as much as the store is cleared.
    async fn count_next(&mut self, feed: &str) -> Result<Option<UserId>, GraphError> {
        let Some(user) = self.uncounted.pop_front() else { return Ok(None) };
        let caller = of(user);
        let Some(before) = self.current(feed, &caller).await? else { return Ok(None) };
        let (here, there) = (self.projection.feed().size(&caller).await?, self.projection.engine().size(&caller).await?);
        if here == there || self.current(feed, &caller).await? != Some(before) {
            return Ok(None);
        }
        if self.hopeless.replace((user, before)) == Some((user, before)) {
            tracing::error!(%user, ?here, ?there, "a graph that was made again does not have what the store has");
            return Ok(None);
        }
        match self.projection.engine().wipe(&caller).await {
            // Looked at again soon: whether it fits now.
            Ok(()) => self.uncounted.push_back(user),
            Err(GraphError::Contended) => return Ok(None),
            Err(e) => return Err(e),
        }
        Ok(Some(user))
    }

    /// The position of a graph that knows of every change in the store.
    async fn current(&self, feed: &str, caller: &Caller) -> Result<Option<u64>, GraphError> {
        let at = self.projection.engine().checkpoint(caller).await?;
        let head = self.projection.feed().head(caller).await?;
        Ok(at.filter(|at| at.feed == feed && at.position == head).map(|at| at.position))
    }
}
