//! Recognises short sentences that end what the sentence before said: "We had a goldfish. Had.", "Not any more."

use super::lexicon::VerbForm;
use super::time_limits::is_over;
use super::tokens::{Pos, Token};

/// Whether a sentence says only that the one before no longer holds.
pub(super) fn ends_previous(tokens: &[Token]) -> bool {
    let words: Vec<&Token> = tokens.iter().filter(|t| !matches!(t.pos, Pos::Punct | Pos::Sym | Pos::Intj)).collect();
    match words.as_slice() {
        [one] => {
            let past = matches!(one.form, Some(VerbForm::Past)) && matches!(one.pos, Pos::Verb | Pos::Aux);
            let states =
                ["had", "was", "were", "did", "worked", "lived", "taught", "loved", "liked", "used", "owned", "ran", "knew", "studied"];
            past && states.contains(&one.norm.as_str())
        }
        [not, rest @ ..] if not.is("not") && rest.len() <= 2 => {
            let rest: Vec<Token> = rest.iter().map(|t| (*t).clone()).collect();
            is_over(&rest, &[])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::tagged;

    #[test]
    fn short_sentences_end_the_one_before() {
        for (text, expected) in [
            ("Had.", true),
            ("Not any more.", true),
            ("Not anymore!", true),
            ("Not now", true),
            ("Not bad", false),
            ("Had a dog.", false),
            ("Great.", false),
        ] {
            assert_eq!(ends_previous(&tagged(text)), expected, "{text}");
        }
    }
}
