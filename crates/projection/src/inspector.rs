//! Detects damage to the graph: a wiped graph, missing or foreign checkpoints, and missing things.
//!
//! No notification reports such damage, so the inspector polls. It reads the marker every two seconds, all checkpoints
//! less often, and counts nodes and relationships on both sides for one user after the other. Pauses limit its load.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{Projection, projection::caller_for};
use recall_domain::{Caller, UserId};
use recall_ports::GraphError;

/// Interval of reading the marker.
const MARKER: Duration = Duration::from_secs(2);
/// Shortest interval of reading all checkpoints.
const CHECKPOINTS: Duration = Duration::from_secs(10);
/// Shortest interval of counting one user.
const COUNT: Duration = Duration::from_millis(200);
/// A check is followed by a pause of this many times its duration.
const PAUSE_FACTOR: u32 = 10;

/// The result of an inspection.
pub(super) enum Inspection {
    /// The graph is empty or was made by another process.
    Wiped,
    /// Users whose graph is missing, of another feed, or incomplete. The rest of an incomplete graph was removed.
    Damaged(Vec<UserId>),
}

/// Inspects the graph at intervals.
pub(super) struct Inspector {
    projection: Projection,
    marker: Option<String>,
    marker_due: Instant,
    checkpoints_due: Instant,
    count_due: Instant,
    /// Users still to be counted.
    uncounted: VecDeque<UserId>,
    /// The user whose graph was last rebuilt for a wrong count, and its position. Another rebuild would not help.
    last_rebuilt: Option<(UserId, u64)>,
}

impl Inspector {
    pub(super) fn new(projection: Projection) -> Self {
        let now = Instant::now();
        let (marker_due, checkpoints_due, count_due) = (now, now, now);
        Self { projection, marker: None, marker_due, checkpoints_due, count_due, uncounted: VecDeque::new(), last_rebuilt: None }
    }

    /// Reads the marker and returns the users whose graph is missing or of another feed.
    pub(super) async fn begin(&mut self, feed: &str) -> Result<Vec<UserId>, GraphError> {
        self.marker = self.projection.engine().marker().await?;
        self.checkpoints_due = Instant::now() + CHECKPOINTS;
        self.find_without_checkpoint(feed).await
    }

    /// Runs the checks that are due.
    pub(super) async fn inspect(&mut self, feed: &str) -> Result<Inspection, GraphError> {
        let started = Instant::now();
        if started >= self.marker_due {
            if self.projection.engine().marker().await? != self.marker {
                return Ok(Inspection::Wiped);
            }
            self.marker_due = started + MARKER;
        }
        let mut damaged = Vec::new();
        if started >= self.checkpoints_due {
            damaged = self.find_without_checkpoint(feed).await?;
            self.checkpoints_due = Instant::now() + CHECKPOINTS.max(started.elapsed() * PAUSE_FACTOR);
        }
        let started = Instant::now();
        if started >= self.count_due {
            damaged.extend(self.count_next(feed).await?);
            self.count_due = Instant::now() + COUNT.max(started.elapsed() * PAUSE_FACTOR);
        }
        Ok(Inspection::Damaged(damaged))
    }

    /// Returns users with changes and without a checkpoint of this feed.
    async fn find_without_checkpoint(&mut self, feed: &str) -> Result<Vec<UserId>, GraphError> {
        let checkpoints = self.projection.engine().checkpoints().await?;
        let users: Vec<UserId> = self.projection.feed().users_after(0).await?.0.iter().map(Caller::user).collect();
        if self.uncounted.is_empty() {
            self.uncounted.extend(&users);
        }
        Ok(users.into_iter().filter(|user| checkpoints.get(user).is_none_or(|at| at.feed != feed)).collect())
    }

    /// Counts one user on both sides, and clears a graph that is up to date but has another size than the store.
    ///
    /// Returns the user if the graph was cleared.
    async fn count_next(&mut self, feed: &str) -> Result<Option<UserId>, GraphError> {
        let Some(user) = self.uncounted.pop_front() else { return Ok(None) };
        let caller = caller_for(user);
        let Some(before) = self.current_position(feed, &caller).await? else { return Ok(None) };
        let (here, there) = (self.projection.feed().size(&caller).await?, self.projection.engine().size(&caller).await?);
        if here == there || self.current_position(feed, &caller).await? != Some(before) {
            return Ok(None);
        }
        if self.last_rebuilt.replace((user, before)) == Some((user, before)) {
            tracing::error!(%user, ?here, ?there, "a rebuilt graph still differs in size from the store");
            return Ok(None);
        }
        match self.projection.engine().wipe(&caller).await {
            // The rebuilt graph is counted again soon.
            Ok(()) => self.uncounted.push_back(user),
            Err(GraphError::Contended) => return Ok(None),
            Err(e) => return Err(e),
        }
        Ok(Some(user))
    }

    /// Returns the position of a graph that is up to date with the store.
    async fn current_position(&self, feed: &str, caller: &Caller) -> Result<Option<u64>, GraphError> {
        let at = self.projection.engine().checkpoint(caller).await?;
        let head = self.projection.feed().head(caller).await?;
        Ok(at.filter(|at| at.feed == feed && at.position == head).map(|at| at.position))
    }
}
