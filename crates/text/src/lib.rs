//! Computes the index terms and marks of a text, for the index and for ranking, and its summary.

mod marks;
mod summary;
mod terms;

pub use marks::{ASKS, NAMES, index_terms, is_mark};
pub use summary::summarize;
pub use terms::{terms, words};
