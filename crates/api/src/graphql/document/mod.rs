//! Bounds the work that a GraphQL document causes, before the library processes it.
//!
//! The library's parser recurses on the stack. Its validation expands fragments, clones variables at each use, and collects every
//! error. So [`scan`] counts brackets, tokens and names in the text before parsing. [`work`] then counts what validation would visit.
//! A document that passes both costs at most [`DocumentLimits::steps`]. This module must not depend on the schema.

mod refusal;
mod scan;
#[cfg(test)]
mod tests;
mod work;

use async_graphql::{Variables, parser::parse_query, parser::types::ExecutableDocument};

use self::refusal::bad;
pub(crate) use self::work::Work;
use crate::{error::ApiError, limits::DocumentLimits};

/// A document that passed the limits, with its validation cost.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// The parsed document.
    pub(crate) document: ExecutableDocument,
    /// The cost of validation.
    pub(crate) work: Work,
}

/// Parses a document and checks its work against the limits.
///
/// # Errors
/// `QUERY_TOO_DEEP`, `QUERY_TOO_LARGE` (with the figure and its limit), or `GRAPHQL_PARSE_FAILED`.
pub(crate) fn admit(text: &str, variables: &Variables, limits: &DocumentLimits) -> Result<Admitted, ApiError> {
    scan::scan(text, limits)?;
    let document = parse_query(text).map_err(|e| bad("GRAPHQL_PARSE_FAILED", e.to_string()))?;
    let work = work::measure(&document, variables, limits)?;
    Ok(Admitted { document, work })
}
