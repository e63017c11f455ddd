//! The writer: a thread that owns the only write connection and commits waiting writes together.
//!
//! Each write runs as a whole on this thread, where SQLite runs: a hand-over for each statement would cost more than the statement.
//! Each commit waits for the disk, so writes that queue meanwhile share the next one (group commit). A write runs to its end even
//! if its caller stops waiting. So a client that disconnects neither leaves a transaction open nor blocks others.
//!
//! Invariant: a caller gets success only after the data is on disk, except for writes with relaxed [`Durability`].

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock, Weak},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use tokio::sync::{mpsc, oneshot};

use super::{
    checkpointer::Checkpointer,
    connection::{Db, Opener},
    failure::Failure,
    transaction::{WriteTransaction, WrittenEvents},
};
use recall_ports::{CommitListener, LogEntry};

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

/// The commit listener, if one is set.
pub(super) type Listener = Arc<OnceLock<Weak<dyn CommitListener>>>;

/// Handle to the writer's thread. The thread ends when the handle is dropped or [`Writer::close`] is called.
pub(super) struct Writer {
    /// `None` after [`Writer::close`].
    queue: Mutex<Option<mpsc::Sender<Box<dyn Write>>>>,
    /// Completes when the thread has ended.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Writer {
    /// Starts the thread on an open connection. If that connection fails, `opener` opens another. The thread reports to `listener`
    /// what it commits, in the order of the commits.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(super) fn start(connection: Db, opener: Opener, listener: Listener) -> Result<Self, Failure> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (running, ended) = oneshot::channel();
        let checkpointer = Checkpointer::start(opener.clone())?;
        let connection = Some((connection, Durability::Durable));
        let thread = WriterThread { waiting, deferred: None, connection, opener, checkpointer, listener };
        let body = move || {
            thread.run();
            drop(running);
        };
        std::thread::Builder::new().name("sqlite-writer".to_owned()).spawn(body).map_err(Failure::File)?;
        Ok(Self { queue: Mutex::new(Some(queue)), ended: Mutex::new(Some(ended)) })
    }

    /// Runs `write` in a transaction and returns its result after the commit. An error of `write` undoes all its changes.
    pub(super) async fn run<R, F>(&self, durability: Durability, write: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTransaction<'_>) -> Result<R, Failure> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let pending = Box::new(PendingWrite { durability, write: Some(write), result: None, reply });
        let queue = self.queue().ok_or(Failure::Closed)?;
        match queue.send_timeout(pending, QUEUE_WAIT).await {
            Ok(()) => drop(queue),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => return Err(Failure::WriterBusy(QUEUE_WAIT)),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => return Err(Failure::Closed),
        }
        match tokio::time::timeout(CONFIRM_WAIT, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Failure::Closed),
            Err(_) => Err(Failure::NotConfirmed(CONFIRM_WAIT)),
        }
    }

    fn queue(&self) -> Option<mpsc::Sender<Box<dyn Write>>> {
        self.queue.lock().clone()
    }

    /// Whether the writer still accepts writes.
    pub(super) fn is_open(&self) -> bool {
        self.queue().is_some_and(|queue| !queue.is_closed())
    }

    /// Number of queued writes.
    pub(super) fn waiting(&self) -> u32 {
        let waiting = self.queue().map_or(0, |queue| queue.max_capacity() - queue.capacity());
        u32::try_from(waiting).unwrap_or(u32::MAX)
    }

    /// Finishes the queued writes, then closes the connection.
    pub(super) async fn close(&self) {
        // The thread ends when nobody can send to it any more.
        drop(self.queue.lock().take());
        let ended = self.ended.lock().take();
        if let Some(ended) = ended {
            // Nothing is ever sent: the other side is dropped.
            let _ = ended.await;
        }
    }
}

/// A write with its result type erased.
trait Write: Send {
    /// Whether the commit waits for the disk.
    fn durability(&self) -> Durability;
    /// Does the work inside the open transaction and keeps the result. Returns false if the work must be rolled back; then it has
    /// written no events.
    fn perform(&mut self, connection: &mut Db, events: &mut WrittenEvents) -> bool;
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
    F: FnOnce(&mut WriteTransaction<'_>) -> Result<R, Failure> + Send + 'static,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn perform(&mut self, connection: &mut Db, events: &mut WrittenEvents) -> bool {
        let Some(write) = self.write.take() else { return false };
        let before = events.entries().len();
        // A panic is a defect of one write. Without the catch it would end the thread, and no later write could succeed.
        let work = AssertUnwindSafe(|| write(&mut WriteTransaction(connection, events)));
        let result = catch_unwind(work).unwrap_or(Err(Failure::Panicked));
        let keep = result.is_ok();
        if !keep {
            events.truncate(before);
        }
        self.result = Some(result);
        keep
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

struct WriterThread {
    waiting: mpsc::Receiver<Box<dyn Write>>,
    /// A write taken from the queue that did not fit into the open batch.
    deferred: Option<Box<dyn Write>>,
    /// The connection, with the durability it is set to.
    connection: Option<(Db, Durability)>,
    opener: Opener,
    checkpointer: Checkpointer,
    listener: Listener,
}

impl WriterThread {
    fn run(mut self) {
        while let Some(first) = self.deferred.take().or_else(|| self.waiting.blocking_recv()) {
            self.run_batch(first);
        }
        if let Some((connection, _)) = self.connection.take()
            && let Err(e) = connection.close()
        {
            tracing::warn!(error = %e, "the store's writing connection did not close cleanly");
        }
        self.checkpointer.stop();
    }

    /// Runs one transaction with `first` and the writes queued behind it.
    fn run_batch(&mut self, mut first: Box<dyn Write>) {
        let durability = first.durability();
        let mut connection = match self.begin(durability) {
            Ok(connection) => connection,
            Err(e) => return first.finish(Some(e)),
        };
        let (started, mut events) = (Instant::now(), WrittenEvents::new(self.listener.get().is_some()));
        if !first.perform(&mut connection, &mut events) {
            // It is alone in its transaction, so all of it is rolled back.
            if connection.execute("ROLLBACK", ()).is_ok() {
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
            outcome = perform_in_savepoint(&mut connection, &mut next, &mut events);
            done.push(next);
        }
        match outcome.and_then(|()| connection.execute("COMMIT", ())) {
            Ok(_) => {
                self.connection = Some((connection, durability));
                self.checkpointer.wake();
                // The callers first: many followers keep the processor busy for longer than they would wait.
                done.into_iter().for_each(|w| w.finish(None));
                self.report(events.entries());
            }
            Err(e) => {
                // Closing rolls back. A new connection has a known state.
                drop(connection);
                let e = Arc::new(e);
                done.into_iter().for_each(|w| w.finish(Some(Failure::NotCommitted(e.clone()))));
            }
        }
    }

    fn report(&self, entries: &[LogEntry]) {
        let listener = self.listener.get().and_then(Weak::upgrade).filter(|_| !entries.is_empty());
        let Some(listener) = listener else { return };
        // As for a write: a defect of the listener must not end the thread. Followers also poll.
        if catch_unwind(AssertUnwindSafe(|| listener.deliver(entries))).is_err() {
            tracing::error!(events = entries.len(), "committed events were not delivered; followers get them later");
        }
    }

    /// Opens a transaction that already holds the write lock.
    fn begin(&mut self, durability: Durability) -> Result<Db, Failure> {
        let (connection, promised) = match self.connection.take() {
            Some(kept) => kept,
            None => (self.opener.writer()?, Durability::Durable),
        };
        // SQLite does not allow this change inside a transaction.
        if promised != durability {
            let sql = match durability {
                Durability::Durable => "PRAGMA synchronous = FULL",
                Durability::Relaxed => "PRAGMA synchronous = NORMAL",
            };
            // It takes effect when it is prepared, so a kept statement would do nothing.
            connection.batch(sql)?;
        }
        connection.execute("BEGIN IMMEDIATE", ())?;
        Ok(connection)
    }
}

/// Performs one more write in the same transaction, and rolls back only this write if it fails.
///
/// An error means that the whole transaction is in doubt: after a disk error SQLite ends it, and the savepoint no longer exists.
fn perform_in_savepoint(connection: &mut Db, write: &mut Box<dyn Write>, events: &mut WrittenEvents) -> Result<(), Failure> {
    connection.execute("SAVEPOINT w", ())?;
    if !write.perform(connection, events) {
        connection.execute("ROLLBACK TO w", ())?;
    }
    connection.execute("RELEASE w", ())?;
    Ok(())
}
