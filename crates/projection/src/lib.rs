//! Keeps a graph engine in step with the store, and answers from whichever of the two can answer now.
//!
//! The store tells what changed (`ChangeFeed`), the engine takes it batch by batch and remembers in the graph itself up to which
//! change it got. So delivery is at least once, effects are once, changes of one user arrive in order, and an engine that was
//! down or wiped is brought up to date by the same loop, which also looks for what somebody took out of a graph that stays there. Nothing here names an engine, and nothing decides about knowledge.

mod batch;
mod compare;
mod connections;
mod inspector;
mod paths;
mod projector;
mod reader;
mod status;
mod step;

pub use compare::{Difference, compare};
pub use connections::StoreGraph;
pub use projector::Projector;
pub use reader::{GraphReader, Missed};
pub use status::GraphStatus;
pub use step::{Projection, Rebuilt};
