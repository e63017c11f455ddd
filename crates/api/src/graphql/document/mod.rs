//! Intake of GraphQL documents: bounds the work that a document causes before the library walks it.
//!
//! The library's parser recurses on the machine stack, and its validation expands fragments, clones variables at each use and
//! collects every error. So [`scan`] counts brackets, tokens and names in the bare text before parsing, and [`work`] counts what
//! validation would visit right after parsing. A document that passes both costs at most [`DocumentLimits::steps`].
//! Must not know the schema.

mod scan;
#[cfg(test)]
mod tests;
mod work;

use async_graphql::{Variables, parser::parse_query, parser::types::ExecutableDocument};
use axum::http::StatusCode;

pub use self::work::Work;
use crate::error::ApiError;

/// Bounds of one document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentLimits {
    /// Bytes of the text.
    pub bytes: usize,
    /// Brackets open at once, of any kind.
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
    /// Directives at one place.
    pub directives: usize,
    /// Fields, spreads and inline fragments of all operations, once every spread is replaced by its fragment.
    pub selections: usize,
    /// `__typename` fields of one object, which the library resolves without asking anybody.
    pub typenames: usize,
    /// Bytes of all arguments with their variables, each counted at every use. The library clones them there.
    pub argument_bytes: usize,
    /// Bytes of the arguments of one field below the root, which is resolved once for each item of a list.
    pub nested_argument_bytes: usize,
    /// Visits of validation, as [`Work::steps`] counts them.
    pub steps: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        // An inlined import of 500 messages has about 10,000 tokens. The documents of the bundled pages and GraphiQL's introspection
        // query take less than a tenth of the steps; a test holds them to that.
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

/// A document that may be validated, and what that costs.
#[derive(Debug)]
pub struct Admitted {
    /// The parsed document.
    pub document: ExecutableDocument,
    /// What validation costs.
    pub work: Work,
}

/// Parses a document and bounds its work.
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

/// `QUERY_TOO_LARGE`, when a count of the document exceeds its limit. `what` names the count: "operations".
fn within(count: usize, limit: usize, what: &str) -> Result<(), ApiError> {
    if count <= limit {
        return Ok(());
    }
    Err(bad("QUERY_TOO_LARGE", format!("The query has {count} {what}; the limit is {limit}. Split it, or use variables.")))
}
