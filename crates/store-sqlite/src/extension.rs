//! Calls SQLite's C interface: registers sqlite-vec, counts statements, and watches the size of the write-ahead log.
//!
//! This is the only unsafe code of the store. Everything else uses rusqlite.
#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    sync::{
        Once,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use rusqlite::{
    Connection,
    ffi::{
        SQLITE_CHECKPOINT_PASSIVE, SQLITE_TRACE_STMT, sqlite3, sqlite3_api_routines, sqlite3_auto_extension, sqlite3_trace_v2,
        sqlite3_wal_checkpoint_v2, sqlite3_wal_hook,
    },
};

use super::checkpointer::INLINE_PAGES;

type EntryPoint = unsafe extern "C" fn(*mut sqlite3, *mut *mut c_char, *const sqlite3_api_routines) -> c_int;

/// Registers `vec_distance_cosine` for every connection that this process opens from now on.
pub(super) fn register_vectors() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: `sqlite3_vec_init` is declared without parameters by its crate, but is compiled from `int
        // sqlite3_vec_init(sqlite3*, char**, const sqlite3_api_routines*)`, which is `EntryPoint`. It is linked statically
        // (SQLITE_CORE), so it lives as long as the process. Registering takes SQLite's own lock.
        unsafe {
            let entry = std::mem::transmute::<*const (), EntryPoint>(sqlite_vec::sqlite3_vec_init as *const ());
            sqlite3_auto_extension(Some(entry));
        }
    });
}

/// What all connections of a store count.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Statements that were started, including transaction control, without triggers.
    pub(super) statements: AtomicU64,
    /// Pages in the write-ahead log after the latest commit.
    pub(super) log_pages: AtomicU32,
}

/// Counts what happens on this connection. A commit that leaves a very large write-ahead log copies it into the database file.
pub(super) fn observe(connection: &Connection, counters: &'static Counters) {
    let context = std::ptr::from_ref(counters).cast_mut().cast::<c_void>();
    // SAFETY: the handle is open, and no other thread uses it. The context is a reference that lives as long as the process, so the
    // callbacks never see it freed. They read it only as the `Counters` that it is.
    unsafe {
        sqlite3_trace_v2(connection.handle(), SQLITE_TRACE_STMT, Some(on_statement), context);
        sqlite3_wal_hook(connection.handle(), Some(on_commit), context);
    }
}

/// The hook replaces SQLite's own, which copies the log from 1,000 pages on.
unsafe extern "C" fn on_commit(context: *mut c_void, connection: *mut sqlite3, database: *const c_char, pages: c_int) -> c_int {
    // SAFETY: `context` is the `&'static Counters` given to `sqlite3_wal_hook` above.
    let counters = unsafe { &*context.cast::<Counters>() };
    let pages = u32::try_from(pages).unwrap_or(0);
    counters.log_pages.store(pages, Ordering::Relaxed);
    if pages >= INLINE_PAGES {
        // SAFETY: SQLite passes the connection that has committed, and the name of its database. A checkpoint is allowed here, and its
        // result does not matter: the next commit tries again.
        unsafe { sqlite3_wal_checkpoint_v2(connection, database, SQLITE_CHECKPOINT_PASSIVE, std::ptr::null_mut(), std::ptr::null_mut()) };
    }
    0
}

unsafe extern "C" fn on_statement(_event: c_uint, context: *mut c_void, _statement: *mut c_void, sql: *mut c_void) -> c_int {
    // SAFETY: for SQLITE_TRACE_STMT the last argument is the zero-terminated text of the statement. SQLite reports statements of a
    // trigger as comments; they belong to the statement that fired it.
    if !sql.is_null() && unsafe { std::ffi::CStr::from_ptr(sql.cast::<c_char>()) }.to_bytes().starts_with(b"--") {
        return 0;
    }
    // SAFETY: `context` is the `&'static Counters` given to `sqlite3_trace_v2` above.
    let counters = unsafe { &*context.cast::<Counters>() };
    counters.statements.fetch_add(1, Ordering::Relaxed);
    0
}
