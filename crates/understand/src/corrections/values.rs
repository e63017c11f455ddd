//! Finds the values in a message and in its correction: dates, times of day, numbers, contacts.

use std::ops::Range;

use crate::plain_words::{Word, joined, words};
use recall_domain::{
    FactValue, ValueData, number_word,
    value::{ContactKind, SpokenDate},
};

/// Most words of a value.
pub(super) const MAX_VALUE_WORDS: usize = 5;

/// The kind of a value. Only values of one kind replace each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Date,
    Time,
    Number,
    Contact(ContactKind),
}

/// Returns the old word with the number of the new words: "€950" for "€900" and "950". A unit must be the one that was said.
pub(super) fn number_in_place_of(old: &str, after: &str, new: &str) -> Option<String> {
    let (number, unit) = unit_of(new).unwrap_or((new, ""));
    if !unit.is_empty() && !after.trim_start().to_lowercase().starts_with(&unit.to_lowercase()) {
        return None;
    }
    let digits = |word: &str| {
        let start = word.find(|c: char| c.is_ascii_digit())?;
        let end = word.rfind(|c: char| c.is_ascii_digit())? + 1;
        Some((word.get(..start)?.to_owned(), word.get(start..end)?.to_owned(), word.get(end..)?.to_owned()))
    };
    let spelled = |word: &str| number_word(word).map(|n| (String::new(), n.to_string(), String::new()));
    let (old, new) = (digits(old).or_else(|| spelled(old))?, digits(number).or_else(|| spelled(number))?);
    let fits = |new: &str, old: &str| new.is_empty() || new.eq_ignore_ascii_case(old);
    (fits(&new.0, &old.0) && fits(&new.2, &old.2)).then(|| format!("{}{}{}", old.0, new.1, old.2))
}

/// Splits a number from its unit: "74 kg".
fn unit_of(text: &str) -> Option<(&str, &str)> {
    let (number, unit) = text.split_once(' ')?;
    let value = FactValue::parse_number(text)?;
    matches!(value.data, ValueData::Number { unit: Some(_), .. }).then_some((number, unit))
}

/// Whether a text is an amount with its unit or currency, or a contact: more than a number.
pub(super) fn is_amount(text: &str) -> bool {
    text.contains(['€', '$', '£', '¥', '%', '@']) || unit_of(text).is_some() || matches!(kind_of_all(text), Some(Kind::Contact(_)))
}

/// Returns the kind of value that a whole text is.
pub(super) fn kind_of_all(text: &str) -> Option<Kind> {
    match values(text).as_slice() {
        [(range, kind)] if *range == (0..text.len()) => Some(*kind),
        [] => None,
        _ => unit_of(text).map(|_| Kind::Number),
    }
}

/// Splits a day with a time: "Wednesday at 11".
pub(super) fn day_and_time(text: &str) -> Option<(&str, &str)> {
    let found = values(text);
    let [(day, Kind::Date), (time, Kind::Time | Kind::Number)] = found.as_slice() else { return None };
    let is_all = day.start == 0 && time.end == text.len() && text.get(day.end..time.start)?.trim() == "at";
    Some((text.get(day.clone())?, text.get(time.clone())?)).filter(|_| is_all)
}

/// Returns the values in a text with their places, the longest at each place.
pub(super) fn values(text: &str) -> Vec<(Range<usize>, Kind)> {
    let words = words(text);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let most = MAX_VALUE_WORDS.min(words.len() - at);
        let value = (1..=most).rev().find_map(|n| {
            let part = &words[at..at + n];
            // A mark ends a value, but not the day before a month.
            let is_closed =
                part[..n - 1].iter().any(|w| w.closes && w.norm.parse::<u32>().is_err() && SpokenDate::parse(&w.norm).is_none());
            let kind = kind_of(joined(text, part), part).filter(|_| !is_closed)?;
            Some((part[0].range.start..part[n - 1].range.end, kind, n))
        });
        match value {
            Some((range, kind, n)) => {
                found.push((range, kind));
                at += n;
            }
            None => at += 1,
        }
    }
    found
}

/// Returns the kind of value that the words are.
fn kind_of(text: &str, words: &[Word<'_>]) -> Option<Kind> {
    let first = words.first()?;
    if let Some(value) = FactValue::parse_contact(text)
        && let ValueData::Contact { contact, .. } = value.data
    {
        return Some(Kind::Contact(contact));
    }
    if is_time(&text.to_lowercase()) {
        return Some(Kind::Time);
    }
    if words.len() == 1 {
        // "the 9th"
        let is_day = |ordinal: &str| ["st", "nd", "rd", "th"].iter().any(|end| ordinal.strip_suffix(end).is_some_and(is_day_of_month));
        if is_day(&first.norm) {
            return Some(Kind::Date);
        }
        let starts = first.norm.trim_start_matches(['€', '$', '£', '¥', '#']).starts_with(|c: char| c.is_ascii_digit());
        // "One" is seldom a number.
        if starts && SpokenDate::parse(&first.norm).is_none_or(|_| first.norm.len() <= 4) || number_word(&first.norm).is_some_and(|n| n > 1)
        {
            return Some(Kind::Number);
        }
        // "I may go", "sat down"
        let is_name = first.text.starts_with(char::is_uppercase) || matches!(first.norm.as_str(), "today" | "tonight" | "tomorrow");
        return SpokenDate::parse(&first.norm).filter(|_| is_name || first.norm.ends_with("day")).map(|_| Kind::Date);
    }
    let is_lead = matches!(first.norm.as_str(), "on" | "of" | "the" | "this" | "coming");
    let ends = words.last().is_some_and(|w| !matches!(w.norm.as_str(), "on" | "of" | "the" | "this" | "coming"));
    SpokenDate::parse(text).filter(|_| !is_lead && ends).map(|_| Kind::Date)
}

fn is_day_of_month(number: &str) -> bool {
    number.parse::<u32>().is_ok_and(|day| (1..=31).contains(&day))
}

/// Whether the words are a time of day: "4pm", "16:30", "4 pm", "noon", "half past four".
fn is_time(words: &str) -> bool {
    if matches!(words, "noon" | "midnight" | "midday") {
        return true;
    }
    let spoken = ["half past ", "quarter past ", "quarter to "].iter().find_map(|lead| words.strip_prefix(lead));
    let is_hour = |hour: &str| hour.parse::<u32>().ok().or_else(|| number_word(hour)).is_some_and(|h| h <= 24);
    if let Some(hour) = spoken.or_else(|| words.strip_suffix(" o'clock")) {
        return is_hour(hour);
    }
    let halves = ["a.m.", "p.m.", "a.m", "p.m", "am", "pm"];
    let bare = halves.iter().find_map(|half| words.strip_suffix(half)).map(str::trim_end);
    let clock = bare.unwrap_or(words);
    match clock.split_once(':') {
        Some((hour, minute)) => is_hour(hour) && minute.len() == 2 && minute.parse::<u32>().is_ok_and(|m| m < 60),
        None => bare.is_some() && is_hour(clock),
    }
}
