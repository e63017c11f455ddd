//! Computes the index terms and marks of a text, for the index and for ranking, and its summary, and masks what is never stored. Knows synonyms and typing
//! errors.

mod marks;
mod sensitive;
mod spelling;
mod summary;
mod synonyms;
mod terms;

pub use marks::{ASKS, CONSULTS, NAMES, index_terms, is_mark};
pub use sensitive::{Finding, Masked, PatternError, SensitiveKind, SensitivePatterns};
pub use spelling::{TypingError, may_be_mistyped, meant_words};
pub use summary::summarize;
pub use synonyms::{concepts, phrases_of, sure_concepts};
pub use terms::{is_stop_word, terms, words};
