//! Relevantic Recall, a memory server for chat applications.
//!
//! This package holds the command line, the configuration, and the code that wires the crates together. Each part of the server is a
//! separate crate, so the compiler enforces the direction of their dependencies (see ARCHITECTURE.md).

// `println!` panics when standard output is closed. Commands print through `app::output` instead.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod allocator;
pub mod app;
pub mod config;
pub mod http_client;
pub mod originals;
pub mod spool;
pub mod system;
