//! Turns candidate facts into a plan, and the plan into one commit.
//!
//! All modules except `learn` and `processor` are pure: time and ids are arguments, and the same input gives the same plan.
//! `learn` loads, decides and commits, and plans again if the plan was stale. `processor` runs the durable queue.
//! Invariant: this crate calls no model; candidates arrive as data. A test scans the imports.

pub mod adopt;
mod change_signs;
mod claims;
mod decide;
mod denials;
pub mod edit;
mod events;
pub mod forget;
pub mod learn;
pub mod merge;
mod message_entities;
mod name_query;
mod origins;
pub mod processor;
mod resolve;
mod said_period;
pub mod separate;
mod session_limits;
mod stated_names;
mod statement;
pub mod unmerge;
pub mod weigh;

pub use learn::{LearnError, Learner};
pub use name_query::{CandidateEntity, NameQuery};
pub use processor::{Outcome, Processor, ProcessorConfig, Work};
pub use resolve::KnownEntities;
pub use session_limits::SessionLimits;
pub use statement::Statement;
pub use weigh::{Standing, is_rival, relative_weight, rival_keys, standing};

#[cfg(test)]
mod tests;
