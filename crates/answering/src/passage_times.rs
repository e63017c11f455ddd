//! Finds out whether a passage of a document is about another time than a question.

use super::{
    exclusion::is_month,
    question::Question,
    words::{Word, words},
};
use recall_domain::time_words::named_month;

/// Whether a chunk is about another time than the question: it names only another month, or says nothing of what was "before Susan Bell". A range of months may
/// include the one of the question.
pub(super) fn is_of_other_time(question: &Question, chunk: &str) -> bool {
    const EARLIER: [&str; 12] = [
        "before",
        "former",
        "formerly",
        "previous",
        "previously",
        "predecessor",
        "until",
        "till",
        "succeeded",
        "succeeds",
        "replaced",
        "replaces",
    ];
    const RANGE: [&str; 5] = ["to", "until", "till", "through", "and"];
    let said = words(chunk);
    let has_any = |words: &[Word], wanted: &[&str]| words.iter().any(|w| wanted.contains(&w.plain.as_str()));
    let named: Vec<(usize, u32)> = (0..said.len()).filter_map(|i| Some((i, month_at(&said, i)?))).collect();
    let is_range = chunk.contains('–') || named.windows(2).any(|pair| has_any(&said[pair[0].0..pair[1].0], &RANGE));
    let months: Vec<u32> = named.iter().map(|(_, month)| *month).chain(numeric_months(chunk)).collect();
    let asked = (0..question.words.len()).find_map(|i| month_at(&question.words, i));
    asked.is_some_and(|asked| !months.is_empty() && !is_range && !months.contains(&asked))
        || !question.successor.is_empty() && !has_any(&said, &EARLIER)
}

/// Returns the month that a word names. "Jan" may be a person, so a short form needs a number next to it.
fn month_at(words: &[Word], at: usize) -> Option<u32> {
    let is_number = |i: usize| words.get(i).is_some_and(|w| w.plain.starts_with(|c: char| c.is_ascii_digit()));
    let is_dated = is_number(at + 1) || at.checked_sub(1).is_some_and(is_number);
    named_month(&words[at].plain).filter(|month| if month.is_short { is_dated } else { is_month(words, at) }).map(|month| month.number)
}

/// Returns the months of dates in digits, which have a year: "2025-08-27", "27/08/2025". "3.1.0" is a version.
fn numeric_months(text: &str) -> impl Iterator<Item = u32> {
    let dates = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '/' | '.'))).filter_map(|date| {
        let parts: Vec<&str> = date.trim_matches(['-', '/', '.']).split(['-', '/', '.']).collect();
        let [first, month, last] = parts.as_slice() else { return None };
        (first.len() == 4 || last.len() == 4).then(|| month.parse().ok()).flatten()
    });
    dates.filter(|month| (1..=12).contains(month))
}
