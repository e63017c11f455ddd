//! The API as clients meet it: a real server on a free port over the real store, index and signaling.

mod connections;
mod deletion;
mod edge;
mod erase;
mod errors;
mod expensive;
pub(crate) mod harness;
mod hostile;
mod http2;
mod isolation;
mod operations;
mod origins;
mod pace;
mod rest;
mod shared;
mod statements;
mod streams;
mod sweep;
