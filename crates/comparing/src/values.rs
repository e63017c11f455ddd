//! Finds quantities, dates, times and versions in a sentence.

use std::collections::BTreeSet;

/// A value, normalised so that equal values of one kind are equal: "two weeks" and "14 days".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    /// What it measures, such as `duration` or `eur`. Values of different kinds are not compared.
    pub(super) kind: String,
    /// The normalised amount.
    pub(super) amount: String,
    /// As it is written.
    pub(super) text: String,
}

/// Hours in a unit of time. A month has 730 hours and a year 8,760.
const DURATIONS: [(&str, f64); 7] =
    [("second", 1.0 / 3_600.0), ("minute", 1.0 / 60.0), ("hour", 1.0), ("day", 24.0), ("week", 168.0), ("month", 730.0), ("year", 8_760.0)];
/// Words between a number and its unit that do not change the amount.
const BETWEEN: [&str; 8] = ["calendar", "consecutive", "full", "business", "working", "paid", "more", "additional"];
const CURRENCIES: [(&str, &str); 7] =
    [("€", "eur"), ("eur", "eur"), ("euro", "eur"), ("$", "usd"), ("usd", "usd"), ("dollar", "usd"), ("£", "gbp")];
const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const NUMBERS: [(&str, f64); 21] = [
    ("zero", 0.0),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("ninety", 90.0),
];

/// Returns the values of a sentence, and the words that belong to them, in lower case.
pub(super) fn find(sentence: &str) -> (Vec<Value>, BTreeSet<String>) {
    let words: Vec<&str> = sentence.split_whitespace().map(trimmed).collect();
    let word = |i: usize| words.get(i).copied().unwrap_or_default().to_lowercase();
    let (mut values, mut used) = (Vec::new(), BTreeSet::new());
    let mut i = 0;
    while i < words.len() {
        let (value, length) = date(&word, i).or_else(|| plain(&word, i)).unwrap_or((None, 1));
        if let Some((kind, amount)) = value {
            let text = words.get(i..i + length).unwrap_or_default().join(" ");
            used.extend((i..i + length).map(word));
            values.push(Value { kind, amount, text });
        }
        i += length;
    }
    (values, used)
}

/// What a reading at a position found: kind and amount, and how many words it took.
type Reading = (Option<(String, String)>, usize);

/// Reads "12 March 2024", "March 12, 2024", "March 2024" or "2024-03-12".
fn date(word: &impl Fn(usize) -> String, i: usize) -> Option<Reading> {
    let month = |text: &str| MONTHS.iter().position(|m| *m == text || (text.len() == 3 && m.starts_with(text))).map(|m| m + 1);
    let day = |text: &str| text.trim_end_matches(|c: char| c.is_alphabetic()).parse::<u32>().ok().filter(|d| (1..=31).contains(d));
    let year = |text: &str| text.parse::<u32>().ok().filter(|y| text.len() == 4 && (1_900..2_200).contains(y));
    let (first, second, third) = (word(i), word(i + 1), word(i + 2));
    let found = |text: String, length| Some((Some(("date".to_owned(), text)), length));
    if let (Some(d), Some(m)) = (day(&first), month(&second)) {
        return match year(&third) {
            Some(y) => found(format!("{y}-{m}-{d}"), 3),
            None => found(format!("{m}-{d}"), 2),
        };
    }
    if let Some(m) = month(&first) {
        return match (day(&second), year(&second), year(&third)) {
            (Some(d), _, Some(y)) => found(format!("{y}-{m}-{d}"), 3),
            (Some(d), ..) => found(format!("{m}-{d}"), 2),
            (None, Some(y), _) => found(format!("{y}-{m}"), 2),
            // "May" and "March" alone are ambiguous words.
            _ => None,
        };
    }
    let parts: Vec<Option<u32>> = first.split('-').map(|part| part.parse().ok()).collect();
    if let [Some(y), Some(m @ 1..=12), Some(d @ 1..=31)] = parts.as_slice() {
        return found(format!("{y}-{m}-{d}"), 1);
    }
    year(&first).and_then(|y| found(y.to_string(), 1))
}

/// Reads a clock time, a version, or a number with its unit.
fn plain(word: &impl Fn(usize) -> String, i: usize) -> Option<Reading> {
    let first = word(i);
    let found = |kind: &str, amount: String, length| Some((Some((kind.to_owned(), amount)), length));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((hours, minutes)) = first.split_once(':')
        && is_number(hours)
        && is_number(minutes)
    {
        return found("clock", first.clone(), 1);
    }
    let version = first.strip_prefix('v').unwrap_or(&first);
    if version.split('.').count() > 2 && version.split('.').all(is_number) {
        return found("version", version.to_owned(), 1);
    }
    let currency = |text: &str| CURRENCIES.iter().find(|(word, _)| *word == text || format!("{word}s") == text).map(|(_, code)| *code);
    if let Some((symbol, rest)) = CURRENCIES.iter().find_map(|(word, code)| Some((*code, first.strip_prefix(word)?))) {
        return number(rest).and_then(|n| found(symbol, n.to_string(), 1));
    }
    if let Some(n) = first.strip_suffix('%').and_then(number) {
        return found("percent", n.to_string(), 1);
    }
    if let Some(n) = first.strip_suffix('€').and_then(number) {
        return found("eur", n.to_string(), 1);
    }
    let n = number(&first).or_else(|| NUMBERS.iter().find(|(word, _)| *word == first).map(|(_, n)| *n))?;
    let skipped = usize::from(BETWEEN.contains(&word(i + 1).as_str()));
    let unit = word(i + 1 + skipped);
    let singular = unit.strip_suffix('s').unwrap_or(&unit);
    if let Some((_, hours)) = DURATIONS.iter().find(|(word, _)| *word == singular) {
        // Rounded, so that 24 hours are one day.
        return found("duration", format!("{:.3}", n * hours), 2 + skipped);
    }
    if unit == "percent" || (unit == "per" && word(i + 2) == "cent") {
        return found("percent", n.to_string(), if unit == "per" { 3 } else { 2 });
    }
    if let Some(code) = currency(&unit) {
        return found(code, n.to_string(), 2 + skipped);
    }
    let is_unit = !singular.is_empty() && singular.chars().all(char::is_alphabetic);
    match is_unit && first.chars().next().is_some_and(|c| c.is_ascii_digit()) {
        true => found(singular, n.to_string(), 2 + skipped),
        // "One" without a unit is mostly a pronoun, and a bare number may be that of a chapter.
        false => None,
    }
}

/// Reads "1,500" or "2.5".
fn number(text: &str) -> Option<f64> {
    let plain = text.replace(',', "");
    (plain.starts_with(|c: char| c.is_ascii_digit())).then(|| plain.parse().ok()).flatten()
}

/// Removes punctuation around a word.
fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '€' | '$' | '£'))
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
            ("on 12 March 2024", "on March 12, 2024"),
            ("on 2024-03-12", "on 12 Mar 2024"),
            ("30 calendar days", "30 days"),
            ("5 percent", "5%"),
        ] {
            assert_eq!(of(a), of(b), "{a} / {b}");
            assert!(!of(a).is_empty(), "{a}");
        }
    }

    #[test]
    fn words_without_an_amount_are_no_values() {
        for text in ["One of them may march.", "See chapter 3.", "in May", "v", "a:b", "..", "$"] {
            assert_eq!(of(text), vec![], "{text}");
        }
    }

    #[test]
    fn units_and_versions_are_kept_apart() {
        assert_eq!(of("20 employees and 3 offices"), [("employee".into(), "20".into()), ("office".into(), "3".into())]);
        assert_eq!(of("since v1.2.3"), [("version".into(), "1.2.3".into())]);
        assert_eq!(of("at 10:30"), [("clock".into(), "10:30".into())]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,80}") {
            let (values, used) = find(&text);
            prop_assert!(values.is_empty() == used.is_empty());
        }
    }
}
