//! Keeps a graph engine in step with the store, and answers graph queries from either.
//!
//! The store lists changes (`ChangeFeed`). The engine applies them in batches, and records its position in the graph
//! itself. So a change is delivered at least once and takes effect once, and the changes of one user arrive in order.
//! The same loop updates an engine that was down or wiped, and repairs damaged graphs. This crate depends on no
//! specific engine and makes no decisions about knowledge.

mod batch;
mod compare;
mod connections;
mod inspector;
mod paths;
mod projection;
mod projector;
mod reader;
mod status;

pub use compare::{Difference, compare};
pub use connections::StoreGraph;
pub use projection::{Projection, Rebuilt};
pub use projector::Projector;
pub use reader::{GraphReader, Missed};
pub use status::GraphStatus;
