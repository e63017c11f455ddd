//! The durable processor: claims jobs from the queue, hands them to workers, keeps their leases alive, retries with
//! backoff, buries what cannot be done, and drains on shutdown. It does not know what the work is.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::FutureExt;
use tokio::{
    sync::Notify,
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use recall_domain::EventDraft;
use recall_ports::{Announcer, Claim, Clock, CommitError, Job, JobQueue, StoreError};

/// What became of a job.
#[derive(Debug)]
pub enum Outcome {
    /// Done and committed, together with the end of the job.
    Done,
    /// Was done before, or is another worker's by now.
    NotOurs,
    /// May work later. `code` is for operators.
    Retry {
        /// A stable code.
        code: &'static str,
        /// The cause, for the log.
        cause: String,
    },
    /// Will never work.
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
    /// The event that tells clients that a job was given up.
    fn gave_up(&self, job: &Job, code: &str) -> EventDraft;
}

/// How the processor behaves.
#[derive(Clone, Debug)]
pub struct ProcessorConfig {
    /// Jobs at a time.
    pub workers: usize,
    /// How long a claim lasts without being extended; another instance takes over after that.
    pub lease: Duration,
    /// Longest time one attempt may take.
    pub timeout: Duration,
    /// Attempts before a job is buried.
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

/// Longest wait between two looks at the queue: jobs that another instance left are found by then.
const MAX_IDLE: Duration = Duration::from_secs(1);
/// How soon work notices at the latest that its job was taken from it, such as when its answer is not wanted any more.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long the work is listened to after its lease is lost.
const LOST_LEASE_GRACE: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Jobs that this process works on, and until when the queue may say that it holds others: a claim that was cut off may have been
/// committed, and a job that could not be given back has its lease. Without an end to that, their sessions would wait for the lease.
#[derive(Default)]
struct RunningJobs {
    claims: Mutex<Vec<Claim>>,
    uncertain_until: Mutex<Option<Instant>>,
}

impl RunningJobs {
    fn claims(&self) -> MutexGuard<'_, Vec<Claim>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of the queue failed. What it began may happen later, too, so it is looked after for as long as a lease.
    fn mark_uncertain(&self, lease: Duration) {
        *self.uncertain_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + lease);
    }

    fn is_uncertain(&self) -> bool {
        self.uncertain_until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| Instant::now() < until)
    }
}

/// Takes a job off the running ones, also when its task panics.
struct RunningGuard<'i>(&'i RunningJobs, &'i Claim);

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.claims().retain(|claim| claim != self.1);
    }
}

/// A running processor. Dropping it stops it at once; [`Processor::shutdown`] drains it.
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
    announcer: Arc<dyn Announcer>,
    config: ProcessorConfig,
}

impl Processor {
    /// Starts the processor. `wake` is notified by whoever queues a job.
    pub fn start(
        queue: Arc<dyn JobQueue>,
        work: Arc<dyn Work>,
        clock: Arc<dyn Clock>,
        announcer: Arc<dyn Announcer>,
        wake: Arc<Notify>,
        config: ProcessorConfig,
    ) -> Self {
        let (stop, abort) = (CancellationToken::new(), CancellationToken::new());
        let inner = Arc::new(Inner { running: RunningJobs::default(), queue, work, clock, announcer, config });
        let task = tokio::spawn(dispatch(inner, wake.clone(), stop.clone(), abort.clone()));
        Self { wake, stop, abort, task: Some(task) }
    }

    /// Stops claiming, waits for running jobs up to `grace`, then gives back what is left.
    pub async fn shutdown(mut self, grace: Duration) {
        self.stop.cancel();
        self.wake.notify_one();
        let Some(mut task) = self.task.take() else { return };
        if tokio::time::timeout(grace, &mut task).await.is_err() {
            self.abort.cancel();
            // Releasing a claim is one short transaction; a store that hangs must not hold up the exit.
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
                    inner.running.claims().extend(jobs.iter().map(|job| job.claim.clone()));
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
            // A finished job frees a worker, and the next job of its session.
            Some(_) = running.join_next() => {}
            () = tokio::time::sleep(idle_time) => {}
        }
    }
    info!(running = running.len(), "the fact processor drains");
    while running.join_next().await.is_some() {}
}

/// Claims jobs; after trouble gives back first what this process holds and does not work on.
async fn claim_jobs(inner: &Inner, free: usize) -> Result<Vec<Job>, StoreError> {
    if inner.running.is_uncertain() {
        let held = inner.running.claims().clone();
        let lost = inner.queue.release_lost(&held, inner.clock.now()).await?;
        if lost > 0 {
            info!(lost, "jobs whose claim or return was cut off are due again");
        }
    }
    inner.queue.claim(inner.clock.now(), inner.config.lease, free as u32).await
}

/// How long to sleep when nobody wakes us: until the next retry is due, at most a second.
async fn idle_time(inner: &Inner, failures: u32) -> Duration {
    if failures > 0 {
        return (inner.config.backoff * 2u32.saturating_pow(failures.min(8))).min(MAX_IDLE);
    }
    match inner.queue.next_due(inner.clock.now()).await {
        // What is due but not claimable waits for a running job of its session, which wakes us.
        Ok(Some(until)) if !until.is_zero() => until.min(MAX_IDLE),
        _ => MAX_IDLE,
    }
}

async fn attempt(inner: Arc<Inner>, job: Job, abort: CancellationToken) {
    let started = Instant::now();
    let _guard = RunningGuard(&inner.running, &job.claim);
    // Its last attempt ended without a word: the process died over it. Without this it would be tried for ever.
    if job.attempts > inner.config.attempts {
        return mark_dead(&inner, &job, "CRASHED", "every attempt ended without an outcome").await;
    }
    let outcome = {
        // A defect in the work must cost this job an attempt, not the worker its loop.
        let work = AssertUnwindSafe(inner.work.run(&job))
            .catch_unwind()
            .map(|done| done.unwrap_or_else(|_| Outcome::Retry { code: "PANIC", cause: "the work panicked".into() }));
        let deadline = started + inner.config.timeout;
        // Side by side: an extension may wait for a lock that the work itself holds, and must not stop it.
        tokio::select! {
            // What is done is done, whatever else is true by then.
            biased;
            outcome = work => Some(outcome),
            () = abort.cancelled() => None,
            () = tokio::time::sleep_until(deadline) => Some(Outcome::Retry { code: "TIMEOUT", cause: "the attempt took too long".into() }),
            () = keep_lease(&inner, &job, started) => Some(Outcome::NotOurs),
        }
    };
    metrics::histogram!("recall_job_seconds").record(started.elapsed().as_secs_f64());
    match outcome {
        None => {
            if let Err(e) = inner.queue.release(std::slice::from_ref(&job.claim)).await {
                inner.running.mark_uncertain(inner.config.lease);
                warn!(error = %e, "a job could not be given back; it is tried again");
            }
        }
        Some(Outcome::Done) => {
            let waited = (inner.clock.now() - job.queued_at).num_milliseconds().max(0) as f64 / 1000.0;
            metrics::histogram!("recall_processing_latency_seconds").record(waited);
            metrics::counter!("recall_jobs_total", "outcome" => "done").increment(1);
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
                    warn!(error = %e, "a job could not be given back; it is tried again");
                }
            }
        }
        Some(Outcome::Retry { code, cause } | Outcome::GiveUp { code, cause }) => mark_dead(&inner, &job, code, &cause).await,
    }
}

/// Extends the lease of a job until it is lost.
async fn keep_lease(inner: &Inner, job: &Job, started: Instant) {
    let every = LEASE_CHECK_INTERVAL.min(inner.config.lease / 3);
    let mut beat = tokio::time::interval_at(started + every, every);
    // After an extension that took long, the next one is due a whole beat later.
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        match inner.queue.extend(&job.claim, inner.clock.now(), inner.config.lease).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(e) => warn!(error = %e, "a lease could not be extended"),
        }
    }
    // A commit of the work ends its claim too. Then the work is about to say so, and has committed events to announce.
    tokio::time::sleep(LOST_LEASE_GRACE).await;
}

async fn mark_dead(inner: &Inner, job: &Job, code: &str, cause: &str) {
    metrics::counter!("recall_jobs_total", "outcome" => "dead").increment(1);
    error!(job = job.claim.job, attempts = job.attempts, code, cause, "a job was given up");
    let event = inner.work.gave_up(job, code);
    match inner.queue.bury(&job.caller, &job.claim, &event, code, inner.clock.now()).await {
        Ok(()) => inner.announcer.committed(&job.caller, job.session),
        Err(CommitError::NotOurs) => {}
        Err(e) => {
            inner.running.mark_uncertain(inner.config.lease);
            warn!(error = %e, "a dead letter could not be written; the job is tried again");
        }
    }
}

#[cfg(test)]
mod tests;
