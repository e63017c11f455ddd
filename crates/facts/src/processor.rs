//! Runs the jobs of the durable queue.
//!
//! It claims jobs, passes them to workers, keeps their leases alive, retries with backoff, marks hopeless jobs dead, and drains on
//! shutdown. It does not know what the work is.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use recall_domain::EventDraft;
use recall_ports::{Claim, Clock, CommitError, Job, JobQueue, StoreError};

/// The outcome of one attempt.
#[derive(Debug)]
pub enum Outcome {
    /// Done and committed, together with the end of the job.
    Done {
        /// How many jobs ended: this one, and any that waited behind it and were done with it.
        jobs: usize,
    },
    /// The work is not done, and its next attempt continues it. This attempt does not count.
    Paused,
    /// The job was already done, or another worker has it now.
    NotOurs,
    /// May work later. Operators see `code`.
    Retry {
        /// A stable code.
        code: &'static str,
        /// The cause, for the log.
        cause: String,
    },
    /// Will never work; the job is given up.
    GiveUp {
        /// A stable code.
        code: &'static str,
        /// The cause, for the log.
        cause: String,
    },
}

/// Does one job. Must be safe to repeat and safe to drop at any await.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// Does the job and commits it with its claim.
    async fn run(&self, job: &Job) -> Outcome;
    /// Returns the event that tells clients that the job was given up.
    fn gave_up(&self, job: &Job, code: &str) -> EventDraft;
}

/// Settings of the processor.
#[derive(Clone, Debug)]
pub struct ProcessorConfig {
    /// Jobs processed at a time.
    pub workers: usize,
    /// How long a claim lasts unless it is extended. After that, another process may take the job.
    pub lease: Duration,
    /// Longest time one attempt may take.
    pub timeout: Duration,
    /// Attempts before a job is marked dead.
    pub attempts: u32,
    /// Delay before the second attempt; doubles each time, up to a minute.
    pub backoff: Duration,
}

impl Default for ProcessorConfig {
    fn default() -> Self {
        Self {
            workers: 4,
            lease: Duration::from_secs(30),
            timeout: Duration::from_secs(120),
            attempts: 5,
            backoff: Duration::from_millis(250),
        }
    }
}

/// Longest wait between two reads of the queue. It bounds the delay of jobs that another process left.
const MAX_IDLE: Duration = Duration::from_secs(1);
/// How often the claim of running work is checked, for example after a cancellation.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long work may still report its outcome after its lease was lost.
const LOST_LEASE_GRACE: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// The jobs that this process works on.
///
/// After a failed call, the queue may hold other jobs for this process: a claim may have been committed although its reply was lost,
/// and a job that could not be released still has its lease. Until `uncertain_until` such jobs are released, so that their sessions do
/// not wait for the lease to end.
#[derive(Default)]
struct RunningJobs {
    claims: Mutex<Vec<Claim>>,
    uncertain_until: Mutex<Option<Instant>>,
}

impl RunningJobs {
    /// Records that a call to the queue failed. Its effect may still appear later, so the state is uncertain for one lease.
    fn mark_uncertain(&self, lease: Duration) {
        *self.uncertain_until.lock() = Some(Instant::now() + lease);
    }

    fn is_uncertain(&self) -> bool {
        self.uncertain_until.lock().is_some_and(|until| Instant::now() < until)
    }
}

/// Removes a job from the running jobs on drop, also if its task panics.
struct RunningGuard<'i>(&'i RunningJobs, &'i Claim);

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.claims.lock().retain(|claim| claim != self.1);
    }
}

/// A running processor. Dropping it stops it at once; [`Processor::shutdown`] drains it first.
#[derive(Debug)]
pub struct Processor {
    wake: Arc<Notify>,
    stop: CancellationToken,
    abort: CancellationToken,
    task: Option<JoinHandle<()>>,
}

struct Inner {
    running: RunningJobs,
    queue: Arc<dyn JobQueue>,
    work: Arc<dyn Work>,
    clock: Arc<dyn Clock>,
    config: ProcessorConfig,
}

impl Processor {
    /// Starts the processor. Code that queues a job notifies `wake`.
    pub fn start(queue: Arc<dyn JobQueue>, work: Arc<dyn Work>, clock: Arc<dyn Clock>, wake: Arc<Notify>, config: ProcessorConfig) -> Self {
        let (stop, abort) = (CancellationToken::new(), CancellationToken::new());
        let inner = Arc::new(Inner { running: RunningJobs::default(), queue, work, clock, config });
        let task = tokio::spawn(dispatch(inner, wake.clone(), stop.clone(), abort.clone()));
        Self { wake, stop, abort, task: Some(task) }
    }

    /// Stops claiming, waits up to `grace` for running jobs, then releases the rest.
    pub async fn shutdown(mut self, grace: Duration) {
        self.stop.cancel();
        self.wake.notify_one();
        let Some(mut task) = self.task.take() else { return };
        if tokio::time::timeout(grace, &mut task).await.is_err() {
            self.abort.cancel();
            // Releasing a claim is one short transaction. A store that hangs must not block the exit.
            if tokio::time::timeout(Duration::from_secs(2), &mut task).await.is_err() {
                task.abort();
            }
        }
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

async fn dispatch(inner: Arc<Inner>, wake: Arc<Notify>, stop: CancellationToken, abort: CancellationToken) {
    let mut running: JoinSet<()> = JoinSet::new();
    let mut failures = 0u32;
    while !stop.is_cancelled() {
        let free = inner.config.workers.saturating_sub(running.len());
        let mut claimed = 0;
        if free > 0 {
            match claim_jobs(&inner, free).await {
                Ok(jobs) => {
                    failures = 0;
                    claimed = jobs.len();
                    inner.running.claims.lock().extend(jobs.iter().map(|job| job.claim.clone()));
                    for job in jobs {
                        running.spawn(attempt(inner.clone(), job, abort.clone()));
                    }
                }
                Err(e) => {
                    failures += 1;
                    inner.running.mark_uncertain(inner.config.lease);
                    warn!(error = %e, failures, "the queue could not be read");
                }
            }
        }
        metrics::gauge!("recall_jobs_running").set(running.len() as f64);
        if claimed > 0 && running.len() < inner.config.workers {
            continue;
        }
        let idle_time = idle_time(&inner, failures).await;
        tokio::select! {
            () = stop.cancelled() => break,
            () = wake.notified(), if failures == 0 => {}
            // A finished job frees a worker and the next job of its session.
            Some(_) = running.join_next() => {}
            () = tokio::time::sleep(idle_time) => {}
        }
    }
    info!(running = running.len(), "the fact processor drains");
    while running.join_next().await.is_some() {}
}

/// Claims jobs. After a failed call, it first releases jobs that this process holds but does not run.
async fn claim_jobs(inner: &Inner, free: usize) -> Result<Vec<Job>, StoreError> {
    if inner.running.is_uncertain() {
        let held = inner.running.claims.lock().clone();
        let lost = inner.queue.release_lost(&held, inner.clock.now()).await?;
        if lost > 0 {
            info!(lost, "jobs with an interrupted claim or release are due again");
        }
    }
    inner.queue.claim(inner.clock.now(), inner.config.lease, free as u32).await
}

/// Returns how long to sleep without a notification: until the next retry is due, at most one second.
async fn idle_time(inner: &Inner, failures: u32) -> Duration {
    if failures > 0 {
        return (inner.config.backoff * 2u32.saturating_pow(failures.min(8))).min(MAX_IDLE);
    }
    match inner.queue.next_due(inner.clock.now()).await {
        // A due job that cannot be claimed waits for a running job of its session, whose end wakes the loop.
        Ok(Some(until)) if !until.is_zero() => until.min(MAX_IDLE),
        _ => MAX_IDLE,
    }
}

async fn attempt(inner: Arc<Inner>, job: Job, abort: CancellationToken) {
    let started = Instant::now();
    let _guard = RunningGuard(&inner.running, &job.claim);
    // The last attempt ended without an outcome, so the process crashed. Without this check the job would be retried forever.
    if job.attempts > inner.config.attempts {
        return mark_dead(&inner, &job, "CRASHED", "every attempt ended without an outcome").await;
    }
    let outcome = {
        // A panic in the work costs this job an attempt; the worker continues.
        let work = AssertUnwindSafe(inner.work.run(&job))
            .catch_unwind()
            .map(|done| done.unwrap_or_else(|_| Outcome::Retry { code: "PANIC", cause: "the work panicked".into() }));
        let deadline = started + inner.config.timeout;
        // They run concurrently: an extension may wait for a lock that the work holds, and must not stop the work.
        tokio::select! {
            // Finished work takes precedence over all other events.
            biased;
            outcome = work => Some(outcome),
            () = abort.cancelled() => None,
            () = tokio::time::sleep_until(deadline) => Some(Outcome::Retry { code: "TIMEOUT", cause: "the attempt took too long".into() }),
            () = keep_lease(&inner, &job, started) => Some(Outcome::NotOurs),
        }
    };
    metrics::histogram!("recall_job_seconds").record(started.elapsed().as_secs_f64());
    match outcome {
        None | Some(Outcome::Paused) => {
            if let Err(e) = inner.queue.release(std::slice::from_ref(&job.claim)).await {
                inner.running.mark_uncertain(inner.config.lease);
                warn!(error = %e, "a job could not be released; it is tried again");
            }
        }
        Some(Outcome::Done { jobs }) => {
            let waited = (inner.clock.now() - job.queued_at).num_milliseconds().max(0) as f64 / 1000.0;
            metrics::histogram!("recall_processing_latency_seconds").record(waited);
            metrics::counter!("recall_jobs_total", "outcome" => "done").increment(jobs as u64);
        }
        Some(Outcome::NotOurs) => metrics::counter!("recall_jobs_total", "outcome" => "not_ours").increment(1),
        Some(Outcome::Retry { code, cause }) if job.attempts < inner.config.attempts => {
            metrics::counter!("recall_jobs_total", "outcome" => "retried").increment(1);
            warn!(job = job.claim.job, attempt = job.attempts, code, cause, "a job failed and will be tried again");
            let delay = (inner.config.backoff * 2u32.saturating_pow(job.attempts.saturating_sub(1).min(16))).min(MAX_BACKOFF);
            match inner.queue.retry(&job.claim, inner.clock.now(), delay, code).await {
                Ok(()) | Err(CommitError::NotOurs) => {}
                Err(e) => {
                    inner.running.mark_uncertain(inner.config.lease);
                    warn!(error = %e, "a job could not be released; it is tried again");
                }
            }
        }
        Some(Outcome::Retry { code, cause } | Outcome::GiveUp { code, cause }) => mark_dead(&inner, &job, code, &cause).await,
    }
}

/// Extends the lease of a job; returns after the lease was lost.
async fn keep_lease(inner: &Inner, job: &Job, started: Instant) {
    let every = LEASE_CHECK_INTERVAL.min(inner.config.lease / 3);
    let mut beat = tokio::time::interval_at(started + every, every);
    // After a slow extension, the next one is due a full interval later.
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        match inner.queue.extend(&job.claim, inner.clock.now(), inner.config.lease).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(e) => warn!(error = %e, "a lease could not be extended"),
        }
    }
    // A commit of the work also ends the claim. Then the work is about to finish.
    tokio::time::sleep(LOST_LEASE_GRACE).await;
}

async fn mark_dead(inner: &Inner, job: &Job, code: &str, cause: &str) {
    metrics::counter!("recall_jobs_total", "outcome" => "dead").increment(1);
    error!(job = job.claim.job, attempts = job.attempts, code, cause, "a job was given up");
    let event = inner.work.gave_up(job, code);
    match inner.queue.bury(&job.caller, &job.claim, &event, code, inner.clock.now()).await {
        Ok(()) | Err(CommitError::NotOurs) => {}
        Err(e) => {
            inner.running.mark_uncertain(inner.config.lease);
            warn!(error = %e, "a dead letter could not be written; the job is tried again");
        }
    }
}

#[cfg(test)]
mod tests;
