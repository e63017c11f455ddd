//! Relevantic Recall: a memory server for chat applications. The command line, the configuration, and the wiring of the parts.
//!
//! Each part is a crate of its own, so that the compiler keeps to the order of their dependencies (ARCHITECTURE.md).

// What a command prints may have no reader (`app::output`).
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod app;
pub mod config;
pub mod http_client;
pub mod system;
