//! The durable queue, the numbered logs, and what operators ask of the store.

use std::time::Duration;

use async_trait::async_trait;

use super::{CommitError, StoreError};
use recall_domain::{Caller, EventDraft, MessageId, SessionId, StoredEvent, Timestamp, UserId};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobWork {
    /// Find a message's facts.
    Understand {
        /// The message.
        message: MessageId,
        /// Whether it is to be answered if it asks.
        answer: bool,
    },
    /// Answer a question.
    Answer(MessageId),
}

/// Work that is ours until the lease expires.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Proves that it is ours.
    pub claim: Claim,
    /// On whose behalf.
    pub caller: Caller,
    /// In which session.
    pub session: SessionId,
    /// What.
    pub work: JobWork,
    /// How often it was claimed, this time included.
    pub attempts: u32,
    /// When it was queued.
    pub queued_at: Timestamp,
}

/// A held lease. The token makes a late worker's commit fail after its lease went to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Which job.
    pub job: u64,
    /// Whose turn it is; another number after every claim.
    pub token: u64,
}

/// The durable queue. Jobs of one session and one kind of work are handed out in order, one at a time; jobs of
/// different sessions run side by side. Delivery is at least once, effects are once: commits check the claim.
///
/// `now` is what the calling process takes the time to be. A store that several processes share goes by a clock that they
/// share too, for jobs and leases: else whose clock is fast would take what others hold, and what it queues would wait.
#[async_trait]
pub trait JobQueue: Send + Sync {
    /// Claims up to `limit` jobs that are due. A job whose lease expired is due again.
    async fn claim(&self, now: Timestamp, lease: Duration, limit: u32) -> Result<Vec<Job>, StoreError>;
    /// Prolongs a lease; false when it is no longer ours.
    async fn extend(&self, claim: &Claim, now: Timestamp, lease: Duration) -> Result<bool, StoreError>;
    /// Called once at start, before the first claim. A store that one process has to itself makes every job due that an
    /// earlier process held, which must be dead; a shared store does nothing and lets leases expire. Returns how many.
    async fn recover(&self, now: Timestamp) -> Result<u64, StoreError>;
    /// Gives a job back, to be tried again after `delay`. `code` says why, for operators.
    async fn retry(&self, claim: &Claim, now: Timestamp, delay: Duration, code: &str) -> Result<(), CommitError>;
    /// Gives jobs back untouched, on shutdown; the attempt does not count.
    async fn release(&self, claims: &[Claim]) -> Result<(), StoreError>;
    /// Makes due what this process holds by the account of the queue and not by its own, without counting the attempt: claims that
    /// were committed and never confirmed, and jobs that could not be given back. `held` is all that it works on. Returns how many.
    async fn release_lost(&self, held: &[Claim], now: Timestamp) -> Result<u64, StoreError>;
    /// Ends a job as a dead letter: the message becomes `failed` (for `Understand`), the event is written, the queue goes on.
    async fn bury(&self, caller: &Caller, claim: &Claim, event: &EventDraft, code: &str, now: Timestamp) -> Result<(), CommitError>;
    /// Ends the answering of a question, whether it waits, runs, or follows only once the message is understood, and writes the
    /// event. A worker on it finds its claim void. False when there is nothing to end; then nothing is written.
    async fn cancel_answer(&self, caller: &Caller, question: MessageId, event: &EventDraft, now: Timestamp) -> Result<bool, StoreError>;
    /// How long until the next job becomes due; zero when one is.
    async fn next_due(&self, now: Timestamp) -> Result<Option<Duration>, StoreError>;
    /// Jobs waiting or running, and dead letters.
    async fn depth(&self) -> Result<(u64, u64), StoreError>;
    /// How long the oldest job that is not done has been there.
    async fn oldest(&self, now: Timestamp) -> Result<Option<Duration>, StoreError>;
}

/// Where a session's log stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Names the log.
    pub epoch: String,
    /// Number of the newest event, 0 when there is none.
    pub head: u64,
    /// Number of the oldest event still there, `head + 1` when there is none.
    pub floor: u64,
}

/// The numbered log of each session.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Where it stands.
    async fn log_state(&self, caller: &Caller, session: SessionId) -> Result<LogState, StoreError>;
    /// Up to `limit` events after `after`, ascending, without holes.
    async fn events_after(&self, caller: &Caller, session: SessionId, after: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError>;
    /// Appends events outside any plan. Returns their numbers.
    async fn append_events(
        &self,
        caller: &Caller,
        session: SessionId,
        events: &[EventDraft],
        now: Timestamp,
    ) -> Result<Vec<u64>, StoreError>;
    /// Removes events of all sessions that are older than `before` or beyond the newest `keep`, a bounded number per call.
    /// Returns how many went.
    async fn prune_events(&self, before: Timestamp, keep: u64) -> Result<u64, StoreError>;
}

/// The connections of this process to its database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Open ones.
    pub open: u32,
    /// Open ones that nobody uses.
    pub idle: u32,
    /// As many as there may be.
    pub most: u32,
    /// Calls that wait for one, or for their turn to write.
    pub waiting: u32,
}

/// What operators ask.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Names the engine: `sqlite`.
    fn engine(&self) -> &'static str;
    /// Whether it answers now and takes writes.
    async fn ping(&self) -> Result<(), StoreError>;
    /// How many connections there are.
    fn connections(&self) -> ConnectionCounts;
    /// The id of this installation's local user, made at the first start.
    async fn local_user(&self) -> Result<UserId, StoreError>;
    /// Flushes and closes.
    async fn close(&self);
}
