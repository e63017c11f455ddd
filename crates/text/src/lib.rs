//! The words of a text in the form in which they are compared, for the index and for ranking.

mod marks;
mod terms;

pub use marks::{ASKS, NAMES, index_terms, is_mark};
pub use terms::terms;
