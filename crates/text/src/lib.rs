//! Computes the index terms and marks of a text, for the index and for ranking.

mod marks;
mod terms;

pub use marks::{ASKS, NAMES, index_terms, is_mark};
pub use terms::terms;
