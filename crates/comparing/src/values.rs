//! Finds quantities, dates, times and versions in a sentence.

use std::{collections::BTreeSet, ops::Range};

use unicode_segmentation::UnicodeSegmentation;

use super::{dates, numbers, synonyms::common_terms, units};
use recall_text::{is_stop_word, terms};

/// A value, normalised so that equal values of one kind are equal: "two weeks" and "14 days".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    /// What it measures, such as `duration` or `money`. Values of different kinds are not compared.
    pub(super) kind: String,
    /// The normalised amount. A date that can be read in two ways has both, separated by `|`; a missing part of a date is written with `?`.
    pub(super) amount: String,
    /// As it is written.
    pub(super) text: String,
    /// What its clause says besides: terms, and values of other kinds. In a row of a table, the place of its cell.
    pub(super) company: BTreeSet<String>,
}

impl Value {
    /// Whether both can mean the same: 03/04/2024 is 3 April and 4 March, and a date without its year is that day of any year.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let fits = |a: &str, b: &str| a.len() == b.len() && a.chars().zip(b.chars()).all(|(a, b)| a == b || a == '?' || b == '?');
        let is_one = |a: &str, b: &str| match self.kind.as_str() {
            dates::KIND => fits(a, b),
            numbers::MONEY => numbers::is_one_amount(a, b),
            _ => a == b,
        };
        self.family() == other.family() && self.amount.split('|').any(|a| other.amount.split('|').any(|b| is_one(a, b)))
    }

    /// Whether another amount contradicts this one: "the monthly rent" says nothing of what is done once a year.
    pub(super) fn rivals(&self, other: &Self) -> bool {
        let is_rate = |value: &Self| value.kind == RATE;
        self.kind == other.kind || (self.family() == other.family() && (is_rate(self) || is_rate(other)))
    }

    /// Whether it is another one before its change.
    pub(super) fn is_former_of(&self, other: &Self) -> bool {
        self.kind.strip_prefix(FORMER) == Some(&other.kind) && self.amount == other.amount
    }

    /// Its kind, one for all periods.
    fn family(&self) -> &str {
        if self.kind == RATE || self.kind.starts_with(PERIOD) { PERIOD } else { &self.kind }
    }

    /// What is said of this value and not of another one of its sentence.
    pub(super) fn own_company<'v>(&'v self, other: &Self) -> BTreeSet<&'v str> {
        self.company.iter().filter(|word| !other.company.contains(*word)).map(String::as_str).collect()
    }
}

/// The kind of a period, followed by the thing that it describes if there is one, and the kind of a period behind an amount.
const PERIOD: &str = "period";
const RATE: &str = "rate";
/// Before the kind of a value that no longer holds: "rises from €10 to €12".
const FORMER: &str = "former ";
/// Terms of a change, which make "from" and "to" a former and a new value.
const CHANGES: &[&str] = &[
    "rise", "rais", "increas", "chang", "lower", "reduc", "decreas", "fall", "grow", "drop", "cut", "extend", "shorten", "adjust", "up",
    "down",
];
/// Words between clauses, apart from punctuation.
const CONJUNCTIONS: &[&str] = &["and", "or", "but", "while", "whereas", "und", "oder", "aber"];

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
    let (written, ends): (Vec<String>, Vec<bool>) = tokens(sentence).into_iter().unzip();
    let words: Vec<String> = written.iter().map(|word| word.to_lowercase()).collect();
    let (mut values, mut used, mut places) = (Vec::<Value>::new(), BTreeSet::new(), Vec::<Range<usize>>::new());
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
            // "€20 per month": the period belongs to the amount.
            let is_rate = kind == PERIOD && places.last().is_some_and(|last| last.end == i);
            let kind = if is_rate { RATE.to_owned() } else { kind };
            values.push(Value { kind, amount, text, company: BTreeSet::new() });
            places.push(i..i + length);
        }
        i += length;
    }
    mark_former(&mut values, &places, &words);
    let is_end = |at: usize| ends.get(at) == Some(&true);
    let companies: Vec<BTreeSet<String>> = (0..values.len()).map(|n| company(n, &values, &places, &words, &is_end)).collect();
    for (value, company) in values.iter_mut().zip(companies) {
        value.company = company;
    }
    if sentence.contains('|') {
        for (value, place) in values.iter_mut().zip(&places) {
            let cell = ends.iter().take(place.start).filter(|end| **end).count();
            value.company = BTreeSet::from([format!("|{cell}")]);
        }
    }
    (values, used)
}

/// Marks values that a change or a replacement makes former ones: "from €10 to €12", "€12 instead of €10".
fn mark_former(values: &mut [Value], places: &[Range<usize>], words: &[String]) {
    let word = |n: Option<usize>| n.and_then(|n| words.get(n)).map_or("", String::as_str);
    // "Will rise from", "went up from", but not "drop off is from".
    let is_change = |from: usize| {
        let before = words.get(from.saturating_sub(1)..from).unwrap_or_default().join(" ");
        terms(&before).iter().any(|(term, _)| CHANGES.contains(&term.as_str())) || matches!(before.as_str(), "up" | "down")
    };
    for n in 0..values.len() {
        let Some(place) = places.get(n) else { continue };
        let (before, second) = (word(place.start.checked_sub(1)), word(place.start.checked_sub(2)));
        let (next, kind) = (places.get(n + 1), values.get(n + 1).map(|value| value.kind.clone()));
        let is_left = before == "from" && word(Some(place.end)) == "to" && next.is_some_and(|next| next.start == place.end + 1);
        let is_replaced = (second == "instead" && before == "of") || matches!(before, "previously" | "formerly");
        if let Some(value) = values.get_mut(n)
            && (is_replaced || (is_left && is_change(place.start.saturating_sub(1)) && kind.as_ref() == Some(&value.kind)))
        {
            value.kind.insert_str(0, FORMER);
        }
    }
}

/// Returns what the clause of a value says besides: its terms, and values of other kinds.
fn company(of: usize, values: &[Value], places: &[Range<usize>], words: &[String], is_end: &dyn Fn(usize) -> bool) -> BTreeSet<String> {
    let (Some(value), Some(place)) = (values.get(of), places.get(of)) else { return BTreeSet::new() };
    let is_bound = |at: &usize| words.get(*at).is_some_and(|word| CONJUNCTIONS.contains(&word.as_str()));
    let first = (0..place.start).rev().take_while(|at| !is_bound(at) && !is_end(*at)).last().unwrap_or(place.start);
    let last_word = place.end.saturating_sub(1);
    let rest = (place.end..words.len()).take_while(|at| !is_bound(at) && !is_end(at - 1)).last().unwrap_or(last_word);
    let is_in_value = |at: &usize| places.iter().any(|place| place.contains(at));
    let plain = (first..=rest).filter(|at| !is_in_value(at)).filter_map(|at| words.get(at)).cloned().collect::<Vec<_>>().join(" ");
    let others = values.iter().zip(places).filter(|(other, at)| other.kind != value.kind && (first..=rest).contains(&at.start));
    let others = others.map(|(other, _)| format!("{} {}", other.family(), other.amount));
    common_terms(&plain).into_iter().chain(others).collect()
}

/// Splits a sentence into words without the punctuation around them, and says which ones end a clause or a cell. Ranges and compounds with a
/// number are split: "9:00–17:00", "30-day".
fn tokens(sentence: &str) -> Vec<(String, bool)> {
    let mut found: Vec<(String, bool)> = Vec::new();
    let separated = sentence.replace('|', " | ");
    for piece in separated.split(|c: char| c.is_whitespace() || matches!(c, '–' | '—' | '(' | ')')) {
        let word = trimmed(piece);
        let ends = piece.ends_with([',', ';', ':', '|']);
        if word.is_empty() {
            if let Some(last) = found.last_mut() {
                last.1 |= ends;
            }
            continue;
        }
        let has_digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '€' | '$' | '£'));
        if let Some((first, second)) = word.split_once('/')
            && !(has_digits(first) && has_digits(second))
            && second.chars().all(char::is_alphabetic)
        {
            let parts = [trimmed(first), "/", second];
            found.extend(parts.into_iter().filter(|part| !part.is_empty()).map(|part| (part.to_owned(), false)));
        } else {
            match word.split_once('-') {
                Some((first, second)) if numbers::is_number(first) && !second.contains('-') && !numbers::is_compound(first, second) => {
                    found.extend([first, second].into_iter().filter(|part| !part.is_empty()).map(|part| (part.to_owned(), false)));
                }
                _ => found.push((word.to_owned(), false)),
            }
        }
        if let Some(last) = found.last_mut() {
            last.1 = ends;
        }
    }
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
        let next = word(1);
        let is_described = next.chars().all(char::is_alphabetic) && !is_stop_word(next) && !NO_UNITS.contains(&next);
        let kind = if is_described && !next.is_empty() { format!("{PERIOD} of {}", units::stem(next)) } else { PERIOD.to_owned() };
        return found(&kind, (*unit).to_owned(), 1);
    }
    // "Once a year" is every year.
    let times = match first {
        "once" => Some((1, 1)),
        "twice" => Some((2, 1)),
        _ => None,
    };
    let (times, length) = times.unwrap_or((1, 0));
    if PERIODS.contains(&word(length))
        && let Some(unit) = units::period(word(length + 1))
    {
        let amount = if times == 1 { unit.to_owned() } else { format!("{times} {unit}") };
        return found(PERIOD, amount, length + 2);
    }
    if let Some(length) = numbers::free(words, before) {
        return found(numbers::MONEY, numbers::FREE.to_owned(), length);
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
        return found(numbers::MONEY, amount, length);
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
