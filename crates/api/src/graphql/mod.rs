//! The GraphQL API: one schema, one engine with all limits, and several transports.
//!
//! Resolvers call use cases and loaders. They must not make decisions themselves.

mod batch;
mod budget;
mod close;
mod cost;
mod cpu;
pub mod document;
pub mod documents;
mod engine;
mod http;
mod loader;
mod model;
mod mutation;
mod page;
mod query;
mod response;
mod scope;
mod subscription;
mod throttle;
mod websocket;

use async_graphql::SDLExportOptions;

pub(crate) use budget::ResponseBudget;
pub use budget::ResponseLimits;
pub use engine::Admission;
pub(crate) use engine::{Engine, EngineDependencies, Issuers, Streams};
pub(crate) use http::{get, post};
pub(crate) use loader::RivalsOf;
pub(crate) use page::MAX_CANDIDATES;
pub(crate) use scope::{Memory, OperationScope};
pub use throttle::WEBSOCKET_FRAMES;
pub(crate) use websocket::open;

use super::Limits;

/// Returns the schema as text in a stable order: the content of `schema.graphql`.
pub fn sdl() -> String {
    let options = SDLExportOptions::new().use_space_ident().include_specified_by();
    engine::schema(&Limits::default()).finish().sdl_with_options(options)
}

#[cfg(test)]
mod tests;
