//! Relevantic Recall: a memory server for chat applications.
//!
//! The map of the house, from the street inwards: `api` (GraphQL, REST, pages) calls `conversation` (use cases),
//! which uses `understand` (a message to candidates) and `facts` (candidates to a plan, pure), which speak to the
//! world through `ports`; `adapters` implement those and never import each other. `domain` lies below all. `streaming`
//! serves the event logs to `signaling`; `app` reads the `config`, chooses adapters and wires everything.

// What a command prints may have no reader (`app::output`).
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod adapters;
pub mod api;
pub mod app;
pub mod config;
pub mod conversation;
pub mod domain;
pub mod facts;
pub mod ports;
pub mod projection;
pub mod streaming;
pub mod understand;

// Test fixtures are shared with the examples, which know this crate by its name.
#[cfg(test)]
extern crate self as recall;
