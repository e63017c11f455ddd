//! Finds the words after a verb that limit when it holds: "anymore", "on Fridays", "until". Pure.

use recall_domain::time_words;

use super::lexicon::{VerbForm, lexicon};
use super::phrases::VerbGroup;
use super::tokens::Token;

/// Whether the words after a negated verb say that something was so before: "anymore", "any longer", "these days", "since the move".
pub(super) fn is_over(tail: &[Token], after: &[Token]) -> bool {
    let near: Vec<&Token> = tail.iter().chain(after.iter().take(2)).collect();
    let pair = |a: &str, b: &str| near.windows(2).any(|t| t[0].is(a) && t[1].is(b));
    let word = |w: &str| tail.iter().any(|t| t.is(w));
    near.iter().any(|t| matches!(t.norm.as_str(), "anymore" | "nowadays"))
        || pair("any", "more")
        || pair("any", "longer")
        || pair("no", "longer")
        || pair("these", "days")
        || word("now")
        || word("since")
}

/// Whether the words after a verb limit it to some days or times of day: "on Fridays".
pub(super) fn is_of_some_days(tail: &[Token]) -> bool {
    time_words::is_of_some_days(&norms(tail))
}

/// Whether the present tense of a verb of change tells what will happen: "I start there on Monday", "tomorrow I move".
pub(super) fn is_to_come(sentence: &[Token], g: &VerbGroup) -> bool {
    let is_present = g.start == g.main && matches!(sentence[g.main].form, Some(VerbForm::Base | VerbForm::ThirdPerson)) && !g.past;
    let is_change = matches!(g.lemma.as_str(), "start" | "begin" | "move" | "join" | "leave" | "relocate" | "quit" | "retire");
    let is_date = |word: &str| lexicon().in_set("time", word) || word.starts_with(|c: char| c.is_ascii_digit());
    is_present && is_change && time_words::has_day_to_come(&norms(sentence), is_date)
}

fn norms(tokens: &[Token]) -> Vec<&str> {
    tokens.iter().map(|t| t.norm.as_str()).collect()
}

/// Whether a word says until when.
pub(super) fn is_until(t: &Token) -> bool {
    matches!(t.norm.as_str(), "until" | "till" | "til" | "'til")
}
