//! Intake of GraphQL documents: what a document may cost before anything walks it. The parser recurses on the machine
//! stack and panics on a lone surrogate, and validation expands fragments wherever they are spread; so brackets, tokens
//! and escapes are counted in the bare text first, and spreads are counted with a memo right after parsing.
//! Must not know the schema.

use std::collections::HashMap;

use async_graphql::parser::{
    parse_query,
    types::{ExecutableDocument, Selection, SelectionSet},
};
use axum::http::StatusCode;

use crate::api::error::ApiError;

/// Bounds of one document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentLimits {
    /// Brackets open at once, of any kind.
    pub nesting: usize,
    /// Names, numbers, strings and punctuation marks.
    pub tokens: usize,
    /// Selections once every fragment spread is replaced by its fragment.
    pub selections: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        // An inlined import of 500 messages has about 10,000 tokens; the introspection query of GraphiQL about 150 selections.
        Self { nesting: 48, tokens: 20_000, selections: 5_000 }
    }
}

/// Parses a document within limits.
///
/// # Errors
/// `QUERY_TOO_DEEP`, `QUERY_TOO_LARGE`, or `GRAPHQL_PARSE_FAILED`.
pub fn parse(text: &str, limits: &DocumentLimits) -> Result<ExecutableDocument, ApiError> {
    scan(text, limits)?;
    let document = parse_query(text).map_err(|e| bad("GRAPHQL_PARSE_FAILED", e.to_string()))?;
    count_selections(&document, limits)?;
    Ok(document)
}

fn bad(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, code, message)
}

/// One pass over the bare text, without recursion.
fn scan(text: &str, limits: &DocumentLimits) -> Result<(), ApiError> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut tokens) = (0, 0usize, 0usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => {
                while bytes.get(at).is_some_and(|b| !matches!(b, b'\n' | b'\r')) {
                    at += 1;
                }
                continue;
            }
            b'"' => {
                tokens += 1;
                at = if bytes[at..].starts_with(b"\"\"\"") { block_string(bytes, at + 3) } else { string(bytes, at + 1)? };
                if tokens > limits.tokens {
                    return Err(too_large(limits));
                }
                continue;
            }
            b'{' | b'[' | b'(' => {
                depth += 1;
                if depth > limits.nesting {
                    return Err(bad("QUERY_TOO_DEEP", format!("A query may nest at most {} brackets.", limits.nesting)));
                }
                tokens += 1;
            }
            b'}' | b']' | b')' => {
                depth = depth.saturating_sub(1);
                tokens += 1;
            }
            b if is_word(b) => {
                while bytes.get(at + 1).copied().is_some_and(is_word) {
                    at += 1;
                }
                tokens += 1;
            }
            b if b.is_ascii_whitespace() || b == b',' => {}
            _ => tokens += 1,
        }
        if tokens > limits.tokens {
            return Err(too_large(limits));
        }
        at += 1;
    }
    Ok(())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn too_large(limits: &DocumentLimits) -> ApiError {
    bad("QUERY_TOO_LARGE", format!("A query may have at most {} tokens; put long lists into variables.", limits.tokens))
}

/// Position after a string; refuses escapes that are no character of their own.
fn string(bytes: &[u8], mut at: usize) -> Result<usize, ApiError> {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\n' | b'\r' => return Ok(at), // the parser will name the place
            b'\\' => {
                let surrogate = bytes.get(at + 1) == Some(&b'u')
                    && bytes.get(at + 2).is_some_and(|b| b.eq_ignore_ascii_case(&b'd'))
                    && bytes.get(at + 3).is_some_and(|b| matches!(b, b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'));
                if surrogate {
                    return Err(bad(
                        "GRAPHQL_PARSE_FAILED",
                        "A surrogate escape in a string of the query is not supported; use a variable.",
                    ));
                }
                at += 2;
            }
            _ => at += 1,
        }
    }
    Ok(at)
}

fn block_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        if bytes[at..].starts_with(b"\\\"\"\"") {
            at += 4;
        } else if bytes[at..].starts_with(b"\"\"\"") {
            return at + 3;
        } else {
            at += 1;
        }
    }
    at
}

/// Counts what validation would visit. Thirty fragments that each spread the next one twice are a billion selections.
fn count_selections(document: &ExecutableDocument, limits: &DocumentLimits) -> Result<(), ApiError> {
    let mut counter = Counter { document, memo: HashMap::new(), limit: limits.selections };
    for (_, operation) in document.operations.iter() {
        counter.set(&operation.node.selection_set.node)?;
    }
    // Fragments that nothing spreads are walked by validation as well.
    for name in document.fragments.keys() {
        counter.fragment(name.as_str())?;
    }
    Ok(())
}

struct Counter<'d> {
    document: &'d ExecutableDocument,
    /// `None` while a fragment is being counted: meeting it again is a cycle.
    memo: HashMap<&'d str, Option<usize>>,
    limit: usize,
}

impl<'d> Counter<'d> {
    // Recursion is bounded: nesting within a document by `scan`, spreads by the memo, which refuses cycles; a chain of
    // fragments is as long as the document has fragments, so its length is bounded here.
    fn set(&mut self, set: &'d SelectionSet) -> Result<usize, ApiError> {
        let mut total = 0usize;
        for item in &set.items {
            total = total.saturating_add(match &item.node {
                Selection::Field(field) => 1 + self.set(&field.node.selection_set.node)?,
                Selection::InlineFragment(inline) => self.set(&inline.node.selection_set.node)?,
                Selection::FragmentSpread(spread) => match self.document.fragments.get_key_value(spread.node.fragment_name.node.as_str()) {
                    Some((name, _)) => self.fragment(name.as_str())?,
                    None => 0, // validation will name it
                },
            });
            if total > self.limit {
                return Err(bad("QUERY_TOO_LARGE", format!("A query may select at most {} fields.", self.limit)));
            }
        }
        Ok(total)
    }

    fn fragment(&mut self, name: &'d str) -> Result<usize, ApiError> {
        match self.memo.get(name) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Err(bad("GRAPHQL_VALIDATION_FAILED", "A fragment spreads itself.")),
            None => {}
        }
        let open = self.memo.values().filter(|v| v.is_none()).count();
        if open > 32 {
            return Err(bad("QUERY_TOO_DEEP", "Fragments may spread fragments at most 32 deep."));
        }
        let Some(fragment) = self.document.fragments.get(name) else { return Ok(0) };
        self.memo.insert(name, None);
        let total = self.set(&fragment.node.selection_set.node)?;
        self.memo.insert(name, Some(total));
        Ok(total)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> &'static str {
        match parse(text, &DocumentLimits::default()) {
            Ok(_) => panic!("accepted"),
            Err(e) => e.code(),
        }
    }

    #[test]
    fn ordinary_documents_pass() {
        for text in [
            "{ a(x: \"}}}}\") { b } } # {{{{{",
            "query Q($x: [Int!]!) { a(x: $x) { ...F } } fragment F on A { b c { d } }",
            "mutation { a(t: \"\"\"block \" \\\"\"\" { \"\"\") { b } }",
            "{ a(x: \"\\u00e9 \\\\ud800 \\\"\") }",
        ] {
            assert!(parse(text, &DocumentLimits::default()).is_ok(), "{text}");
        }
    }

    #[test]
    fn depth_never_reaches_the_parser() {
        assert_eq!(refusal(&"{a".repeat(10_000)), "QUERY_TOO_DEEP");
        assert_eq!(refusal(&format!("{{a(x:{})}}", "[".repeat(100_000))), "QUERY_TOO_DEEP");
        assert_eq!(refusal(&format!("query($x:{}Int{}){{a}}", "[".repeat(5_000), "]".repeat(5_000))), "QUERY_TOO_DEEP");
    }

    #[test]
    fn bombs_are_refused() {
        let aliases: String = (0..30_000).map(|n| format!("a{n}:x ")).collect();
        assert_eq!(refusal(&format!("{{{aliases}}}")), "QUERY_TOO_LARGE");
        let laughs: String = (0..30).map(|n| format!("fragment F{n} on Q {{ ...F{} ...F{} }} ", n + 1, n + 1)).collect();
        assert_eq!(refusal(&format!("{{...F0}} {laughs} fragment F30 on Q {{ x }}")), "QUERY_TOO_LARGE");
        assert_eq!(refusal("{...A} fragment A on Q {...B ...B} fragment B on Q {...A ...A}"), "GRAPHQL_VALIDATION_FAILED");
        let chain: String = (0..200).map(|n| format!("fragment F{n} on Q {{ ...F{} }} ", n + 1)).collect();
        assert_eq!(refusal(&format!("{{...F0}} {chain} fragment F200 on Q {{ x }}")), "QUERY_TOO_DEEP");
    }

    #[test]
    fn surrogate_escapes_do_not_panic() {
        assert_eq!(refusal("{ a(x: \"\\uD800\") }"), "GRAPHQL_PARSE_FAILED");
        assert_eq!(refusal("{ a(x: \"\\udfff\") }"), "GRAPHQL_PARSE_FAILED");
    }

    #[test]
    fn any_text_gives_a_document_or_an_error() {
        bolero::check!().with_iterations(2_000).for_each(|bytes: &[u8]| {
            if let Ok(text) = std::str::from_utf8(bytes) {
                let _ = parse(text, &DocumentLimits::default());
            }
        });
    }
}
