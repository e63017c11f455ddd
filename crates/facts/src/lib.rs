//! Candidate facts and what is known become a plan, and a plan becomes one commit.
//!
//! All but `learn` and `processor` is pure: time and ids are arguments, the same input gives the same plan.
//! `learn` loads, decides, commits and starts again when the plan was stale. `processor` runs the durable queue.
//! Invariant: nothing in here calls a model; candidates arrive as data. A test scans the imports.

pub mod adopt;
mod cast;
mod claims;
mod decide;
pub mod edit;
pub mod learn;
pub mod merge;
mod news;
pub mod processor;
mod resolve;
mod room;
pub mod unmerge;
pub mod weigh;
mod who;

pub use learn::{LearnError, Learner, Statement};
pub use processor::{Outcome, Processor, ProcessorConfig, Work};
pub use resolve::Memory;
pub use room::SessionLimits;
pub use weigh::{Standing, is_rival, relative_weight, rival_keys, standing};
pub use who::{AskedName, Likely};

#[cfg(test)]
mod tests;
