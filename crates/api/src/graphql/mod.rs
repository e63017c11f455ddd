//! The GraphQL API: one schema, one engine with all limits, and several transports.
//!
//! Resolvers call use cases and loaders. They must not make decisions themselves.
//!
//! Each file imports only from files before it: `budget`, `batch` and `loader` (how reads run), `scope` (what an operation carries),
//! `page` and `model` (types), `sources`, `time_input`, `query`, `mutation` and `subscription` (root fields), `schema`, `engine`, and the
//! transports `http` and `websocket`. A file takes a name from the file that defines it. The re-exports below are for the rest of the crate.

mod batch;
mod budget;
mod close;
mod cost;
mod cpu;
mod document;
pub(crate) mod documents;
mod engine;
mod http;
mod loader;
mod model;
mod mutation;
mod page;
mod query;
mod response;
pub(crate) mod schema;
mod scope;
mod services;
mod sources;
mod subscription;
pub(crate) mod throttle;
mod time_input;
mod websocket;

pub(crate) use budget::ResponseBudget;
pub(crate) use cost::extra_requests;
pub(crate) use engine::Engine;
pub(crate) use http::{get, post};
pub(crate) use loader::RivalsOf;
pub(crate) use page::{MAX_CANDIDATES, encode_cursor, read_page};
pub(crate) use scope::{Memory, OperationScope};
pub(crate) use services::{Services, Streams};
pub(crate) use sources::{at_document, check_collection, reject_many};
pub(crate) use websocket::open;

#[cfg(test)]
mod tests;
