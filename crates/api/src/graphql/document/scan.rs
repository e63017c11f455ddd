//! Limits on the text of a document before it is parsed: brackets, tokens, names and escapes.

use super::refusal::{bad, within};
use crate::{error::ApiError, limits::DocumentLimits};

/// Checks a text in one pass, without recursion.
pub(super) fn scan(text: &str, limits: &DocumentLimits) -> Result<(), ApiError> {
    let bytes = text.as_bytes();
    within(bytes.len(), limits.bytes, "bytes")?;
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
                within(tokens, limits.tokens, "tokens or more")?;
                at = if bytes[at..].starts_with(b"\"\"\"") { skip_block_string(bytes, at + 3) } else { skip_string(bytes, at + 1)? };
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
                let start = at;
                while bytes.get(at + 1).copied().is_some_and(is_word) {
                    at += 1;
                }
                within(at + 1 - start, limits.name_bytes, "bytes in one name or number")?;
                tokens += 1;
            }
            b if b.is_ascii_whitespace() || b == b',' => {}
            _ => tokens += 1,
        }
        within(tokens, limits.tokens, "tokens or more")?;
        at += 1;
    }
    Ok(())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns the position after a string. Refuses escapes of surrogates.
fn skip_string(bytes: &[u8], mut at: usize) -> Result<usize, ApiError> {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\n' | b'\r' => return Ok(at), // the parser reports the position
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

fn skip_block_string(bytes: &[u8], mut at: usize) -> usize {
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
