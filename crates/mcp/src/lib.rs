//! The memory for agents: tools, resources and a prompt of the Model Context Protocol (MCP).
//!
//! A tool reads its arguments, calls use cases, and renders the result twice: as data with a schema, and as a short text. This crate
//! decides nothing about the memory. Who calls and how much they may do is decided by the HTTP layer, through the trait [`Gate`].
//!
//! The transport is stateless: every request carries all that the server needs, so several servers can answer one client.

mod arguments;
mod gate;
mod memories;
mod names;
mod prompt;
mod resources;
mod schema;
mod server;
mod tools;
mod view;

pub use gate::{Access, Failure, Gate, Refusal};
pub use server::{McpLimits, McpServer, McpService, service};
