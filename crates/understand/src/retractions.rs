//! Recognises words that take back what was said just before: "Ed says he's a pilot, total lie", "…, just kidding". Pure.

use super::clauses::Clause;
use super::phrases::Phrases;
use super::tokens::Token;

/// Words that call something a joke or a lie.
const CALLS: &[&str] = &[
    "joke", "jokes", "joking", "kidding", "jk", "sarcasm", "lie", "lies", "lied", "lying", "fib", "fibs", "fibbing", "bluff", "bluffing",
    "untrue", "false", "nonsense", "rubbish", "bollocks", "bullshit", "bs", "invented",
];
/// Pairs of words that do the same.
const PAIRS: &[(&str, &str)] = &[("not", "true"), ("yeah", "right"), ("yea", "right"), ("as", "if"), ("made", "up"), ("it", "up")];
/// Words around them. If another word is among them, the words tell something else: "he lied about his age".
const AROUND: &[&str] = &[
    "that",
    "this",
    "it",
    "he",
    "she",
    "they",
    "i",
    "you",
    "which",
    "who",
    "is",
    "was",
    "are",
    "were",
    "am",
    "'s",
    "'m",
    "'re",
    "be",
    "been",
    "a",
    "an",
    "the",
    "his",
    "her",
    "their",
    "another",
    "one",
    "of",
    "course",
    "just",
    "only",
    "obviously",
    "clearly",
    "surely",
    "totally",
    "total",
    "complete",
    "completely",
    "big",
    "huge",
    "utter",
    "absolute",
    "absolutely",
    "blatant",
    "outright",
    "pure",
    "such",
    "all",
    "but",
    "though",
    "lol",
    "haha",
    "hahaha",
    "lmao",
    "rofl",
    "ofc",
    "not",
    "true",
    "yeah",
    "yea",
    "right",
    "as",
    "if",
    "made",
    "making",
    "up",
    "so",
    "really",
    "actually",
    "and",
    "again",
    "always",
    "everything",
    "makes",
    "do",
    "does",
    "did",
];
/// Words that begin such a remark without a mark before it.
const OPENERS: &[&str] = &["but", "lol", "haha", "hahaha", "lmao", "rofl", "which", "though"];

/// Marks the clauses that the end of the sentence, or the whole next sentence, takes back. If somebody is quoted, only the quoted clauses are.
pub(super) fn mark_retracted(tokens: &[Token], next: Option<&[Token]>, p: &Phrases, clauses: &mut [Clause]) {
    let own = remark_start(tokens).filter(|&at| at > 0);
    let Some(limit) = own.or_else(|| (remark_start(next?)? == 0).then_some(tokens.len())) else { return };
    let is_before = |c: &Clause| p.verbs[c.verb].end <= limit;
    let has_claim = clauses.iter().any(|c| c.hedged.is_some() && is_before(c));
    for clause in clauses.iter_mut().filter(|c| is_before(c) && (c.hedged.is_some() || !has_claim)) {
        clause.unasserted = true;
    }
}

/// Returns the first token of the remark that ends a sentence: "lol, obviously joking", "but that's a lie", "yeah right".
fn remark_start(tokens: &[Token]) -> Option<usize> {
    let is_mark = |t: &Token| !t.norm.chars().any(char::is_alphanumeric);
    let is_of_remark = |t: &&Token| is_mark(t) || AROUND.contains(&t.norm.as_str()) || CALLS.contains(&t.norm.as_str());
    let from = tokens.len() - tokens.iter().rev().take_while(is_of_remark).count();
    let opens = |i: usize| i == 0 || is_mark(&tokens[i]) || OPENERS.contains(&tokens[i].norm.as_str());
    let start = (from..tokens.len()).find(|&i| opens(i))?;
    let words: Vec<&str> = tokens[start..].iter().filter(|t| !is_mark(t)).map(|t| t.norm.as_str()).collect();
    let is_denied = |i: usize| words[i.saturating_sub(3)..i].contains(&"not");
    let calls = (0..words.len()).any(|i| CALLS.contains(&words[i]) && !is_denied(i));
    let has_pair = words.windows(2).any(|w| PAIRS.contains(&(w[0], w[1])));
    // "As if" alone, but not "as if it was".
    let is_open = words.windows(2).any(|w| w == ["as", "if"]) && words.last() != Some(&"if");
    (calls || has_pair && !is_open).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::tagged;

    #[test]
    fn remarks_that_take_something_back_are_found() {
        for text in [
            "Steve says he's a secret agent lol, obviously joking",
            "Ed told people he's a pilot, total lie",
            "Steve says he's a pilot but that's a joke",
            "Ed works for the CIA, yeah right",
            "Ed says he owns a yacht - as if!",
            "Ed claims he's a doctor, it's not true",
            "I bought a yacht, just kidding",
            "Just kidding.",
            "He made it up.",
        ] {
            assert!(remark_start(&tagged(text)).is_some(), "{text}");
        }
        for text in [
            "Steve told me a joke",
            "Ed says it's a lie",
            "Ed says he's a pilot, no joke",
            "Ed says he's a pilot, he's not joking",
            "Ed is a pilot, he lied about his age",
            "Ed is a pilot, that's true",
            "Ed is here, all right",
        ] {
            assert!(remark_start(&tagged(text)).is_none(), "{text}");
        }
    }
}
