//! Calls SQLite's C interface: registers sqlite-vec and counts statements.
//!
//! This is the only unsafe code of the store. Everything else uses sqlx.
#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
};

use libsqlite3_sys::{SQLITE_TRACE_STMT, sqlite3, sqlite3_api_routines, sqlite3_auto_extension, sqlite3_trace_v2};
use sqlx::SqliteConnection;

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

/// Counts each statement that starts on this connection in `counter`, including transaction control, without triggers.
pub(super) async fn count_statements(connection: &mut SqliteConnection, counter: &'static AtomicU64) -> Result<(), sqlx::Error> {
    let mut handle = connection.lock_handle().await?;
    // SAFETY: the handle is open and locked. The context is a reference that lives as long as the process, so the callback never
    // sees it freed. The callback reads it only as the `AtomicU64` that it is.
    unsafe {
        sqlite3_trace_v2(
            handle.as_raw_handle().as_ptr(),
            SQLITE_TRACE_STMT,
            Some(on_statement),
            std::ptr::from_ref(counter).cast_mut().cast::<c_void>(),
        );
    }
    Ok(())
}

unsafe extern "C" fn on_statement(_event: c_uint, context: *mut c_void, _statement: *mut c_void, sql: *mut c_void) -> c_int {
    // SAFETY: for SQLITE_TRACE_STMT the last argument is the zero-terminated text of the statement. SQLite reports statements of a
    // trigger as comments; they belong to the statement that fired it.
    if !sql.is_null() && unsafe { std::ffi::CStr::from_ptr(sql.cast::<c_char>()) }.to_bytes().starts_with(b"--") {
        return 0;
    }
    // SAFETY: `context` is the `&'static AtomicU64` given to `sqlite3_trace_v2` above.
    let counter = unsafe { &*context.cast::<AtomicU64>() };
    counter.fetch_add(1, Ordering::Relaxed);
    0
}
