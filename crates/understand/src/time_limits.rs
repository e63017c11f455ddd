//! Finds the words after a verb that limit when it holds: "anymore", "on Fridays", "until". Pure.

use super::lexicon::{VerbForm, lexicon};
use super::phrases::VerbGroup;
use super::tokens::Token;

/// Weekdays without "day".
const WEEKDAYS: [&str; 7] = ["mon", "tues", "wednes", "thurs", "fri", "satur", "sun"];

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

/// Whether the words after a verb limit it to some days or times of day: "on Fridays", "at weekends", "in the mornings".
pub(super) fn is_of_some_days(tail: &[Token]) -> bool {
    const PARTS: [&str; 6] = ["weekends", "mornings", "afternoons", "evenings", "nights", "night"];
    let is_weekday = |word: &str| word.strip_suffix("days").is_some_and(|day| WEEKDAYS.contains(&day));
    let is_part = |t: &Token| PARTS.contains(&t.norm.as_str()) || is_weekday(&t.norm);
    (0..tail.len()).any(|i| {
        let after = if tail.get(i + 1).is_some_and(|t| t.is("the")) { i + 2 } else { i + 1 };
        matches!(tail[i].norm.as_str(), "on" | "at" | "in") && tail.get(after).is_some_and(is_part)
    })
}

/// Whether the present tense of a verb of change tells what will happen: "I start there on Monday", "tomorrow I move".
pub(super) fn is_to_come(sentence: &[Token], g: &VerbGroup) -> bool {
    let is_present = g.start == g.main && matches!(sentence[g.main].form, Some(VerbForm::Base | VerbForm::ThirdPerson)) && !g.past;
    let is_change = matches!(g.lemma.as_str(), "start" | "begin" | "move" | "join" | "leave" | "relocate" | "quit" | "retire");
    let word = |i: usize| sentence.get(i).map_or("", |t| t.norm.as_str());
    let is_date = |i: usize| lexicon().in_set("time", word(i)) || word(i).starts_with(|c: char| c.is_ascii_digit());
    let is_future = |i: usize| match word(i) {
        "tomorrow" | "soon" | "next" => true,
        "on" | "from" => is_date(i + 1) || is_date(i + 2),
        "in" => is_date(i + 1) || is_date(i + 2) || word(i + 2) == "weeks",
        _ => false,
    };
    is_present && is_change && (0..sentence.len()).any(is_future)
}

/// Whether a word says until when.
pub(super) fn is_until(t: &Token) -> bool {
    matches!(t.norm.as_str(), "until" | "till" | "til" | "'til")
}
