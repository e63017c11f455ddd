//! Pairs the sentences of two passages, and finds how a pair differs.

use std::collections::BTreeSet;

use super::{sentence::Sentence, values::Value};

/// Least similarity of a pair.
const PAIRED: f32 = 0.5;
/// Least similarity of a pair that contradicts itself in names, or by a negation. There the rest must agree more than with numbers.
const CLOSE: f32 = 0.65;
/// Below this similarity to every sentence of the other passage, a sentence has no counterpart.
const ALONE: f32 = 0.3;
/// Words that exclude each other.
const OPPOSITES: [(&str, &str); 14] = [
    ("allowed", "forbidden"),
    ("allowed", "prohibited"),
    ("permitted", "prohibited"),
    ("mandatory", "optional"),
    ("required", "optional"),
    ("must", "may"),
    ("included", "excluded"),
    ("includes", "excludes"),
    ("enabled", "disabled"),
    ("increase", "decrease"),
    ("before", "after"),
    ("minimum", "maximum"),
    ("internal", "external"),
    ("accepted", "rejected"),
];

/// How the sentences of a pair contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// Values, or words that exclude each other, as written.
    Against(String, String),
    /// One side denies what the other states.
    Denied,
}

/// Two sentences of different passages about the same.
pub(super) struct Pair<'s> {
    pub(super) left: &'s Sentence,
    pub(super) right: &'s Sentence,
    /// Their similarity, from 0 to 1.
    pub(super) score: f32,
    /// How they contradict each other, if they do.
    pub(super) conflict: Option<Conflict>,
}

/// The result of [`align`].
pub(super) struct Alignment<'s> {
    pub(super) pairs: Vec<Pair<'s>>,
    /// Sentences without a counterpart.
    pub(super) only_left: Vec<&'s Sentence>,
    pub(super) only_right: Vec<&'s Sentence>,
}

/// Pairs sentences greedily, the most similar ones first. Each sentence is in one pair at most.
pub(super) fn align<'s>(left: &'s [Sentence], right: &'s [Sentence]) -> Alignment<'s> {
    let scores = left.iter().enumerate().flat_map(|(i, a)| right.iter().enumerate().map(move |(j, b)| (a.similarity(b), i, j)));
    let mut scores: Vec<(f32, usize, usize)> = scores.collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let (mut used_left, mut used_right, mut pairs) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for &(score, i, j) in scores.iter().take_while(|(score, ..)| *score >= PAIRED) {
        if used_left.contains(&i) || used_right.contains(&j) {
            continue;
        }
        if let Some((a, b)) = left.get(i).zip(right.get(j)) {
            used_left.insert(i);
            used_right.insert(j);
            pairs.push(Pair { left: a, right: b, score, conflict: conflict(a, b, score) });
        }
    }
    let is_alone = |of: &dyn Fn(&(f32, usize, usize)) -> bool| !scores.iter().any(|s| of(s) && s.0 >= ALONE);
    let only_left = left.iter().enumerate().filter(|(i, _)| is_alone(&|s| s.1 == *i)).map(|(_, s)| s).collect();
    let only_right = right.iter().enumerate().filter(|(j, _)| is_alone(&|s| s.2 == *j)).map(|(_, s)| s).collect();
    Alignment { pairs, only_left, only_right }
}

/// Returns how two similar sentences contradict each other.
fn conflict(a: &Sentence, b: &Sentence, score: f32) -> Option<Conflict> {
    if let Some((one, other)) = differing_values(&a.values, &b.values) {
        return Some(Conflict::Against(one, other));
    }
    let only = |word: &str, here: &Sentence, there: &Sentence| here.words.contains(word) && !there.words.contains(word);
    for (one, other) in OPPOSITES {
        for (one, other) in [(one, other), (other, one)] {
            if only(one, a, b) && only(other, b, a) {
                return Some(Conflict::Against(one.to_owned(), other.to_owned()));
            }
        }
    }
    if score < CLOSE {
        return None;
    }
    if a.is_negated != b.is_negated {
        return Some(Conflict::Denied);
    }
    let (one, other): (Vec<&str>, Vec<&str>) =
        (a.names.difference(&b.names).map(String::as_str).collect(), b.names.difference(&a.names).map(String::as_str).collect());
    // A name on one side alone is a detail, not a contradiction.
    (!one.is_empty() && !other.is_empty()).then(|| Conflict::Against(as_written(&one, &a.text), as_written(&other, &b.text)))
}

/// Returns the first values of one kind that only one side has, if both sides have some.
fn differing_values(a: &[Value], b: &[Value]) -> Option<(String, String)> {
    let missing = |value: &&Value, others: &[Value]| !others.iter().any(|o| o.kind == value.kind && o.amount == value.amount);
    let one = a.iter().filter(|value| missing(value, b));
    one.into_iter().find_map(|value| {
        let other = b.iter().filter(|other| missing(other, a)).find(|other| other.kind == value.kind)?;
        Some((value.text.clone(), other.text.clone()))
    })
}

/// Joins names in the order and spelling of the text; neighbouring words are one name.
fn as_written(names: &[&str], text: &str) -> String {
    let mut runs: Vec<Vec<&str>> = vec![Vec::new()];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        match (names.contains(&word.to_lowercase().as_str()), runs.last_mut()) {
            (true, Some(run)) => run.push(word),
            (false, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.iter().filter(|run| !run.is_empty()).map(|run| run.join(" ")).collect::<Vec<_>>().join(", ")
}
