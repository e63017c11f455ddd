//! The command line: what each command opens, in which order, and how it ends. Adapters are chosen here and nowhere else.

pub mod archive;
mod check;
mod cli;
mod extract;
mod graph;
mod health;
mod login;
mod maintenance;
mod models;
mod output;
pub mod reembed;
mod retention;
mod serve;
mod telemetry;
mod tls;
mod user;
mod wiring;

pub use cli::{run, told};
pub use output::OutputClosed;
