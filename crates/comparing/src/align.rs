//! Pairs the sentences of two passages, and finds how a pair differs.

use std::collections::BTreeSet;

use super::{
    sentence::Sentence,
    stance::{self, Cue, Form, Side, Stance, is_negated_form},
    values::Value,
};

/// Least similarity of a pair.
const PAIRED: f32 = 0.5;
/// Least similarity of a pair that contradicts itself in names, or by a negation. There the rest must agree more than with numbers.
pub(super) const CLOSE: f32 = 0.65;
/// Below this similarity to every sentence of the other passage, a sentence has no counterpart.
///
/// Vectors of any two sentences are similar, so that this is reached by a common word only.
const ALONE: f32 = 0.42;
/// What is added to the similarity of a sentence and another one that changes a value of it.
const CHANGED: f32 = 0.1;
/// Most words that are others in a pair of otherwise equal sentences, and the fewest content words that must be equal.
const REPLACED: usize = 4;
const FRAME: usize = 2;
/// Most values that are named as different.
const NAMED_VALUES: usize = 3;

/// How the sentences of a pair contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// Values, or words that exclude each other, as written.
    Against(Vec<(String, String)>),
    /// One side denies what the other states.
    Denied,
    /// Only one side makes an exception: whether the left one, and the exception as written.
    Excepted(bool, String),
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
///
/// A sentence without a pair is alone if it resembles no other one; if `is_asked`, always: a question chooses among them.
pub(super) fn align<'s>(left: &'s [Sentence], right: &'s [Sentence], is_asked: bool) -> Alignment<'s> {
    let score = |a: &Sentence, b: &Sentence| {
        let similarity = a.similarity(b);
        // What one allows and the other forbids is one matter, whatever else they say, and so are rows with one label.
        let is_row = a.label().is_some() && a.label() == b.label() && a.cells.len() == b.cells.len();
        if changes(a, b) || changes(b, a) {
            // It comes before other sentences about the same.
            similarity.max(CLOSE) + CHANGED
        } else if is_row || differing_stances(a, b).is_some() {
            similarity.max(CLOSE)
        } else {
            similarity
        }
    };
    let scores = left.iter().enumerate().flat_map(|(i, a)| right.iter().enumerate().map(move |(j, b)| (score(a, b), i, j)));
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
    let is_like_none = |of: &dyn Fn(&(f32, usize, usize)) -> bool| is_asked || !scores.iter().any(|s| of(s) && s.0 >= ALONE);
    let is_alone = |i: usize, used: &BTreeSet<usize>, of: &dyn Fn(&(f32, usize, usize)) -> bool| !used.contains(&i) && is_like_none(of);
    let only_left = left.iter().enumerate().filter(|(i, _)| is_alone(*i, &used_left, &|s| s.1 == *i)).map(|(_, s)| s).collect();
    let only_right = right.iter().enumerate().filter(|(j, _)| is_alone(*j, &used_right, &|s| s.2 == *j)).map(|(_, s)| s).collect();
    Alignment { pairs, only_left, only_right }
}

/// Returns how two similar sentences contradict each other.
fn conflict(a: &Sentence, b: &Sentence, score: f32) -> Option<Conflict> {
    let is_about = a.has_subject_of(b) && (score >= CLOSE || a.is_mostly_about(b));
    let mut against = if score >= CLOSE || is_about { differing_values(&a.values, &b.values) } else { Vec::new() };
    if against.is_empty() && score >= CLOSE && (a.cells.is_empty() || a.label() == b.label()) {
        against.extend(swapped_values(&a.values, &b.values));
    }
    against.extend(differing_stances(a, b));
    if score >= CLOSE {
        against.extend(differing_sides(a, b));
    }
    if !against.is_empty() {
        return Some(Conflict::Against(against));
    }
    if score < CLOSE {
        return None;
    }
    if let Some(excepted) = excepted(a, b) {
        return Some(excepted);
    }
    let is_denied_side = |s: &Side, o: &Side| s.concerns(o) && (s.is_denied || o.is_denied);
    let is_said_otherwise =
        (!a.cues.is_empty() && !b.cues.is_empty()) || a.sides.iter().any(|s| b.sides.iter().any(|o| is_denied_side(s, o)));
    if a.is_negated != b.is_negated && !is_said_otherwise {
        return Some(Conflict::Denied);
    }
    let (one, other): (Vec<&str>, Vec<&str>) =
        (a.names.difference(&b.names).map(String::as_str).collect(), b.names.difference(&a.names).map(String::as_str).collect());
    // A name on one side alone is a detail, not a contradiction.
    let differ = !one.is_empty() && !other.is_empty() && a.shares_terms(b);
    let names = differ.then(|| (as_written(&one, &a.text), as_written(&other, &b.text)));
    let against = names.or_else(|| differing_cells(a, b)).or_else(|| replaced(a, b));
    against.map(|pair| Conflict::Against(vec![pair]))
}

/// Returns the values of one kind that only one side has, if both sides have some: one pair of each kind.
fn differing_values(a: &[Value], b: &[Value]) -> Vec<(String, String)> {
    let missing = |value: &&Value, others: &[Value]| !others.iter().any(|o| o.agrees(value));
    let (mut found, mut kinds) = (Vec::new(), BTreeSet::new());
    for value in a.iter().filter(|value| missing(value, b)) {
        // Of several ones, that with the most words in common around it.
        let common = |other: &&Value| value.company.intersection(&other.company).count();
        let rivals = b.iter().rev().filter(|other| missing(other, a) && other.rivals(value));
        let Some(other) = rivals.max_by_key(common) else { continue };
        if found.len() < NAMED_VALUES && kinds.insert(&value.kind) {
            found.push((value.text.clone(), other.text.clone()));
        }
    }
    found
}

/// Returns two values that both sentences have, each in the place of the other: "three months for tenants and six for the landlord".
fn swapped_values(a: &[Value], b: &[Value]) -> Option<(String, String)> {
    let only = |value: &Value| -> Option<&Value> {
        let mut same = b.iter().filter(|other| other.agrees(value));
        same.next().filter(|_| same.next().is_none())
    };
    let pairs = a.iter().enumerate().flat_map(|(n, one)| a.iter().skip(n + 1).map(move |other| (one, other)));
    let mut swapped = pairs.filter(|(one, other)| one.kind == other.kind && !one.agrees(other)).filter(|(one, other)| {
        let Some((first, second)) = only(one).zip(only(other)) else { return false };
        let (of_one, of_other) = (one.own_company(other), other.own_company(one));
        let (of_first, of_second) = (first.own_company(second), second.own_company(first));
        let is_kept = !of_one.is_disjoint(&of_first) || !of_other.is_disjoint(&of_second);
        let is_crossed = !of_one.is_disjoint(&of_second) || !of_other.is_disjoint(&of_first);
        is_crossed && !is_kept
    });
    swapped.next().map(|(one, other)| (one.text.clone(), other.text.clone()))
}

/// Whether the other sentence changes a value of the first one: it names it as a former one, and both have one subject.
fn changes(a: &Sentence, b: &Sentence) -> bool {
    let is_named = b.values.iter().any(|former| a.values.iter().any(|value| former.is_former_of(value)));
    is_named && !a.subject.is_disjoint(&b.subject)
}

/// Returns the exception that only one sentence makes, or two exceptions that have nothing in common.
fn excepted(a: &Sentence, b: &Sentence) -> Option<Conflict> {
    match (&a.exception, &b.exception) {
        (Some(one), None) if !stance::is_conditional(&b.words) => Some(Conflict::Excepted(true, one.clone())),
        (None, Some(other)) if !stance::is_conditional(&a.words) => Some(Conflict::Excepted(false, other.clone())),
        (Some(one), Some(other)) => {
            let is_other = !a.excepted.is_empty() && !b.excepted.is_empty() && a.excepted.is_disjoint(&b.excepted);
            is_other.then(|| Conflict::Against(vec![(one.clone(), other.clone())]))
        }
        _ => None,
    }
}

/// Returns the words by which one sentence allows, demands or forbids what the other does not.
fn differing_stances(a: &Sentence, b: &Sentence) -> Option<(String, String)> {
    let (one, other) = (a.cues.first()?, b.cues.first()?);
    // "Allowed, but must be kept on a leash" does not contradict "allowed".
    if a.cues.iter().any(|x| b.cues.iter().any(|y| x.stance.agrees(y.stance))) || !is_one_matter(a, b) {
        return None;
    }
    Some((one.text.clone(), other.text.clone()))
}

/// Whether two sentences with a stance are about the same: one subject, and what is said of it has to do with each other.
fn is_one_matter(a: &Sentence, b: &Sentence) -> bool {
    let (Some(one), Some(other)) = (a.cues.first(), b.cues.first()) else { return false };
    if one.form == Form::Active || other.form == Form::Active {
        // "The landlord forbids dogs": most of the words are those of the other.
        return overlap(&a.terms.iter().collect(), &b.terms.iter().collect()) && !a.terms.is_empty() && !b.terms.is_empty();
    }
    if rules_on(a, one, b, other) || rules_on(b, other, a, one) {
        return true;
    }
    let (said, answered) = (a.predicate(), b.predicate());
    let is_whole_ban = |sentence: &Sentence, form, stance: Stance| {
        form == Form::Predicate && stance.agrees(Stance::Forbidden) && sentence.predicate().is_empty()
    };
    let (both_predicates, none) = (one.form == Form::Predicate && other.form == Form::Predicate, said.is_empty() && answered.is_empty());
    let is_about = match (said.is_empty(), answered.is_empty()) {
        (false, false) => overlap(&said, &answered) || passive_verb(a, one).is_some_and(|verb| passive_verb(b, other) == Some(verb)),
        _ => none || both_predicates || is_whole_ban(a, one.form, one.stance) || is_whole_ban(b, other.form, other.stance),
    };
    let has_words = !a.terms.is_empty() || !b.terms.is_empty();
    let has_other_names = !a.names.is_empty() && !b.names.is_empty() && a.names.is_disjoint(&b.names);
    has_words && is_about && a.has_subject_of(b) && !has_other_names
}

/// Whether one sentence rules on doing what the other has as its subject: "employees must use a VPN", "the use of a VPN is optional".
fn rules_on(a: &Sentence, one: &Cue, b: &Sentence, other: &Cue) -> bool {
    let is_rule = one.form == Form::Modal && other.form == Form::Predicate;
    // "Tenants must keep cats inside" agrees with "cats are allowed".
    let may_both = one.stance == Stance::Required && other.stance == Stance::Allowed;
    let predicate = a.predicate();
    let (is_done, is_named) = (b.subject.iter().any(|term| predicate.contains(term)), b.subject.is_subset(&a.terms));
    let rest = predicate.iter().filter(|term| !b.subject.contains(**term)).count();
    is_rule && !may_both && is_done && is_named && rest <= 1 && b.predicate().is_empty() && b.names.is_subset(&a.names)
}

/// Returns the verb of a rule in the passive voice: "must be booked".
fn passive_verb(sentence: &Sentence, cue: &Cue) -> Option<String> {
    let after: Vec<&String> = sentence.words.iter().skip(cue.at + 1).collect();
    let be = after.iter().take(2).position(|word| *word == "be")?;
    after.get(be + 1).and_then(|verb| recall_text::terms(verb).into_iter().next()).map(|(term, _)| term)
}

/// Whether two sets have half of the smaller one in common.
fn overlap(a: &BTreeSet<&String>, b: &BTreeSet<&String>) -> bool {
    2 * a.intersection(b).count() >= a.len().min(b.len()).max(1)
}

/// Returns the words of one axis on which the sentences stand on different sides, and words with a negative prefix.
fn differing_sides(a: &Sentence, b: &Sentence) -> Option<(String, String)> {
    for side in &a.sides {
        let others = || b.sides.iter().filter(|other| side.concerns(other));
        if !a.sides.iter().filter(|s| s.concerns(side)).any(|s| others().any(|other| s.agrees(other)))
            && let Some(other) = others().next()
        {
            return Some((side.text.clone(), other.text.clone()));
        }
    }
    let only = |here: &Sentence, there: &Sentence| -> Vec<String> {
        here.words.iter().filter(|word| !there.words.contains(word)).cloned().collect()
    };
    let (of_a, of_b) = (only(a, b), only(b, a));
    // "Not refundable" is "non-refundable".
    let pair = of_a.iter().flat_map(|x| of_b.iter().map(move |y| (x, y)));
    let mut opposed = pair.filter(|(x, y)| is_negated_form(x, y) || is_negated_form(y, x));
    opposed.next().filter(|_| a.is_negated == b.is_negated).map(|(x, y)| (x.clone(), y.clone()))
}

/// Returns the cells in which rows with one label have nothing in common: "Colour | black", "Colour | white".
fn differing_cells(a: &Sentence, b: &Sentence) -> Option<(String, String)> {
    if a.cells.len() != b.cells.len() || a.label()? != b.label()? {
        return None;
    }
    let mut cells = a.cells.iter().zip(&b.cells).skip(1);
    let said = |cell: &String, of: &Sentence| -> BTreeSet<String> {
        let terms: BTreeSet<String> = recall_text::terms(cell).into_iter().map(|(term, _)| term).collect();
        // Values are compared on their own.
        terms.into_iter().filter(|term| of.terms.contains(term) || of.names.contains(term)).collect()
    };
    let differ = |(x, y): &(&String, &String)| {
        let (x, y) = (said(x, a), said(y, b));
        !x.is_empty() && !y.is_empty() && x.is_disjoint(&y)
    };
    cells.find(differ).map(|(x, y)| (x.clone(), y.clone()))
}

/// Returns the few words that are others in the other sentence, if all words around them are the same: "the tenant pays", "the landlord pays".
fn replaced(a: &Sentence, b: &Sentence) -> Option<(String, String)> {
    let first = a.words.iter().zip(&b.words).take_while(|(x, y)| x == y).count();
    let shorter = a.words.len().min(b.words.len());
    let last = a.words.iter().rev().zip(b.words.iter().rev()).take(shorter - first.min(shorter)).take_while(|(x, y)| x == y).count();
    let between = |words: &[String]| words.get(first..words.len() - last).map(|between| between.join(" "));
    let (one, other) = (between(&a.words)?, between(&b.words)?);
    let only = |text: &str, of: &Sentence, not: &Sentence| {
        let mut terms = recall_text::terms(text).into_iter().map(|(term, _)| term);
        text.split(' ').count() <= REPLACED && terms.any(|term| of.terms.contains(&term) && !not.terms.contains(&term))
    };
    let is_framed = a.terms.intersection(&b.terms).count() >= FRAME;
    (is_framed && only(&one, a, b) && only(&other, b, a)).then_some((one, other))
}

/// Joins names in the order and spelling of the text; neighbouring words are one name.
fn as_written(names: &[&str], text: &str) -> String {
    let mut runs: Vec<Vec<&str>> = vec![Vec::new()];
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut first = words().next().filter(|word| word.starts_with(char::is_uppercase) && !recall_text::is_stop_word(word));
    for (place, word) in words().enumerate() {
        match (names.contains(&word.to_lowercase().as_str()), runs.last_mut()) {
            (true, Some(run)) => {
                // The first word of a sentence is no name for itself, but it is part of the one behind it.
                run.extend(first.take().filter(|_| place == 1));
                run.push(word);
            }
            (false, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.iter().filter(|run| !run.is_empty()).map(|run| run.join(" ")).collect::<Vec<_>>().join(", ")
}
