//! The lock that keeps a second server off a database file.
//!
//! The operating system holds the lock, so it ends with the process, even after `kill -9`. Commands that run next to a server do
//! not take it.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// How often the lock is tried. A server that was killed while it started a parser leaves a process that shares its lock until it runs the
/// parser's program.
const ATTEMPTS: u32 = 50;
/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of one server on one database file. Dropping it releases the lock.
#[derive(Debug)]
pub struct ServerLock {
    _file: File,
}

/// Why a server cannot lock its database.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another server holds the lock.
    #[error(
        "another server{} uses {}. Stop it, or give this server its own folder with --data. Several servers can share a PostgreSQL database",
        .process.as_ref().map_or_else(String::new, |id| format!(" (process {id})")),
        .database.display()
    )]
    Held {
        /// The database file.
        database: PathBuf,
        /// The id of the other process, if known.
        process: Option<String>,
    },
    /// The lock file next to the database cannot be created or locked.
    #[error("the lock file {} cannot be used", .path.display())]
    File {
        /// The lock file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
}

impl ServerLock {
    /// Takes the lock of a database file. The file may be missing, but its folder must exist.
    ///
    /// # Errors
    /// If another process holds the lock, or the folder is not writable.
    pub fn take(database: &Path) -> Result<Self, LockError> {
        let path = lock_file(database);
        let failed = |cause| LockError::File { path: path.clone(), cause };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        if !try_lock(&file, || std::thread::sleep(PAUSE)).map_err(failed)? {
            let mut process = String::new();
            let _ = file.take(20).read_to_string(&mut process);
            let process = Some(process.trim().to_owned()).filter(|id| id.bytes().all(|b| b.is_ascii_digit()) && !id.is_empty());
            return Err(LockError::Held { database: database.to_owned(), process });
        }
        // Only for the error message of a second server.
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// Tries to lock the file, with a pause before each further attempt. Returns whether it is locked; false if another process keeps it.
fn try_lock(file: &File, mut pause: impl FnMut()) -> io::Result<bool> {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            pause();
        }
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
    }
    Ok(false)
}

/// The path of the lock file next to the database. Different paths of one database give the same lock file.
fn lock_file(database: &Path) -> PathBuf {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let absent = || Some(folder.canonicalize().ok()?.join(database.file_name()?));
    let real = database.canonicalize().ok().or_else(absent).unwrap_or_else(|| database.to_owned());
    let mut name = OsString::from(real);
    name.push(".lock");
    name.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn second_lock_is_refused_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("recall.db");
        let first = ServerLock::take(&database).unwrap();
        let refused = ServerLock::take(&database).unwrap_err().to_string();
        assert!(refused.contains(&format!("another server (process {}) uses", std::process::id())), "{refused}");
        assert!(ServerLock::take(&folder.path().join("other.db")).is_ok(), "another database has another lock");
        drop(first);
        drop(ServerLock::take(&database).unwrap());
        assert!(ServerLock::take(&folder.path().join("missing/recall.db")).is_err());
    }

    #[test]
    fn lock_is_taken_when_a_process_that_shared_it_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recall.db.lock");
        let killed = File::create(&path).unwrap();
        assert!(try_lock(&killed, || {}).unwrap());
        let mut shared = Some(killed.try_clone().unwrap());
        drop(killed);
        let next = File::open(&path).unwrap();
        let mut pauses = 0;
        assert!(!try_lock(&next, || pauses += 1).unwrap());
        assert_eq!(pauses, ATTEMPTS - 1);
        assert!(try_lock(&next, || drop(shared.take())).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn all_paths_of_a_database_share_one_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (database, link) = (folder.path().join("recall.db"), folder.path().join("link.db"));
        std::fs::write(&database, "").unwrap();
        std::os::unix::fs::symlink(&database, &link).unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let _first = ServerLock::take(&database).unwrap();
        for other in [link, inner.join("../recall.db")] {
            assert!(matches!(ServerLock::take(&other), Err(LockError::Held { .. })), "{}", other.display());
        }
    }
}
