//! The durable job queue, the numbered event logs, and inspection for operators.

use std::{sync::Weak, time::Duration};

use async_trait::async_trait;

use super::{CommitError, CommitListener, StoreError};
use recall_domain::{Caller, EventDraft, MessageId, SessionId, StoredEvent, Timestamp, UserId};

/// The work of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobWork {
    /// Extract a message's facts.
    Understand {
        /// The message.
        message: MessageId,
        /// Whether to answer the message if it is a question.
        answer: bool,
    },
    /// Answer a question.
    Answer(MessageId),
    /// Parse the document whose first message this is, and store its chunks.
    Parse(MessageId),
    /// Compare the documents of the comparison whose first message this is.
    Compare(MessageId),
}

/// A claimed job. The claim is valid until its lease expires.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Proof of the claim.
    pub claim: Claim,
    /// The user that it belongs to.
    pub caller: Caller,
    /// The session.
    pub session: SessionId,
    /// The work.
    pub work: JobWork,
    /// Number of claims, this one included.
    pub attempts: u32,
    /// When it was queued.
    pub queued_at: Timestamp,
}

/// A lease on a job. The token makes a late commit fail after another worker claimed the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The job.
    pub job: u64,
    /// Fencing token; changes with every claim.
    pub token: u64,
}

/// The durable queue.
///
/// Jobs of one session and one kind are handed out in order, one at a time. Jobs of different sessions run concurrently. Jobs are
/// delivered at least once and take effect once, because commits check the claim.
///
/// `now` is the time of the calling process. A store shared by several processes uses a common clock for jobs and leases. Otherwise a
/// process with a fast clock would take jobs that others hold, and its own jobs would wait.
#[async_trait]
pub trait JobQueue: Send + Sync {
    /// Claims up to `limit` due jobs. A job with an expired lease is due again.
    async fn claim(&self, now: Timestamp, lease: Duration, limit: u32) -> Result<Vec<Job>, StoreError>;
    /// Extends a lease; returns false if the claim was lost.
    async fn extend(&self, claim: &Claim, now: Timestamp, lease: Duration) -> Result<bool, StoreError>;
    /// Releases the jobs of an earlier process; called once at start, before the first claim. Returns their number.
    ///
    /// A store with a single process makes those jobs due. A shared store does nothing and lets the leases expire.
    async fn recover(&self, now: Timestamp) -> Result<u64, StoreError>;
    /// Returns a job, to be retried after `delay`. `code` tells operators the reason.
    async fn retry(&self, claim: &Claim, now: Timestamp, delay: Duration, code: &str) -> Result<(), CommitError>;
    /// Releases jobs on shutdown; the attempt does not count.
    async fn release(&self, claims: &[Claim]) -> Result<(), StoreError>;
    /// Releases the jobs that the queue assigns to this process but that the process does not run. Returns their number.
    ///
    /// These are claims that were committed but not confirmed, and jobs whose release failed. The attempt does not count. `held` contains
    /// all jobs that the process runs.
    async fn release_lost(&self, held: &[Claim], now: Timestamp) -> Result<u64, StoreError>;
    /// Marks a job dead: the message becomes `failed` (for `Understand`), the event is written, and the queue continues.
    async fn bury(&self, caller: &Caller, claim: &Claim, event: &EventDraft, code: &str, now: Timestamp) -> Result<(), CommitError>;
    /// Cancels the answer to a question and writes the event.
    ///
    /// This works while the job waits or runs, and before the message is understood. The claim of a running worker becomes void. Returns
    /// false, and writes nothing, if there is nothing to cancel.
    async fn cancel_answer(&self, caller: &Caller, question: MessageId, event: &EventDraft, now: Timestamp) -> Result<bool, StoreError>;
    /// Returns the time until the next job is due; zero if one is due.
    async fn next_due(&self, now: Timestamp) -> Result<Option<Duration>, StoreError>;
    /// Counts live jobs, and dead jobs.
    async fn depth(&self) -> Result<(u64, u64), StoreError>;
    /// Returns the age of the oldest unfinished job.
    async fn oldest(&self, now: Timestamp) -> Result<Option<Duration>, StoreError>;
}

/// The range of events in a session's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Identifies the log.
    pub epoch: String,
    /// Number of the newest event, 0 when there is none.
    pub head: u64,
    /// Number of the oldest stored event, `head + 1` when there is none.
    pub floor: u64,
}

/// The numbered log of each session, and of each user's whole memory.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Returns the state of the log.
    async fn log_state(&self, caller: &Caller, session: SessionId) -> Result<LogState, StoreError>;
    /// Returns the state of the log with up to `limit` events after `after`, ascending, without gaps. The state is not older than the
    /// events.
    async fn log_page(
        &self,
        caller: &Caller,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<(LogState, Vec<StoredEvent>), StoreError>;
    /// Returns up to `limit` events after `after`, ascending, without gaps.
    async fn events_after(&self, caller: &Caller, session: SessionId, after: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.log_page(caller, session, after, limit).await?.1)
    }
    /// Returns the state of the log of the caller's memory: the events of all sessions, and those that belong to no session's log.
    ///
    /// A user who never wrote has an empty log.
    async fn memory_log_state(&self, caller: &Caller) -> Result<LogState, StoreError>;
    /// Returns the state of the log of the caller's memory with up to `limit` events after `after`, ascending, from the floor on without
    /// gaps. The state is not older than the events.
    async fn memory_log_page(&self, caller: &Caller, after: u64, limit: u32) -> Result<(LogState, Vec<StoredEvent>), StoreError>;
    /// Appends events outside a plan. Returns their numbers.
    async fn append_events(
        &self,
        caller: &Caller,
        session: SessionId,
        events: &[EventDraft],
        now: Timestamp,
    ) -> Result<Vec<u64>, StoreError>;
    /// Deletes events of all users that are older than `before` or beyond the newest `keep` of a session, a bounded number per call.
    /// Returns their number.
    async fn prune_events(&self, before: Timestamp, keep: u64) -> Result<u64, StoreError>;
    /// Reports all further commits of this store with events to `listener`, but not those of other processes. Only the first call has
    /// an effect. The store does not keep the listener, which usually keeps the store.
    fn report_to(&self, listener: Weak<dyn CommitListener>);
}

/// Connections of this process to its database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Open connections.
    pub open: u32,
    /// Idle connections.
    pub idle: u32,
    /// Most connections allowed.
    pub most: u32,
    /// Calls waiting for a connection or for the write lock.
    pub waiting: u32,
}

/// Inspection for operators.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Returns the name of the engine: `sqlite`.
    fn engine(&self) -> &'static str;
    /// Checks that the store answers and accepts writes.
    async fn ping(&self) -> Result<(), StoreError>;
    /// Returns the connection counts.
    fn connections(&self) -> ConnectionCounts;
    /// Returns the id of this installation's local user, created at the first start.
    async fn local_user(&self) -> Result<UserId, StoreError>;
    /// Flushes and closes.
    async fn close(&self);
}
