//! The commands of the `recall` binary. Only this module chooses adapters.

mod adapters;
pub mod archive;
mod chats;
mod check;
mod cli;
mod documents;
mod extract;
mod graph;
mod health;
mod login;
mod maintenance;
mod mcp;
mod models;
mod operator;
mod output;
mod parse;
pub mod reembed;
mod retention;
mod serve;
mod telemetry;
mod tls;
mod user;
mod wiring;

pub use cli::{describe_error, run};
pub use output::OutputClosed;
