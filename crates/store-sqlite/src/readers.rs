//! The read connections, shared fairly between users.
//!
//! SQLite blocks the thread that calls it, so each read runs as a whole on a blocking thread of the runtime.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    connection::{Db, Opener},
    failure::Failure,
};
use recall_domain::{Caller, UserId};
use recall_ports::FairShare;

/// The pool of read connections. Each is opened when it is first needed.
#[derive(Debug)]
pub(super) struct Readers {
    pool: Arc<ReaderPool>,
    slots: Arc<Semaphore>,
    most: u32,
    acquire_timeout: Duration,
    share: FairShare,
}

#[derive(Debug)]
struct ReaderPool {
    opener: Opener,
    idle: Mutex<Vec<Reader>>,
    open: Arc<AtomicU32>,
}

/// An open connection, which is counted until it is dropped.
#[derive(Debug)]
struct Reader {
    db: Db,
    open: Arc<AtomicU32>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Readers {
    pub(super) fn new(opener: Opener, most: u32, acquire_timeout: Duration) -> Self {
        let most = most.max(1);
        let pool = Arc::new(ReaderPool { opener, idle: Mutex::default(), open: Arc::default() });
        Self { pool, slots: Arc::new(Semaphore::new(most as usize)), most, acquire_timeout, share: FairShare::half_of(most) }
    }

    /// Reads the data of one user.
    pub(super) async fn for_user<R, F>(&self, user: impl Into<ReaderKey>, read: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: FnOnce(&mut Db) -> Result<R, Failure> + Send + 'static,
    {
        let _share = self.share.share(user.into().0).await;
        self.for_server(read).await
    }

    /// Reads data of the server itself.
    pub(super) async fn for_server<R, F>(&self, read: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: FnOnce(&mut Db) -> Result<R, Failure> + Send + 'static,
    {
        let slot = self.slot().await?;
        let pool = self.pool.clone();
        // It runs to its end even if its caller stops waiting. A connection on which a read panicked is closed.
        let task = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            let mut reader = pool.take()?;
            let result = read(&mut reader.db);
            pool.give_back(reader);
            result
        });
        task.await.unwrap_or(Err(Failure::Panicked))
    }

    /// Begins a snapshot that lasts over several calls.
    pub(super) async fn snapshot(&self) -> Result<Snapshot, Failure> {
        let slot = self.slot().await?;
        let pool = self.pool.clone();
        let begin = move || {
            let reader = pool.take()?;
            reader.db.batch("BEGIN")?;
            Ok(reader)
        };
        let reader = tokio::task::spawn_blocking(begin).await.unwrap_or(Err(Failure::Panicked))?;
        Ok(Snapshot { reader: Some(reader), _slot: slot })
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit, Failure> {
        match tokio::time::timeout(self.acquire_timeout, self.slots.clone().acquire_owned()).await {
            Ok(slot) => slot.map_err(|_| Failure::Closed),
            Err(_) => Err(Failure::ReadersBusy(self.acquire_timeout)),
        }
    }

    /// Number of open connections.
    pub(super) fn open(&self) -> u32 {
        self.pool.open.load(Ordering::Relaxed)
    }

    /// Number of open connections that nobody uses.
    pub(super) fn idle(&self) -> u32 {
        u32::try_from(self.pool.idle.lock().len()).unwrap_or(u32::MAX)
    }

    /// Most connections.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Refuses further reads, waits for the open ones, and closes the connections.
    pub(super) async fn close(&self) {
        let all = self.slots.acquire_many(self.most).await;
        self.slots.close();
        drop(all);
        self.pool.idle.lock().clear();
    }
}

impl ReaderPool {
    fn take(&self) -> Result<Reader, Failure> {
        if let Some(idle) = self.idle.lock().pop() {
            return Ok(idle);
        }
        let db = self.opener.reader()?;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(Reader { db, open: self.open.clone() })
    }

    fn give_back(&self, reader: Reader) {
        self.idle.lock().push(reader);
    }
}

/// A connection with an open read transaction. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Snapshot {
    reader: Option<Reader>,
    _slot: OwnedSemaphorePermit,
}

impl Snapshot {
    /// Reads from the snapshot. If the caller stops waiting, the snapshot ends.
    pub(super) async fn read<R, F>(&mut self, read: F) -> Result<R, Failure>
    where
        R: Send + 'static,
        F: FnOnce(&mut Db) -> Result<R, Failure> + Send + 'static,
    {
        let mut reader = self.reader.take().ok_or(Failure::Closed)?;
        let task = tokio::task::spawn_blocking(move || (read(&mut reader.db), reader));
        let (result, reader) = task.await.map_err(|_| Failure::Panicked)?;
        self.reader = Some(reader);
        result
    }
}

/// The user whose data is read.
pub(super) struct ReaderKey(UserId);

impl From<UserId> for ReaderKey {
    fn from(user: UserId) -> Self {
        Self(user)
    }
}

impl From<&Caller> for ReaderKey {
    fn from(caller: &Caller) -> Self {
        Self(caller.user())
    }
}
