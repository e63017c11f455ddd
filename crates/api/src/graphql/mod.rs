//! The GraphQL API: one schema, several transports, one engine with the limits. Resolvers call use cases and loaders;
//! they must not decide anything themselves.

mod answer;
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
mod pace;
mod page;
mod query;
mod scope;
mod subscription;
mod websocket;

use async_graphql::SDLExportOptions;

pub(crate) use budget::AnswerBudget;
pub use budget::AnswerLimits;
pub use engine::Admission;
pub(crate) use engine::{Behind, Engine, Issuers, Streams};
pub(crate) use http::{get, post};
pub(crate) use loader::RivalsOf;
pub use pace::WEBSOCKET_FRAMES;
pub(crate) use page::MOST_CANDIDATES;
pub(crate) use scope::{Memory, Scope};
pub(crate) use websocket::open;

use super::Limits;

/// The schema as text, in a stable order: the content of `schema.graphql`.
pub fn sdl() -> String {
    let options = SDLExportOptions::new().use_space_ident().include_specified_by();
    engine::schema(&Limits::default()).finish().sdl_with_options(options)
}

#[cfg(test)]
mod tests;
