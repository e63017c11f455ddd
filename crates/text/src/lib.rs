//! Computes the index terms and marks of a text, for the index and for ranking, and its summary, and masks what is never stored.

mod marks;
mod sensitive;
mod summary;
mod terms;

pub use marks::{ASKS, CONSULTS, NAMES, index_terms, is_mark};
pub use sensitive::{Finding, Masked, PatternError, SensitiveKind, SensitivePatterns};
pub use summary::summarize;
pub use terms::{is_stop_word, terms, words};
