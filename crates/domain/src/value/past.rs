//! Dates as people tell them of what has happened.

use chrono::{Datelike, Months, NaiveDate, TimeDelta};

use super::ValueDate;
use super::date::{count, day, month, weekday, year};
use crate::DatePrecision;

/// Words for the days of a month that are no numerals.
const ORDINALS: [&str; 20] = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
];
/// Words before a date that do not change it as far as it is kept: "at the end of June" is in June.
const BEFORE: [&str; 15] =
    ["the", "of", "at", "in", "on", "about", "around", "end", "beginning", "start", "middle", "early", "mid", "late", "roughly"];

/// Seasons of the northern half of the world, with their last month. A winter lies in two years.
const SEASONS: [(&str, u32); 4] = [("spring", 5), ("summer", 8), ("autumn", 11), ("fall", 11)];

/// Returns the latest date, not after `today`, with which `words` begin, and how many of them it has: "3 March", "March 2024", "last month",
/// "two years ago", "the end of June". A season is a date of its year. Words are in small letters, without punctuation.
pub fn past_date(words: &[&str], today: NaiveDate) -> Option<(usize, ValueDate)> {
    let skipped = words.iter().take_while(|w| BEFORE.contains(w)).count();
    let (length, date) = bare(words.get(skipped..)?, today)?;
    (date.first_day()? <= today).then_some((skipped + length, date))
}

fn bare(words: &[&str], today: NaiveDate) -> Option<(usize, ValueDate)> {
    let word = |i: usize| words.get(i).copied().unwrap_or_default();
    // "2015-03-04", "2015-03"; a year alone may count something.
    if let Some(date) = ValueDate::parse(word(0)).filter(|date| date.precision() > DatePrecision::Year) {
        return Some((1, date));
    }
    let ordinal = |word: &str| ORDINALS.iter().position(|o| *o == word).and_then(|i| u32::try_from(i + 1).ok());
    let day_at = |i: usize| day(word(i)).or_else(|| ordinal(word(i)));
    let days_ago = |days: i64| Some(ValueDate::day(today.checked_sub_signed(TimeDelta::try_days(days)?)?));
    match word(0) {
        "yesterday" => return Some((1, days_ago(1)?)),
        "today" => return Some((1, days_ago(0)?)),
        "last" | "this" => {
            let back = u32::from(word(0) == "last");
            let date = match word(1) {
                "month" => month_of(today.checked_sub_months(Months::new(back))?)?,
                "year" => year_of(today.checked_sub_months(Months::new(12 * back))?.year())?,
                "week" if back == 1 => month_of(today.checked_sub_signed(TimeDelta::try_days(7)?)?)?,
                "morning" | "afternoon" if back == 0 => ValueDate::day(today),
                "spring" | "summer" | "autumn" | "fall" => season(word(1), today, back == 1)?,
                unit => match (weekday(unit), month(unit)) {
                    (Some(_), _) => return bare(&words[1..], today).map(|(length, date)| (1 + length, date)),
                    (_, Some(month)) => latest_month(month, today, back == 1)?,
                    _ => return None,
                },
            };
            return Some((2, date));
        }
        _ => {}
    }
    if let Some(n) = count(word(0)).filter(|_| word(2) == "ago") {
        let date = match word(1).trim_end_matches('s') {
            "day" => days_ago(i64::from(n))?,
            // The day of the week is not said.
            "week" => month_of(today.checked_sub_signed(TimeDelta::try_weeks(i64::from(n))?)?)?,
            "month" => month_of(today.checked_sub_months(Months::new(n))?)?,
            "year" => year_of(today.year().checked_sub(i32::try_from(n).ok()?)?)?,
            _ => return None,
        };
        return Some((3, date));
    }
    if let Some(wanted) = weekday(word(0)).filter(|_| word(0).ends_with("day")) {
        let back = (7 + today.weekday().num_days_from_monday() - wanted.num_days_from_monday() - 1) % 7 + 1;
        return Some((1, days_ago(i64::from(back))?));
    }
    let of = |i: usize| usize::from(word(i) == "of");
    if matches!(word(0), "spring" | "summer" | "autumn" | "fall")
        && let Some(year) = year(word(1 + of(1)))
    {
        return Some((2 + of(1), year_of(year)?));
    }
    // "14 October 2025", "the 9th of September", "October 14th, 2025", "October 2025".
    let (length, number, of_month) = if let Some(number) = day_at(0) {
        (2 + of(1), Some(number), month(word(1 + of(1)))?)
    } else {
        let of_month = month(word(0))?;
        let number = day_at(1).filter(|_| year(word(1)).is_none());
        (1 + usize::from(number.is_some()), number, of_month)
    };
    let stated = year(word(length + of(length)));
    let length = length + stated.map_or(0, |_| 1 + of(length));
    let date = match (number, stated) {
        (Some(number), Some(year)) => ValueDate::day(NaiveDate::from_ymd_opt(year, of_month, number)?),
        // 29 February exists within eight years.
        (Some(number), None) => {
            let mut years = (0..=8).map(|back| today.year() - back);
            ValueDate::day(years.find_map(|y| NaiveDate::from_ymd_opt(y, of_month, number).filter(|d| *d <= today))?)
        }
        (None, Some(year)) => ValueDate::month(year, of_month)?,
        (None, None) => latest_month(of_month, today, false)?,
    };
    Some((length, date))
}

/// Returns the year with which `words` begin, as a date: "2019". Elsewhere such a number may count something.
pub fn past_year(words: &[&str], today: NaiveDate) -> Option<(usize, ValueDate)> {
    let skipped = words.iter().take_while(|w| BEFORE.contains(w)).count();
    let year = year(words.get(skipped)?).filter(|y| (1900..=today.year()).contains(y))?;
    Some((skipped + 1, year_of(year)?))
}

/// Returns the latest such month that has begun, or if `has_passed`, that has ended.
fn latest_month(month: u32, today: NaiveDate, has_passed: bool) -> Option<ValueDate> {
    let is_over = month < today.month() || (month == today.month() && !has_passed);
    ValueDate::month(today.year() - i32::from(!is_over), month)
}

/// Returns the year of the last such season that is over if `has_passed`, else of the one of this year if it has begun.
fn season(name: &str, today: NaiveDate, has_passed: bool) -> Option<ValueDate> {
    let (_, last_month) = SEASONS.iter().find(|(season, _)| *season == name)?;
    if has_passed {
        return year_of(today.year() - i32::from(today.month() <= *last_month));
    }
    if today.month() + 2 >= *last_month { year_of(today.year()) } else { None }
}

fn month_of(day: NaiveDate) -> Option<ValueDate> {
    ValueDate::month(day.year(), day.month())
}

fn year_of(year: i32) -> Option<ValueDate> {
    ValueDate::parse(&format!("{year:04}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_the_past_are_the_latest_that_fit() {
        // A Friday.
        let today = NaiveDate::from_ymd_opt(2026, 5, 8).unwrap();
        for (text, expected) in [
            ("3 march", Some((2, "2026-03-03"))),
            ("the 9th of september", Some((4, "2025-09-09"))),
            ("the nineteenth of july 2024", Some((5, "2024-07-19"))),
            ("october 14th 2025 and", Some((3, "2025-10-14"))),
            ("may", Some((1, "2026-05"))),
            ("last may", Some((2, "2025-05"))),
            ("june", Some((1, "2025-06"))),
            ("the end of june 2020", Some((5, "2020-06"))),
            ("march of 2024", Some((3, "2024-03"))),
            ("last month", Some((2, "2026-04"))),
            ("last year", Some((2, "2025"))),
            ("last week", Some((2, "2026-05"))),
            ("two years ago", Some((3, "2024"))),
            ("a month ago", Some((3, "2026-04"))),
            ("3 days ago", Some((3, "2026-05-05"))),
            ("yesterday", Some((1, "2026-05-07"))),
            ("friday", Some((1, "2026-05-01"))),
            ("last tuesday", Some((2, "2026-05-05"))),
            ("2015-03-04", Some((1, "2015-03-04"))),
            ("around october 2020", Some((3, "2020-10"))),
            ("may 2027", None),
            ("31 february", None),
            ("soon", None),
            ("last summer", Some((2, "2025"))),
            ("last spring", Some((2, "2025"))),
            ("this spring", Some((2, "2026"))),
            ("this fall", None),
            ("last winter", None),
            ("the spring of 2019", Some((4, "2019"))),
            ("winter 2019", None),
            ("the fall of a wall", None),
            ("two dogs", None),
            ("", None),
        ] {
            let words: Vec<&str> = text.split_whitespace().collect();
            let found = past_date(&words, today);
            assert_eq!(found.as_ref().map(|(n, d)| (*n, d.as_str())), expected, "{text}");
        }
        let year = |text: &str| past_year(&text.split_whitespace().collect::<Vec<_>>(), today).map(|(n, d)| (n, d.as_str().to_owned()));
        assert_eq!(year("2019 or so"), Some((1, "2019".to_owned())));
        assert_eq!(year("2031"), None);
    }
}
