//! Finds quantities, dates, times and versions in a sentence.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{dates, numbers, units};
use recall_text::is_stop_word;

/// A value, normalised so that equal values of one kind are equal: "two weeks" and "14 days".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    /// What it measures, such as `duration` or `money`. Values of different kinds are not compared.
    pub(super) kind: String,
    /// The normalised amount. A date that can be read in two ways has both, separated by `|`; a missing part of a date is written with `?`.
    pub(super) amount: String,
    /// As it is written.
    pub(super) text: String,
}

impl Value {
    /// Whether both can mean the same: 03/04/2024 is 3 April and 4 March, and a date without its year is that day of any year.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let fits = |a: &str, b: &str| a.len() == b.len() && a.chars().zip(b.chars()).all(|(a, b)| a == b || a == '?' || b == '?');
        let is_one = |a: &str, b: &str| a == b || (self.kind == dates::KIND && fits(a, b));
        self.kind == other.kind && self.amount.split('|').any(|a| other.amount.split('|').any(|b| is_one(a, b)))
    }
}

/// What a reading at a position found: kind and amount, and how many words it took.
pub(super) type Reading = (String, String, usize);

/// Words before a number that names a part of a document, not an amount.
const LABELS: &[&str] = &[
    "section",
    "sections",
    "chapter",
    "clause",
    "clauses",
    "article",
    "articles",
    "page",
    "pages",
    "figure",
    "table",
    "annex",
    "appendix",
    "schedule",
    "step",
    "item",
    "paragraph",
    "line",
    "footnote",
    "part",
    "no",
    "nr",
    "§",
    "§§",
];
/// Words that are no unit after a number.
const NO_UNITS: &[&str] = &[
    "must", "may", "shall", "should", "will", "can", "per", "each", "every", "not", "no", "more", "less", "only", "apply", "applies",
    "until", "since", "between", "within", "during", "before", "after", "under", "over", "through", "if", "both",
];
/// Words that say how often.
const PERIODS: &[&str] = &["per", "each", "every", "a", "an", "/"];
/// Words for a period.
const FREQUENCIES: &[(&str, &str)] = &[
    ("hourly", "hour"),
    ("daily", "day"),
    ("weekly", "week"),
    ("fortnightly", "fortnight"),
    ("monthly", "month"),
    ("quarterly", "quarter"),
    ("yearly", "year"),
    ("annually", "year"),
    ("annual", "year"),
];
const WEEKDAYS: &[&str] = &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Returns the values of a sentence, and the words that belong to them, in lower case.
pub(super) fn find(sentence: &str) -> (Vec<Value>, BTreeSet<String>) {
    let written = tokens(sentence);
    let words: Vec<String> = written.iter().map(|word| word.to_lowercase()).collect();
    let (mut values, mut used) = (Vec::new(), BTreeSet::new());
    let mut i = 0;
    while i < words.len() {
        let before = i.checked_sub(1).and_then(|b| words.get(b)).map_or("", String::as_str);
        let rest = words.get(i..).unwrap_or_default();
        let is_number_of_item = is_item_number(&written, i);
        let found = match is_number_of_item || (LABELS.contains(&before) && numbers::starts_with_digit(rest)) {
            true => None,
            false => dates::read(rest, before).or_else(|| plain(rest, before)),
        };
        let length = found.as_ref().map_or(1, |(.., length)| (*length).max(1));
        if let Some((kind, amount, _)) = found {
            let text = written.get(i..(i + length).min(written.len())).unwrap_or_default().join(" ");
            used.extend(text.unicode_words().map(str::to_lowercase));
            values.push(Value { kind, amount, text });
        }
        i += length;
    }
    (values, used)
}

/// Splits a sentence into words without the punctuation around them. Ranges and compounds with a number are split: "9:00–17:00", "30-day".
fn tokens(sentence: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in sentence.split(|c: char| c.is_whitespace() || matches!(c, '–' | '—' | '|' | '(' | ')')) {
        let word = trimmed(word);
        let has_digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '€' | '$' | '£'));
        if let Some((first, second)) = word.split_once('/')
            && !(has_digits(first) && has_digits(second))
            && second.chars().all(char::is_alphabetic)
        {
            found.extend([trimmed(first).to_owned(), "/".to_owned(), second.to_owned()]);
            continue;
        }
        match word.split_once('-') {
            Some((first, second)) if numbers::is_number(first) && !second.contains('-') && !numbers::is_compound(first, second) => {
                found.extend([first.to_owned(), second.to_owned()]);
            }
            _ => found.push(word.to_owned()),
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

/// Whether a sentence begins with the number of a list item or a section: "3.1 Pets".
fn is_item_number(written: &[String], i: usize) -> bool {
    let is_capital = |word: &String| word.starts_with(char::is_uppercase);
    let is_plain = |word: &String| word.chars().all(|c| c.is_ascii_digit() || c == '.');
    i == 0 && written.first().is_some_and(is_plain) && written.get(1).is_some_and(|next| is_capital(next) && !units::is_known(next))
}

/// Reads a weekday, a frequency, a clock time, a version, or a number with its unit.
fn plain(words: &[String], before: &str) -> Option<Reading> {
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    let first = word(0);
    let found = |kind: &str, amount: String, length: usize| Some((kind.to_owned(), amount, length));
    if let Some(day) = WEEKDAYS.iter().find(|day| first == **day || first.strip_suffix('s') == Some(day)) {
        return found("weekday", (*day).to_owned(), 1);
    }
    if let Some((_, unit)) = FREQUENCIES.iter().find(|(word, _)| *word == first) {
        return found("period", (*unit).to_owned(), 1);
    }
    if PERIODS.contains(&first)
        && let Some(unit) = units::period(word(1))
    {
        return found("period", unit.to_owned(), 2);
    }
    if let Some((time, length)) = dates::clock(words) {
        return found("clock", time, length);
    }
    let bare = first.strip_prefix('v').unwrap_or(first);
    let parts: Vec<&str> = bare.split('.').collect();
    let is_version = parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if is_version && (parts.len() > 2 || matches!(before, "version" | "release") || (bare != first && parts.len() > 1)) {
        return found("version", bare.to_owned(), 1);
    }
    if let Some((amount, length)) = numbers::money(words) {
        return found("money", amount, length);
    }
    let (n, length) = numbers::read(words)?;
    let rest = words.get(length..).unwrap_or_default();
    if let Some((kind, amount, more)) = units::read(n, rest, first) {
        return found(&kind, amount, length + more);
    }
    let unit = rest.first().map_or("", String::as_str);
    let is_unit = unit.chars().count() > 1 && unit.chars().all(char::is_alphabetic) && !is_stop_word(unit) && !NO_UNITS.contains(&unit);
    match (is_unit, numbers::starts_with_digit(words)) {
        (true, _) => found(&units::stem(unit), numbers::amount(n), length + 1),
        // "One" without a unit is mostly a pronoun.
        (false, true) if !before.is_empty() && first.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',')) => {
            found("number", numbers::amount(n), length)
        }
        _ => None,
    }
}

/// Removes punctuation around a word.
fn trimmed(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '€' | '$' | '£' | '°' | '§' | '/'));
    if word.chars().count() > 1 { word.trim_matches('/') } else { word }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(sentence: &str) -> Vec<(String, String)> {
        find(sentence).0.into_iter().map(|v| (v.kind, v.amount)).collect()
    }

    #[test]
    fn equal_values_are_equal_in_any_spelling() {
        for (a, b) in [
            ("within two weeks", "within 14 days"),
            ("It costs €1,500.", "It costs 1500 euros."),
            ("It costs EUR 1.500,00", "It costs 1,500 €"),
            ("It costs $2.5 million", "It costs 2,500,000 dollars"),
            ("on 12 March 2024", "on March 12, 2024"),
            ("on 2024-03-12", "on 12 Mar 2024"),
            ("on the 12th of March 2024", "on 12.03.2024"),
            ("on 2024/3/12", "on 12-Mar-2024"),
            ("30 calendar days", "30 days"),
            ("a 30-day period", "a period of thirty (30) days"),
            ("5 percent", "5%"),
            ("at least twelve characters", "at least 12 characters"),
            ("twenty-five employees", "25 employees"),
            ("one hundred and fifty guests", "150 guests"),
            ("half an hour", "30 minutes"),
            ("2.5 km", "2,500 metres"),
            ("16GB", "16 GB"),
            ("1.5 kg", "1500 g"),
            ("at 10 pm", "at 22:00"),
            ("at 9 a.m.", "at 09:00"),
            ("at noon", "at 12:00"),
            ("paid monthly", "paid every month"),
            ("paid per month", "paid each month"),
            ("€20/month", "€20 a month"),
            ("70 square metres", "70 m²"),
        ] {
            assert_eq!(of(a), of(b), "{a} / {b}");
            assert!(!of(a).is_empty(), "{a}");
        }
    }

    #[test]
    fn different_values_of_one_kind_disagree() {
        let all = |sentence: &str| find(sentence).0;
        for (a, b, agree) in [
            ("€500", "$500", false),
            ("10 working days", "10 days", false),
            ("in 2024", "on 12 March 2024", true),
            ("in 2023", "on 12 March 2024", false),
            ("on 12 March", "on 12 March 2024", true),
            ("on 03/04/2024", "on 3 April 2024", true),
            ("on 03/04/2024", "on 4 March 2024", true),
            ("on 03/04/2024", "on 5 March 2024", false),
            ("monthly", "quarterly", false),
            ("on Mondays", "on Tuesday", false),
            ("room 12", "room 14", false),
            ("5 km", "5 miles", false),
        ] {
            let (left, right) = (all(a), all(b));
            assert_eq!((left.len(), right.len()), (1, 1), "{left:?} {right:?}");
            assert_eq!(left[0].kind, right[0].kind, "{a} / {b}");
            assert_eq!(left[0].agrees(&right[0]), agree, "{a} / {b}");
        }
    }

    #[test]
    fn words_without_an_amount_are_no_values() {
        for text in
            ["One of them may march.", "See chapter 3.", "Section 5 applies.", "3.1 Pets", "in May", "v", "a:b", "..", "$", "/", "two", "-"]
        {
            assert_eq!(of(text), vec![], "{text}");
        }
    }

    #[test]
    fn units_and_versions_are_kept_apart() {
        assert_eq!(of("20 employees and 3 offices"), [("employe".into(), "20".into()), ("offic".into(), "3".into())]);
        assert_eq!(of("1 box"), of("1 boxes"));
        assert_eq!(of("since v1.2.3"), [("version".into(), "1.2.3".into())]);
        assert_eq!(of("at 10:30"), [("clock".into(), "10:30".into())]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,80}") {
            let (values, _) = find(&text);
            prop_assert!(values.iter().all(|value| value.agrees(value)));
        }

        #[test]
        fn any_words_are_read(words in prop::collection::vec("[0-9]{1,4}|march|may|€|\\$|%|twenty|five|hundred|and|a|half|days?|per|/|-|pm|12/03|:|v|km", 0..12)) {
            let (values, _) = find(&words.join(" "));
            prop_assert!(values.iter().all(|value| value.agrees(value)));
        }
    }
}
