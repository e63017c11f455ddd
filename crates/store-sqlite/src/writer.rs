//! The writer: a task that owns the only write connection and commits waiting writes together.
//!
//! Each commit waits for the disk, so writes that queue meanwhile share the next one (group commit). A write runs to its end even
//! if its caller stops waiting. So a client that disconnects neither leaves a transaction open nor blocks others.
//!
//! Invariant: a caller gets success only after the data is on disk, except for writes with relaxed [`Durability`].

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{Opener, failure::Failure};

/// Number of writes that may wait. If the queue is full, callers wait for a place, at most [`QUEUE_WAIT`].
const QUEUE: usize = 256;
const QUEUE_WAIT: Duration = Duration::from_secs(10);
/// A transaction that the disk does not confirm in this time is reported as not confirmed. It may still be committed.
const CONFIRM_WAIT: Duration = Duration::from_secs(60);
/// A batch takes no more writes after this much work, so that a small write does not wait for many large ones.
const BATCH_TIME: Duration = Duration::from_millis(4);
const BATCH_WRITES: usize = 64;

/// What a power failure may do to a confirmed write. A crash of the process alone loses no write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The write is on disk.
    Durable,
    /// A power failure may undo the write and all later relaxed ones: the commit does not wait for the disk.
    Relaxed,
}

/// Handle to the writer task. The task ends when the handle is dropped or [`Writer::close`] is called.
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Write>>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the task on an open connection. If that connection fails, `opener` opens another.
    pub(super) fn start(connection: SqliteConnection, options: SqliteConnectOptions, opener: Opener) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let stop = CancellationToken::new();
        let task = WriterTask {
            waiting,
            deferred: None,
            stop: stop.clone(),
            connection: Some((connection, Durability::Durable)),
            options,
            opener,
        };
        Self { queue, stop, task: Mutex::new(Some(tokio::spawn(task.run()))) }
    }

    /// Runs `write` in a transaction and returns its result after the commit. An error of `write` undoes all its changes.
    pub(super) async fn run<R, F>(&self, durability: Durability, write: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<R, Failure>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let pending = Box::new(PendingWrite { durability, write: Some(write), result: None, reply });
        match self.queue.send_timeout(pending, QUEUE_WAIT).await {
            Ok(()) => {}
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => return Err(Failure::WriterBusy(QUEUE_WAIT)),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => return Err(Failure::Closed),
        }
        match tokio::time::timeout(CONFIRM_WAIT, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Failure::Closed),
            Err(_) => Err(Failure::NotConfirmed(CONFIRM_WAIT)),
        }
    }

    /// Whether the writer still accepts writes.
    pub(super) fn is_open(&self) -> bool {
        !self.queue.is_closed()
    }

    /// Number of queued writes.
    pub(super) fn waiting(&self) -> u32 {
        u32::try_from(self.queue.max_capacity() - self.queue.capacity()).unwrap_or(u32::MAX)
    }

    /// Finishes the queued writes, then closes the connection.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(e) = task.await
        {
            tracing::error!(error = %e, "the store's writer task failed");
        }
    }
}

/// A write with its result type erased.
trait Write: Send {
    /// Whether the commit waits for the disk.
    fn durability(&self) -> Durability;
    /// Does the work inside the open transaction and keeps the result. Returns false if the work must be rolled back.
    fn perform<'a>(&'a mut self, connection: &'a mut SqliteConnection) -> BoxFuture<'a, bool>;
    /// Sends the result to the caller. `failed` overrides a success.
    fn finish(self: Box<Self>, failed: Option<Failure>);
}

struct PendingWrite<R, F> {
    durability: Durability,
    write: Option<F>,
    result: Option<Result<R, Failure>>,
    reply: oneshot::Sender<Result<R, Failure>>,
}

impl<R, F> Write for PendingWrite<R, F>
where
    R: Send + 'static,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<R, Failure>> + Send + 'static,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn perform<'a>(&'a mut self, connection: &'a mut SqliteConnection) -> BoxFuture<'a, bool> {
        async move {
            let Some(write) = self.write.take() else { return false };
            // A panic is a defect of one write. Without the catch it would end the task, and no later write could succeed.
            let result = AssertUnwindSafe(async { write(connection).await }).catch_unwind().await.unwrap_or(Err(Failure::Panicked));
            let keep = result.is_ok();
            self.result = Some(result);
            keep
        }
        .boxed()
    }

    fn finish(self: Box<Self>, failed: Option<Failure>) {
        let result = match (self.result, failed) {
            // A write's own error stays, whether or not the others were committed.
            (Some(Err(e)), _) => Err(e),
            (_, Some(e)) => Err(e),
            (Some(Ok(r)), None) => Ok(r),
            (None, None) => Err(Failure::Closed),
        };
        // The caller may be gone; the write still counts.
        let _ = self.reply.send(result);
    }
}

struct WriterTask {
    waiting: mpsc::Receiver<Box<dyn Write>>,
    /// A write taken from the queue that did not fit into the open batch.
    deferred: Option<Box<dyn Write>>,
    stop: CancellationToken,
    /// The connection, with the durability it is set to.
    connection: Option<(SqliteConnection, Durability)>,
    options: SqliteConnectOptions,
    opener: Opener,
}

impl WriterTask {
    async fn run(mut self) {
        loop {
            if let Some(deferred) = self.deferred.take() {
                self.run_batch(deferred).await;
                continue;
            }
            let first = tokio::select! {
                biased;
                () = self.stop.cancelled(), if !self.waiting.is_closed() => {
                    // Refuses new writes. The loop still receives the queued ones.
                    self.waiting.close();
                    continue;
                }
                write = self.waiting.recv() => write,
            };
            let Some(first) = first else { break };
            self.run_batch(first).await;
        }
        if let Some((connection, _)) = self.connection.take()
            && let Err(e) = connection.close().await
        {
            tracing::warn!(error = %e, "the store's writing connection did not close cleanly");
        }
    }

    /// Runs one transaction with `first` and the writes queued behind it.
    async fn run_batch(&mut self, mut first: Box<dyn Write>) {
        let durability = first.durability();
        let mut connection = match self.begin(durability).await {
            Ok(connection) => connection,
            Err(e) => return first.finish(Some(e)),
        };
        let started = Instant::now();
        if !first.perform(&mut connection).await {
            // It is alone in its transaction, so all of it is rolled back.
            if execute(&mut connection, "ROLLBACK").await.is_ok() {
                self.connection = Some((connection, durability));
            }
            return first.finish(None);
        }
        let mut done = vec![first];
        let mut outcome = Ok(());
        while outcome.is_ok() && done.len() < BATCH_WRITES && started.elapsed() < BATCH_TIME {
            let Ok(mut next) = self.waiting.try_recv() else { break };
            if durability == Durability::Relaxed && next.durability() == Durability::Durable {
                self.deferred = Some(next);
                break;
            }
            outcome = perform_in_savepoint(&mut connection, &mut next).await;
            done.push(next);
        }
        if outcome.is_ok() {
            outcome = execute(&mut connection, "COMMIT").await;
        }
        match outcome {
            Ok(()) => {
                self.connection = Some((connection, durability));
                done.into_iter().for_each(|w| w.finish(None));
            }
            Err(e) => {
                // Closing rolls back. A new connection has a known state.
                drop(connection);
                let e = Arc::new(e);
                done.into_iter().for_each(|w| w.finish(Some(Failure::NotCommitted(e.clone()))));
            }
        }
    }

    /// Opens a transaction that already holds the write lock.
    async fn begin(&mut self, durability: Durability) -> Result<SqliteConnection, Failure> {
        let (mut connection, promised) = match self.connection.take() {
            Some(kept) => kept,
            None => (self.opener.open(&self.options).await?, Durability::Durable),
        };
        // SQLite does not allow this change inside a transaction.
        if promised != durability {
            let sql = match durability {
                Durability::Durable => "PRAGMA synchronous = FULL",
                Durability::Relaxed => "PRAGMA synchronous = NORMAL",
            };
            execute(&mut connection, sql).await?;
        }
        execute(&mut connection, "BEGIN IMMEDIATE").await?;
        Ok(connection)
    }
}

/// Performs one more write in the same transaction, and rolls back only this write if it fails.
///
/// An error means that the whole transaction is in doubt: after a disk error SQLite ends it, and the savepoint no longer exists.
async fn perform_in_savepoint(connection: &mut SqliteConnection, write: &mut Box<dyn Write>) -> Result<(), Failure> {
    execute(connection, "SAVEPOINT w").await?;
    if !write.perform(connection).await {
        execute(connection, "ROLLBACK TO w").await?;
    }
    execute(connection, "RELEASE w").await
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), Failure> {
    sqlx::query(sql).execute(connection).await?;
    Ok(())
}
