//! Bounds the work that a GraphQL document causes, before the library processes it.
//!
//! The library's parser recurses on the stack. Its validation expands fragments, clones variables at each use, and collects every
//! error. So [`scan`] counts brackets, tokens and names in the text before parsing. [`work`] then counts what validation would visit.
//! A document that passes both costs at most [`DocumentLimits::steps`]. This module must not depend on the schema.

mod scan;
#[cfg(test)]
mod tests;
mod work;

use async_graphql::{Variables, parser::parse_query, parser::types::ExecutableDocument};
use axum::http::StatusCode;

pub use self::work::Work;
use crate::error::ApiError;

/// Limits for one document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentLimits {
    /// Bytes of the text.
    pub bytes: usize,
    /// Nested brackets, of any kind.
    pub nesting: usize,
    /// Names, numbers, strings and punctuation marks.
    pub tokens: usize,
    /// Bytes of a name or a number.
    pub name_bytes: usize,
    /// Operations.
    pub operations: usize,
    /// Fragment definitions.
    pub fragments: usize,
    /// Variable definitions of all operations together.
    pub variables: usize,
    /// Arguments of one field or directive.
    pub arguments: usize,
    /// Directives at one location.
    pub directives: usize,
    /// Fields, spreads and inline fragments of all operations, with every spread replaced by its fragment.
    pub selections: usize,
    /// `__typename` fields of one object. The library resolves them without calling a resolver.
    pub typenames: usize,
    /// Bytes of all arguments, with variables counted at every use, because the library clones them there.
    pub argument_bytes: usize,
    /// Bytes of the arguments of one field below the root. Such a field is resolved once per list item.
    pub nested_argument_bytes: usize,
    /// Steps of validation, as counted in [`Work::steps`].
    pub steps: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        // An import of 500 messages without variables has about 10,000 tokens. The documents of the bundled pages and GraphiQL's
        // introspection query need less than a tenth of the steps, which a test checks.
        Self {
            bytes: 256 * 1024,
            nesting: 48,
            tokens: 20_000,
            name_bytes: 128,
            operations: 50,
            fragments: 200,
            variables: 200,
            arguments: 32,
            directives: 8,
            selections: 3_000,
            typenames: 32,
            argument_bytes: 8 * 1024 * 1024,
            nested_argument_bytes: 4 * 1024,
            steps: 50_000,
        }
    }
}

/// A document that passed the limits, with its validation cost.
#[derive(Debug)]
pub struct Admitted {
    /// The parsed document.
    pub document: ExecutableDocument,
    /// The cost of validation.
    pub work: Work,
}

/// Parses a document and checks its work against the limits.
///
/// # Errors
/// `QUERY_TOO_DEEP`, `QUERY_TOO_LARGE` (with the figure and its limit), or `GRAPHQL_PARSE_FAILED`.
pub fn admit(text: &str, variables: &Variables, limits: &DocumentLimits) -> Result<Admitted, ApiError> {
    scan::scan(text, limits)?;
    let document = parse_query(text).map_err(|e| bad("GRAPHQL_PARSE_FAILED", e.to_string()))?;
    let work = work::measure(&document, variables, limits)?;
    Ok(Admitted { document, work })
}

fn bad(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, code, message)
}

/// Returns `QUERY_TOO_LARGE` if a count exceeds its limit. `what` names the count, such as "operations".
fn within(count: usize, limit: usize, what: &str) -> Result<(), ApiError> {
    if count <= limit {
        return Ok(());
    }
    Err(bad("QUERY_TOO_LARGE", format!("The query has {count} {what}; the limit is {limit}. Split it, or use variables.")))
}
