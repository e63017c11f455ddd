//! Dates as exact as they are known, and dates relative to the day of a message.

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::DatePrecision;

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/// A date in ISO 8601: a day `2026-03-01`, a month `2026-03`, a year `2026`, a yearly day `--03-01`, or a period `A/B`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ValueDate(String);

impl ValueDate {
    /// Parses ISO 8601 in one of the supported forms.
    pub fn parse(text: &str) -> Option<Self> {
        let known = match text.split_once('/') {
            Some((from, to)) => from.starts_with(|c: char| c.is_ascii_digit()) && is_date(from) && is_date(to) && from <= to,
            None => is_date(text),
        };
        known.then(|| Self(text.to_owned()))
    }

    /// Makes a day.
    pub fn day(day: NaiveDate) -> Self {
        Self(day.format("%Y-%m-%d").to_string())
    }

    /// Makes a month of a year.
    pub fn month(year: i32, month: u32) -> Option<Self> {
        Self::parse(&format!("{year:04}-{month:02}"))
    }

    /// Makes a day that returns every year.
    pub fn yearly(month: u32, day: u32) -> Option<Self> {
        Self::parse(&format!("--{month:02}-{day:02}"))
    }

    /// Returns the date in ISO 8601.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns how exactly it is known: a day, a month or a year. A yearly day and a period are none of these.
    pub fn precision(&self) -> DatePrecision {
        match parts(&self.0) {
            Some((Some(_), Some(_), Some(_))) => DatePrecision::Day,
            Some((Some(_), Some(_), None)) => DatePrecision::Month,
            Some((Some(_), None, None)) => DatePrecision::Year,
            _ => DatePrecision::Unknown,
        }
    }

    /// Returns its first day, if it is a day, a month or a year.
    pub fn first_day(&self) -> Option<NaiveDate> {
        let (year, month, day) = parts(&self.0)?;
        NaiveDate::from_ymd_opt(year?, month.unwrap_or(1), day.unwrap_or(1))
    }

    /// Returns the date in words: "1 March 2026".
    pub fn words(&self) -> String {
        match self.0.split_once('/') {
            Some((from, to)) => format!("{} to {}", words(from), words(to)),
            None => words(&self.0),
        }
    }
}

impl From<ValueDate> for String {
    fn from(d: ValueDate) -> Self {
        d.0
    }
}

impl TryFrom<String> for ValueDate {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a date")
    }
}

/// The numbers of a date: year, month, day.
fn parts(text: &str) -> Option<(Option<i32>, Option<u32>, Option<u32>)> {
    let number = |s: &str, digits: usize| (s.len() == digits && s.bytes().all(|b| b.is_ascii_digit())).then(|| s.parse::<u32>().ok())?;
    if let Some(yearly) = text.strip_prefix("--") {
        let (month, day) = yearly.split_once('-')?;
        return Some((None, Some(number(month, 2)?), Some(number(day, 2)?)));
    }
    let mut fields = text.split('-');
    let year = i32::try_from(number(fields.next()?, 4)?).ok()?;
    let month = fields.next().map(|m| number(m, 2).ok_or(())).transpose().ok()?;
    let day = fields.next().map(|d| number(d, 2).ok_or(())).transpose().ok()?;
    fields.next().is_none().then_some((Some(year), month, day))
}

fn is_date(text: &str) -> bool {
    match parts(text) {
        // 2000 has a 29 February.
        Some((year, Some(month), Some(day))) => NaiveDate::from_ymd_opt(year.unwrap_or(2000), month, day).is_some(),
        Some((Some(_), Some(month), None)) => (1..=12).contains(&month),
        Some((Some(_), None, None)) => true,
        _ => false,
    }
}

fn words(date: &str) -> String {
    let Some((year, month, day)) = parts(date) else { return date.to_owned() };
    let month = month.and_then(|m| MONTHS.get(m as usize - 1)).map(|m| (*m).to_owned());
    let all = [day.map(|d| d.to_string()), month, year.map(|y| y.to_string())];
    all.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A date relative to the day of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeDate {
    /// So many days later: "tomorrow".
    Days(u32),
    /// So many months later: "in two months".
    Months(u32),
    /// The next such weekday: "on Friday".
    Weekday(Weekday),
    /// That weekday of the next week: "Friday next week".
    WeekdayOfNextWeek(Weekday),
    /// The next such day of a year: "3 March".
    DayOfYear {
        /// Month, from 1.
        month: u32,
        /// Day, from 1.
        day: u32,
    },
    /// The next such month: "in March".
    Month(u32),
    /// The last day of this month or the one after so many months.
    EndOfMonth(u32),
    /// The last day of this year.
    EndOfYear,
    /// The Friday of this week, or of the week after so many weeks.
    EndOfWeek(u32),
}

impl RelativeDate {
    /// Returns the date for a message of this day.
    pub fn resolve(self, today: NaiveDate) -> ValueDate {
        let end_of_month = |day: NaiveDate| {
            let next = day.with_day(1).and_then(|first| first.checked_add_months(Months::new(1)));
            next.and_then(|n| n.pred_opt()).unwrap_or(day)
        };
        let later = |days: u32| today.checked_add_days(Days::new(u64::from(days))).unwrap_or(today);
        let since_monday = today.weekday().num_days_from_monday();
        let day = match self {
            Self::Days(days) => later(days),
            Self::Months(months) => today.checked_add_months(Months::new(months)).unwrap_or(today),
            Self::Weekday(weekday) => later((weekday.num_days_from_monday() + 6 - since_monday) % 7 + 1),
            Self::WeekdayOfNextWeek(weekday) => later(7 - since_monday + weekday.num_days_from_monday()),
            Self::DayOfYear { month, day } => {
                // 29 February exists within eight years.
                let mut years = today.year()..=today.year() + 8;
                years.find_map(|y| NaiveDate::from_ymd_opt(y, month, day).filter(|d| *d >= today)).unwrap_or(today)
            }
            Self::Month(month) => {
                let year = today.year() + i32::from(month < today.month());
                return ValueDate::month(year, month).unwrap_or_else(|| ValueDate::day(today));
            }
            Self::EndOfMonth(months) => end_of_month(today.checked_add_months(Months::new(months)).unwrap_or(today)),
            Self::EndOfYear => NaiveDate::from_ymd_opt(today.year(), 12, 31).unwrap_or(today),
            Self::EndOfWeek(weeks) => later((4 + 7 - since_monday) % 7 + 7 * weeks),
        };
        ValueDate::day(day)
    }
}

/// A date as people write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpokenDate {
    /// Complete.
    Known(ValueDate),
    /// Depends on the day of the message.
    Relative(RelativeDate),
}

impl SpokenDate {
    /// Parses words such as "3 March 2026", "tomorrow" or "next Friday".
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_lowercase().replace([',', '.'], " ");
        if let Some(date) = ValueDate::parse(&lower) {
            return Some(Self::Known(date));
        }
        let words: Vec<&str> = lower.split_whitespace().filter(|w| !matches!(*w, "of" | "the" | "on" | "this" | "coming")).collect();
        let relative = |r| Some(Self::Relative(r));
        let days = |n: u32, unit: &str| match unit.trim_end_matches('s') {
            "day" => Some(RelativeDate::Days(n)),
            "week" => Some(RelativeDate::Days(n * 7)),
            "month" => Some(RelativeDate::Months(n)),
            "year" => Some(RelativeDate::Months(n * 12)),
            _ => None,
        };
        match words[..] {
            ["today" | "tonight"] => relative(RelativeDate::Days(0)),
            ["tomorrow"] => relative(RelativeDate::Days(1)),
            ["day", "after", "tomorrow"] => relative(RelativeDate::Days(2)),
            ["in", n, unit] => days(count(n)?, unit).and_then(relative),
            ["end", "month"] => relative(RelativeDate::EndOfMonth(0)),
            ["end", "next", "month"] => relative(RelativeDate::EndOfMonth(1)),
            ["end", "week"] => relative(RelativeDate::EndOfWeek(0)),
            ["end", "next", "week"] => relative(RelativeDate::EndOfWeek(1)),
            ["end", "year"] => relative(RelativeDate::EndOfYear),
            ["next", day] | [day, "next", "week"] if weekday(day).is_some() => relative(RelativeDate::WeekdayOfNextWeek(weekday(day)?)),
            [one] if weekday(one).is_some() => relative(RelativeDate::Weekday(weekday(one)?)),
            [one] if month(one).is_some() => relative(RelativeDate::Month(month(one)?)),
            [a, b] => match (month(a), month(b), year(b)) {
                (Some(m), _, Some(y)) => ValueDate::month(y, m).map(Self::Known),
                (Some(m), ..) => Self::day_of_year(m, day(b)?),
                (None, Some(m), _) => Self::day_of_year(m, day(a)?),
                // "Friday 27" has no month.
                _ => None,
            },
            [_, a, b] if weekday(words[0]).is_some() => Self::parse(&format!("{a} {b}")),
            [a, b, c] => {
                let (m, d) = match (month(a), month(b)) {
                    (Some(m), _) => (m, day(b)?),
                    (_, Some(m)) => (m, day(a)?),
                    _ => return None,
                };
                NaiveDate::from_ymd_opt(year(c)?, m, d).map(|d| Self::Known(ValueDate::day(d)))
            }
            [_, a, b, c] if weekday(words[0]).is_some() => Self::parse(&format!("{a} {b} {c}")),
            _ => None,
        }
    }

    fn day_of_year(month: u32, day: u32) -> Option<Self> {
        NaiveDate::from_ymd_opt(2000, month, day).map(|_| Self::Relative(RelativeDate::DayOfYear { month, day }))
    }
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    word.parse().ok().filter(|_| word.len() > 3 || matches!(word, "mon" | "tue" | "wed" | "thu" | "fri"))
}

/// The number of a month by its name or usual short form.
pub(super) fn month(word: &str) -> Option<u32> {
    let place = MONTHS.iter().position(|m| {
        let m = m.to_lowercase();
        word == m || (word.len() == 3 && m.starts_with(word)) || (word == "sept" && m == "september")
    });
    u32::try_from(place? + 1).ok()
}

/// The number of a day: "3", "3rd".
pub(super) fn day(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ending = &word[digits.len()..];
    (matches!(ending, "" | "st" | "nd" | "rd" | "th") && digits.len() <= 2).then(|| digits.parse().ok())?
}

pub(super) fn year(word: &str) -> Option<i32> {
    (word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit())).then(|| word.parse().ok())?.filter(|y| (1000..2200).contains(y))
}

/// A small number in digits or in words.
pub(super) fn count(word: &str) -> Option<u32> {
    const WORDS: [&str; 13] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    match word {
        "a" | "an" => Some(1),
        word => {
            WORDS.iter().position(|w| *w == word).and_then(|n| u32::try_from(n).ok()).or_else(|| word.parse().ok().filter(|n| *n < 1000))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_as_exact_as_known() {
        for (iso, words) in [
            ("2026-03-01", "1 March 2026"),
            ("2026-03", "March 2026"),
            ("2026", "2026"),
            ("--02-29", "29 February"),
            ("2026-03-01/2026-03-05", "1 March 2026 to 5 March 2026"),
        ] {
            assert_eq!(ValueDate::parse(iso).unwrap().words(), words);
        }
        for wrong in ["", "26", "2026-13", "2026-02-30", "--13-01", "2026-03-05/2026-03-01", "--03-01/--03-02", "2026-3-1", "2026-03-01-"] {
            assert_eq!(ValueDate::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn relative_dates_follow_the_day_of_the_message() {
        let monday = NaiveDate::from_ymd_opt(2026, 11, 23).unwrap();
        for (words, expected) in [
            ("today", "2026-11-23"),
            ("Tomorrow", "2026-11-24"),
            ("on Friday", "2026-11-27"),
            ("Monday", "2026-11-30"),
            ("next Friday", "2026-12-04"),
            ("Friday next week", "2026-12-04"),
            ("in two weeks", "2026-12-07"),
            ("in a month", "2026-12-23"),
            ("3 March", "2027-03-03"),
            ("the 24th of November", "2026-11-24"),
            ("March 3rd", "2027-03-03"),
            ("Friday, 27 November", "2026-11-27"),
            ("December", "2026-12"),
            ("end of the month", "2026-11-30"),
            ("end of next month", "2026-12-31"),
            ("end of the week", "2026-11-27"),
            ("end of the year", "2026-12-31"),
            ("March 2027", "2027-03"),
            ("3 March 2027", "2027-03-03"),
            ("March 3rd, 2027", "2027-03-03"),
            ("2027-03-03", "2027-03-03"),
        ] {
            let date = match SpokenDate::parse(words).unwrap() {
                SpokenDate::Known(date) => date,
                SpokenDate::Relative(date) => date.resolve(monday),
            };
            assert_eq!(date.as_str(), expected, "{words}");
        }
        for wrong in ["", "soon", "31 February", "may be", "Friday 27", "in many days", "the sun"] {
            assert_eq!(SpokenDate::parse(wrong), None, "{wrong}");
        }
    }
}
