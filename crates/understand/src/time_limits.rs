//! Finds the words after a verb that limit when it holds: "anymore", "on Fridays", "until". Pure.

use recall_domain::time_words;

use super::lexicon::{VerbForm, lexicon};
use super::phrases::VerbGroup;
use super::tokens::{Pos, Token};

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

/// Whether words limit a stay: "this week", "until Friday", "today", "all weekend", "over Christmas". "This year" may be a home.
pub(super) fn is_of_limited_time(words: &[Token]) -> bool {
    let is_short = |t: &Token| {
        lexicon().in_set("time", &t.norm) && !matches!(t.norm.as_str(), "year" | "years" | "time" | "moment")
            || lexicon().in_set("occasions", &t.norm)
    };
    let is_single = |t: &Token| matches!(t.norm.as_str(), "today" | "tonight" | "tomorrow" | "yesterday" | "temporarily") || is_until(t);
    words.iter().any(is_single)
        || words.windows(2).any(|w| matches!(w[0].norm.as_str(), "this" | "all" | "over" | "next") && is_short(&w[1]))
        || words.windows(3).any(|w| matches!(w[0].norm.as_str(), "over" | "at") && w[1].is("the") && is_short(&w[2]))
}

/// Whether the words after an order say that it is still to come: "arrives next week", "it comes on Monday", "hasn't arrived".
pub(super) fn is_awaited(words: &[Token]) -> bool {
    let is_present = |t: &Token| {
        matches!(t.norm.as_str(), "arrives" | "arriving" | "arrive" | "comes" | "coming" | "ships" | "shipping" | "lands" | "deliver")
    };
    let word = |w: &[&str]| words.iter().any(|t| w.contains(&t.norm.as_str()));
    let pair = |a: &str, b: &str| words.windows(2).any(|w| w[0].is(a) && w[1].is(b));
    words.iter().any(is_present)
        || word(&["due", "awaiting", "delivery", "eta", "will", "pre-order", "should"])
        || pair("waiting", "for")
        || pair("its", "way")
        || pair("the", "way")
        || word(&["not"]) && words.iter().any(|t| matches!(t.norm.as_str(), "arrived" | "come" | "yet" | "here" | "got"))
}

fn norms(tokens: &[Token]) -> Vec<&str> {
    tokens.iter().map(|t| t.norm.as_str()).collect()
}

/// Whether words after a verb give its end: "until May". In "a laptop, warranty until March", the end is that of another noun.
pub(super) fn has_limit(words: &[Token]) -> bool {
    words.iter().position(is_until).is_some_and(|until| {
        let fragment = words[..until].iter().rposition(|t| t.is(",")).map_or(&[][..], |comma| &words[comma + 1..until]);
        let is_noun = |t: &Token| t.pos == Pos::Noun && !t.capital && !lexicon().in_set("time", &t.norm);
        // "Austin, Texas until 2019" and "Apple, Google and Meta until 2020" go on with names.
        !fragment.iter().all(|t| is_noun(t) || t.pos == Pos::Det) || !fragment.iter().any(is_noun)
    })
}

/// Whether a word says until when.
pub(super) fn is_until(t: &Token) -> bool {
    matches!(t.norm.as_str(), "until" | "till" | "til" | "'til")
}
