//! Tests how leases and running work interact.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use uuid::Uuid;

use super::*;
use recall_domain::{Caller, MessageId, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{Claim, JobWork, StoreError};

/// State shared by the work of one job and its queue.
#[derive(Default)]
struct TestState {
    /// A lock that both the commit and the lease extension need, such as the row of the job.
    row: tokio::sync::Mutex<()>,
    /// An extension has begun; an extension has ended.
    begun: Notify,
    ended: Notify,
    /// The lease was lost.
    lost: AtomicBool,
    /// The work finished; the work was dropped before its end.
    finished: Notify,
    dropped: Notify,
}

#[async_trait]
trait Scenario: Send + Sync + 'static {
    async fn scenario(&self, state: &TestState);
}

struct ScenarioWork<P> {
    state: Arc<TestState>,
    scenario: P,
}

struct DropNotifier<'a>(&'a Notify);

impl Drop for DropNotifier<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl<P: Scenario> Work for ScenarioWork<P> {
    async fn run(&self, _job: &Job) -> Outcome {
        let _dropped = DropNotifier(&self.state.dropped);
        self.scenario.scenario(&self.state).await;
        self.state.finished.notify_one();
        Outcome::Done { jobs: 1 }
    }

    fn gave_up(&self, _job: &Job, code: &str) -> EventDraft {
        panic!("nothing is given up here: {code}")
    }
}

/// A queue with one job.
struct Queue {
    state: Arc<TestState>,
    job: Mutex<Option<Job>>,
}

#[async_trait]
impl JobQueue for Queue {
    async fn claim(&self, _now: Timestamp, _lease: Duration, _limit: u32) -> Result<Vec<Job>, StoreError> {
        Ok(self.job.lock().unwrap().take().into_iter().collect())
    }

    async fn extend(&self, _claim: &Claim, _now: Timestamp, _lease: Duration) -> Result<bool, StoreError> {
        self.state.begun.notify_one();
        drop(self.state.row.lock().await);
        self.state.ended.notify_one();
        Ok(!self.state.lost.load(Ordering::SeqCst))
    }

    async fn recover(&self, _now: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn retry(&self, _claim: &Claim, _now: Timestamp, _delay: Duration, code: &str) -> Result<(), CommitError> {
        panic!("nothing is retried here: {code}")
    }

    async fn release(&self, _claims: &[Claim]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn bury(&self, _: &Caller, _: &Claim, _: &EventDraft, code: &str, _: Timestamp) -> Result<(), CommitError> {
        panic!("nothing is buried here: {code}")
    }

    async fn cancel_answer(&self, _: &Caller, _: MessageId, _: &EventDraft, _: Timestamp) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn next_due(&self, _now: Timestamp) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        Ok((0, 0))
    }

    async fn oldest(&self, _now: Timestamp) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }

    async fn release_lost(&self, _held: &[Claim], _now: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn job(token: u64) -> Job {
    Job {
        claim: Claim { job: 1, token },
        caller: Caller::verified(UserId(Uuid::nil()), ViewerRole::User),
        session: SessionId(Uuid::nil()),
        work: JobWork::Answer(MessageId(Uuid::nil())),
        attempts: 1,
        queued_at: Timestamp::UNIX_EPOCH,
    }
}

/// Runs one job. Returns whether its work finished; `false` if it was dropped.
async fn work_finishes(scenario: impl Scenario) -> bool {
    let state = Arc::new(TestState::default());
    let queue = Arc::new(Queue { state: state.clone(), job: Mutex::new(Some(job(1))) });
    let work = Arc::new(ScenarioWork { state: state.clone(), scenario });
    // The lease is extended every few milliseconds; the timeout is never reached.
    let config = ProcessorConfig { lease: Duration::from_millis(15), timeout: Duration::from_secs(600), ..ProcessorConfig::default() };
    let processor = Processor::start(queue, work, Arc::new(FixedClock), Arc::new(Notify::new()), config);
    let finished = async {
        tokio::select! {
            biased;
            () = state.finished.notified() => true,
            () = state.dropped.notified() => false,
        }
    };
    let finished = tokio::time::timeout(Duration::from_secs(60), finished).await;
    drop(processor);
    finished.expect("the work neither finished nor was dropped")
}

struct HoldsRowLock;

#[async_trait]
impl Scenario for HoldsRowLock {
    async fn scenario(&self, state: &TestState) {
        let row = state.row.lock().await;
        state.begun.notified().await;
        tokio::task::yield_now().await;
        drop(row);
    }
}

#[tokio::test]
async fn blocked_lease_extension_does_not_stop_the_work() {
    assert!(work_finishes(HoldsRowLock).await);
}

struct CommitsAndEndsClaim;

#[async_trait]
impl Scenario for CommitsAndEndsClaim {
    async fn scenario(&self, state: &TestState) {
        // An extension sees the commit before the work ends.
        let row = state.row.lock().await;
        state.begun.notified().await;
        state.lost.store(true, Ordering::SeqCst);
        drop(row);
        state.ended.notified().await;
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn work_whose_commit_ended_the_claim_can_finish() {
    assert!(work_finishes(CommitsAndEndsClaim).await);
}

struct LosesLease;

#[async_trait]
impl Scenario for LosesLease {
    async fn scenario(&self, state: &TestState) {
        state.lost.store(true, Ordering::SeqCst);
        std::future::pending::<()>().await;
    }
}

#[tokio::test]
async fn work_with_lost_lease_is_dropped() {
    assert!(!work_finishes(LosesLease).await);
}

/// A queue that loses the reply to a committed claim, and that cannot take a job back.
#[derive(Default)]
struct DisconnectingQueue {
    is_leased: AtomicBool,
    claims: AtomicUsize,
    returns: AtomicUsize,
}

impl DisconnectingQueue {
    fn lost<T>() -> Result<T, StoreError> {
        Err(StoreError::Transient("the connection was lost".into()))
    }
}

#[async_trait]
impl JobQueue for DisconnectingQueue {
    async fn claim(&self, _now: Timestamp, _lease: Duration, _limit: u32) -> Result<Vec<Job>, StoreError> {
        if self.is_leased.swap(true, Ordering::SeqCst) {
            return Ok(Vec::new());
        }
        match self.claims.fetch_add(1, Ordering::SeqCst) {
            0 => Self::lost(),
            n => Ok(vec![job(n as u64)]),
        }
    }

    async fn extend(&self, _claim: &Claim, _now: Timestamp, _lease: Duration) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn recover(&self, _now: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn retry(&self, _claim: &Claim, _now: Timestamp, _delay: Duration, _code: &str) -> Result<(), CommitError> {
        self.returns.fetch_add(1, Ordering::SeqCst);
        Self::lost().map_err(CommitError::Store)
    }

    async fn release(&self, _claims: &[Claim]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn release_lost(&self, held: &[Claim], _now: Timestamp) -> Result<u64, StoreError> {
        Ok(u64::from(held.is_empty() && self.is_leased.swap(false, Ordering::SeqCst)))
    }

    async fn bury(&self, _: &Caller, _: &Claim, _: &EventDraft, code: &str, _: Timestamp) -> Result<(), CommitError> {
        panic!("nothing is buried here: {code}")
    }

    async fn cancel_answer(&self, _: &Caller, _: MessageId, _: &EventDraft, _: Timestamp) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn next_due(&self, _now: Timestamp) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        Ok((0, 0))
    }

    async fn oldest(&self, _now: Timestamp) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }
}

/// Fails once.
struct FailsOnce(AtomicBool, Notify);

#[async_trait]
impl Work for FailsOnce {
    async fn run(&self, _job: &Job) -> Outcome {
        if !self.0.swap(true, Ordering::SeqCst) {
            return Outcome::Retry { code: "STORE", cause: "the connection was lost".into() };
        }
        self.1.notify_one();
        Outcome::Done { jobs: 1 }
    }

    fn gave_up(&self, _job: &Job, code: &str) -> EventDraft {
        panic!("nothing is given up here: {code}")
    }
}

#[tokio::test]
async fn jobs_left_leased_by_failed_calls_run_before_the_lease_ends() {
    let queue = Arc::new(DisconnectingQueue::default());
    let work = Arc::new(FailsOnce(AtomicBool::new(false), Notify::new()));
    let config = ProcessorConfig { lease: Duration::from_secs(3_600), backoff: Duration::from_millis(1), ..ProcessorConfig::default() };
    let processor = Processor::start(queue.clone(), work.clone(), Arc::new(FixedClock), Arc::new(Notify::new()), config);
    tokio::time::timeout(Duration::from_secs(60), work.1.notified()).await.expect("the job waits for its lease");
    // One claim was lost, one attempt could not be returned, and the next one did the job.
    assert!(queue.claims.load(Ordering::SeqCst) >= 3 && queue.returns.load(Ordering::SeqCst) == 1);
    drop(processor);
}
