//! Recognises samples, which state nothing: "e.g. My name is Al", "Example: …", "Fill in your name: …".

use super::tokens::{Pos, Token};

/// Verbs of orders to write what follows the colon.
const FILLING: &[&str] = &["fill", "enter", "write", "type", "insert"];
/// Words before such a verb.
const BEFORE: &[&str] = &["then", "please", "and", "now", "for", "("];

/// Whether a sentence is a sample.
pub(crate) fn is_sample(tokens: &[Token]) -> bool {
    let is_before = |t: &&Token| t.pos == Pos::Punct && !t.is(":") || BEFORE.contains(&t.norm.as_str());
    let rest = &tokens[tokens.iter().take_while(is_before).count()..];
    let Some(first) = rest.first() else { return false };
    let order = &rest[..rest.iter().position(|t| t.is(":")).unwrap_or(0)];
    // "Type: …" is a label, and "Write to Al: …" a request.
    let is_filling = order.first().is_some_and(|t| FILLING.contains(&t.norm.as_str()))
        && (order.iter().any(|t| t.is("your") || t.is("in")) || order.len() == 1 && !first.is("type"));
    first.norm.starts_with("e.g")
        || matches!(first.norm.as_str(), "example" | "sample") && rest.get(1).is_some_and(|t| t.is(":"))
        || is_filling
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::tagged;

    #[test]
    fn samples_are_recognized() {
        for (text, expected) in [
            ("e.g. My name is Al Berg", true),
            ("Example: Al lives in Rome.", true),
            ("Then write: My name is Al.", true),
            ("Enter your city: I live in Rome", true),
            ("Al lives in Rome, e.g. in May.", false),
            ("Write to Al.", false),
            ("Type: Al is my brother", false),
            ("Insert joke here: I live in Rome", false),
            ("My example: Al lives in Rome", false),
        ] {
            assert_eq!(is_sample(&tagged(text)), expected, "{text}");
        }
    }
}
