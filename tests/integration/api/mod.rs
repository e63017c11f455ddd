//! The API as clients use it: a real server on a free port with the real store, index and signaling.

mod closing;
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
mod memory_events;
mod nodes;
mod openapi;
mod operations;
mod origins;
mod pace;
mod pauses;
mod rest;
mod shared;
mod statements;
mod streams;
mod sweep;
