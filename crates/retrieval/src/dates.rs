//! Date words, so that "what did I do in May?" finds messages of May.
//!
//! Covers calendar words only. The index cannot resolve "yesterday", because it does not know the time of a question.

use chrono::Datelike;
use unicode_segmentation::UnicodeSegmentation;

use recall_domain::Timestamp;

/// One word of a date.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum DateWord {
    /// 1 to 12.
    Month(u32),
    /// Four digits.
    Year(i32),
    /// 1 to 31.
    Day(u32),
    /// 0 is Monday.
    Weekday(u32),
}

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Returns the date words of a moment.
pub(super) fn words_of(moment: Timestamp) -> [DateWord; 4] {
    [
        DateWord::Month(moment.month()),
        DateWord::Year(moment.year()),
        DateWord::Day(moment.day()),
        DateWord::Weekday(moment.weekday().num_days_from_monday()),
    ]
}

/// Parses a number with an optional ordinal suffix: "8", "8th", "1st".
fn parse_number(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let rest = &word[digits.len()..];
    if !matches!(rest, "" | "st" | "nd" | "rd" | "th") {
        return None;
    }
    digits.parse().ok()
}

/// Parses the name of a month, or its first three or four letters, as 1 to 12.
fn parse_month(word: &str) -> Option<u32> {
    let index = MONTHS.iter().position(|m| *m == word || (word.len() >= 3 && word.len() <= 4 && m.starts_with(word) && word != "ma"))?;
    u32::try_from(index + 1).ok()
}

/// Whether "march" or "may" is a month here and not a verb.
///
/// It is a month if it is capitalised inside the sentence, follows a word such as "in", or is next to a number.
fn is_month(words: &[&str], at: usize) -> bool {
    const BEFORE: [&str; 13] = ["in", "of", "last", "this", "next", "since", "until", "by", "early", "late", "mid", "during", "from"];
    let numeric = |w: Option<&&str>| w.is_some_and(|w| parse_number(&w.to_lowercase()).is_some());
    let before = at.checked_sub(1).and_then(|i| words.get(i));
    let capitalised = at > 0 && words[at].starts_with(char::is_uppercase);
    capitalised || numeric(before) || numeric(words.get(at + 1)) || before.is_some_and(|w| BEFORE.contains(&w.to_lowercase().as_str()))
}

/// Returns the date words of a question. A number is a day only next to a month, because most numbers are no days.
pub(super) fn find_in_text(text: &str) -> Vec<DateWord> {
    let words: Vec<&str> = text.unicode_words().collect();
    let lower: Vec<String> = words.iter().map(|w| w.to_lowercase()).collect();
    let months: Vec<Option<u32>> = (0..words.len()).map(|i| parse_month(&lower[i]).filter(|_| is_month(&words, i))).collect();
    let mut found = Vec::new();
    for (i, word) in lower.iter().enumerate() {
        let bare = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        if let Some(month) = months[i] {
            found.push(DateWord::Month(month));
        } else if let Some(day) = WEEKDAYS.iter().position(|d| *d == bare || bare.strip_suffix('s') == Some(d)) {
            found.extend(u32::try_from(day).ok().map(DateWord::Weekday));
        } else if let Some(n) = parse_number(word) {
            let is_month_at = |j: Option<usize>| j.and_then(|j| months.get(j)).is_some_and(Option::is_some);
            let after_of = i >= 1 && is_month_at(Some(i + 2)) && lower.get(i + 1).is_some_and(|w| w == "of");
            if word.len() == 4 && (1900..=2100).contains(&n) {
                found.extend(i32::try_from(n).ok().map(DateWord::Year));
            } else if (1..=31).contains(&n) && (is_month_at(i.checked_sub(1)) || is_month_at(Some(i + 1)) || after_of) {
                found.push(DateWord::Day(n));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{DateWord::*, *};

    #[test]
    fn moment_has_month_year_day_and_weekday() {
        let moment = "2023-05-08T13:56:00Z".parse().unwrap();
        assert_eq!(words_of(moment), [Month(5), Year(2023), Day(8), Weekday(0)]);
    }

    #[test]
    fn date_words_are_distinguished_from_other_words() {
        for (text, expected) in [
            ("When did she paint it in May 2023?", vec![Month(5), Year(2023)]),
            ("What happened on 8 May?", vec![Month(5), Day(8)]),
            ("What happened on the 3rd of July, 2022?", vec![Month(7), Year(2022), Day(3)]),
            ("What did I say on Mondays?", vec![Weekday(0)]),
            ("may I march along?", vec![]),
            ("Since march I live here", vec![Month(3)]),
            ("Who has 12 cats?", vec![]),
            ("the Sept 12 trip", vec![Month(9), Day(12)]),
            ("What about the year 99999 or 20231?", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(find_in_text(text), expected, "{text}");
        }
    }
}
