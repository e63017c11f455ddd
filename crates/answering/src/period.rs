//! Resolves words such as "yesterday" and "last week" to days.
//!
//! They are relative to the time of the message or question, which is an argument.

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};

use super::words::{Word, words};
use recall_domain::Timestamp;

/// A range of days, from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Period {
    pub(super) first: NaiveDate,
    pub(super) last: NaiveDate,
}

/// An expression for a period in a text: the range of its words, and the days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PeriodMention {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) period: Period,
    /// Whether it depends on the time of the text.
    pub(super) relative: bool,
}

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const SEASONS: [(&str, u32); 5] = [("spring", 3), ("summer", 6), ("autumn", 9), ("fall", 9), ("winter", 12)];

impl Period {
    fn day(day: NaiveDate) -> Self {
        Self { first: day, last: day }
    }

    /// Whether it contains a moment.
    pub(super) fn has(&self, moment: Timestamp) -> bool {
        let day = moment.date_naive();
        self.first <= day && day <= self.last
    }

    /// Whether both periods have a day in common.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Returns a description: "7 May 2026", "the week of 4 May 2026", "June 2026", "2025".
    pub(super) fn words(&self) -> String {
        let month = |d: NaiveDate| d.format("%B %Y").to_string();
        let day = |d: NaiveDate| format!("{} {}", d.day(), month(d));
        match (self.last - self.first).num_days() {
            0 => day(self.first),
            1..=2 => format!("{} to {}", day(self.first), day(self.last)),
            3..=7 => format!("the week of {}", day(self.first)),
            8..=31 => month(self.first),
            32..=100 => format!("{} to {}", month(self.first), month(self.last)),
            _ => self.first.year().to_string(),
        }
    }
}

fn month_of(year: i32, month: u32) -> Option<Period> {
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    Some(Period { first, last: first.checked_add_months(Months::new(1))?.pred_opt()? })
}

fn year_of(year: i32) -> Option<Period> {
    Some(Period { first: NaiveDate::from_ymd_opt(year, 1, 1)?, last: NaiveDate::from_ymd_opt(year, 12, 31)? })
}

fn week_of(day: NaiveDate) -> Option<Period> {
    let first = day.week(Weekday::Mon).checked_first_day()?;
    Some(Period { first, last: first.checked_add_days(Days::new(6))? })
}

fn weekday(word: &str) -> Option<Weekday> {
    word.parse::<Weekday>().ok().filter(|_| word.ends_with("day"))
}

fn count(word: &str) -> Option<u32> {
    const SMALL: [&str; 13] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    match word {
        "a" | "an" => Some(1),
        "couple" => Some(2),
        _ => word.parse().ok().or_else(|| SMALL.iter().position(|w| *w == word).and_then(|n| u32::try_from(n).ok())),
    }
}

/// Returns the last (-1), this (0) or next (1) unit.
fn shifted(step: i32, unit: &str, today: NaiveDate) -> Option<Period> {
    let month = |by: i32| -> Option<NaiveDate> {
        if by < 0 {
            today.checked_sub_months(Months::new(by.unsigned_abs()))
        } else {
            today.checked_add_months(Months::new(by.unsigned_abs()))
        }
    };
    let day = |by: i64| today.checked_add_signed(chrono::TimeDelta::try_days(by)?);
    match unit {
        "night" => day(i64::from(step)).map(Period::day),
        "morning" | "afternoon" | "evening" => (step == 0).then(|| Period::day(today)),
        "week" => week_of(day(7 * i64::from(step))?),
        "weekend" => {
            // On a Sunday, "last weekend" mostly means the weekend before this week.
            let friday = week_of(day(7 * i64::from(step))?)?.last.pred_opt()?;
            Some(Period { first: friday, last: friday.succ_opt()? })
        }
        "month" => month(step).and_then(|d| month_of(d.year(), d.month())),
        "year" => year_of(today.year() + step),
        _ => {
            if let Some(wanted) = weekday(unit) {
                let ahead = (7 + i64::from(wanted.num_days_from_monday()) - i64::from(today.weekday().num_days_from_monday())) % 7;
                let by = if step < 0 {
                    ahead - 7
                } else if ahead == 0 {
                    7
                } else {
                    ahead
                };
                return day(by).map(Period::day);
            }
            let first = MONTHS.iter().position(|m| *m == unit).and_then(|m| u32::try_from(m + 1).ok());
            let season = SEASONS.iter().find(|(s, _)| *s == unit).map(|(_, m)| *m);
            let start = first.or(season)?;
            let length = if season.is_some() { 3 } else { 1 };
            let mut from = NaiveDate::from_ymd_opt(today.year(), start, 1)?;
            let ends = |from: NaiveDate| from.checked_add_months(Months::new(length));
            if step < 0 && ends(from)? > today {
                from = from.checked_sub_months(Months::new(12))?;
            } else if step > 0 && from <= today {
                from = from.checked_add_months(Months::new(12))?;
            }
            Some(Period { first: from, last: ends(from)?.pred_opt()? })
        }
    }
}

/// Returns the number of words and the days of the relative expression at a position.
fn relative(text: &[Word], at: usize, today: NaiveDate) -> Option<(usize, Period)> {
    let word = |i: usize| text.get(at + i).map_or("", |w| w.plain.as_str());
    let day = |by: i64| today.checked_add_signed(chrono::TimeDelta::try_days(by)?).map(Period::day);
    match word(0) {
        "yesterday" if at >= 2 && text[at - 1].plain == "before" => None,
        "yesterday" => Some((1, day(-1)?)),
        "today" | "tonight" => Some((1, day(0)?)),
        "tomorrow" => Some((1, day(1)?)),
        "day" if word(1) == "before" && word(2) == "yesterday" => Some((3, day(-2)?)),
        "last" => Some((2, shifted(-1, word(1), today)?)),
        "this" => Some((2, shifted(0, word(1), today)?)),
        "next" => Some((2, shifted(1, word(1), today)?)),
        first => {
            let n = count(first)?;
            let skip = usize::from(first == "couple" && word(1) == "of");
            if word(2 + skip) != "ago" {
                return None;
            }
            let period = match word(1 + skip).trim_end_matches('s') {
                "day" => day(-i64::from(n))?,
                "week" => week_of(today.checked_sub_days(Days::new(7 * u64::from(n)))?)?,
                "month" => today.checked_sub_months(Months::new(n)).and_then(|d| month_of(d.year(), d.month()))?,
                "year" => year_of(today.year().checked_sub(i32::try_from(n).ok()?)?)?,
                _ => return None,
            };
            Some((3 + skip, period))
        }
    }
}

/// Returns the relative expressions of a text said at a moment, in order.
pub(super) fn relatives(text: &str, said: Timestamp) -> Vec<(String, Period)> {
    let found = words(text);
    let today = said.date_naive();
    let mut all = Vec::new();
    let mut at = 0;
    while at < found.len() {
        if let Some((length, period)) = relative(&found, at, today) {
            let end = (at + length).min(found.len());
            if let (Some(first), Some(last)) = (found.get(at), found.get(end - 1)) {
                all.push((text[first.span.0..last.span.1].to_lowercase(), period));
            }
            at = end;
        } else {
            at += 1;
        }
    }
    all
}

/// Returns the period of a question asked at `now`: "yesterday", "in May", "on 3 May 2026", "in 2025".
pub(super) fn find_in_question(question: &[Word], now: Timestamp) -> Option<PeriodMention> {
    let today = now.date_naive();
    for (at, word) in question.iter().enumerate() {
        if let Some((length, period)) = relative(question, at, today) {
            return Some(PeriodMention { start: at, end: at + length, period, relative: true });
        }
        let before = at.checked_sub(1).map_or("", |i| question[i].plain.as_str());
        let month = MONTHS.iter().position(|m| *m == word.plain).and_then(|m| u32::try_from(m + 1).ok());
        if let Some(month) = month.filter(|_| word.capital || matches!(before, "in" | "since" | "during")) {
            let number = |i: usize| question.get(i).and_then(|w| w.plain.trim_end_matches(|c: char| c.is_alphabetic()).parse::<u32>().ok());
            let before_day = at.checked_sub(1).and_then(number).filter(|d| *d <= 31);
            let after_day = number(at + 1).filter(|d| *d <= 31);
            let (start, end) = (at - usize::from(before_day.is_some()), at + 1 + usize::from(after_day.is_some()));
            let stated = year_at(question, end);
            // Without a year, the latest such month that has started.
            let year = stated.unwrap_or_else(|| today.year() - i32::from(month > today.month()));
            let period = match before_day.or(after_day) {
                Some(day) => NaiveDate::from_ymd_opt(year, month, day).map(Period::day),
                None if matches!(before, "in" | "during" | "of") => month_of(year, month),
                None => None,
            };
            return period.map(|period| PeriodMention { start, end: end + usize::from(stated.is_some()), period, relative: false });
        }
        let is_season = matches!(before, "in" | "the" | "during" | "of") && SEASONS.iter().any(|(season, _)| *season == word.plain);
        if is_season && let Some(latest) = shifted(0, &word.plain, today) {
            let of = usize::from(question.get(at + 1).is_some_and(|w| w.plain == "of"));
            let stated = year_at(question, at + 1 + of);
            let year = stated.unwrap_or_else(|| today.year() - i32::from(latest.first > today));
            let end = at + 1 + stated.map_or(0, |_| of + 1);
            let moved = |day: NaiveDate| day.with_year(day.year() + year - latest.first.year());
            let period = moved(latest.first).zip(moved(latest.last)).map(|(first, last)| Period { first, last });
            return period.map(|period| PeriodMention { start: at, end, period, relative: false });
        }
        let year = word.plain.parse().ok().filter(|y| (1900..2200).contains(y));
        if before == "in"
            && let Some(period) = year.and_then(year_of)
        {
            return Some(PeriodMention { start: at, end: at + 1, period, relative: false });
        }
        if before == "on"
            && let Some(period) = weekday(&word.plain).and_then(|_| shifted(-1, &word.plain, today))
        {
            return Some(PeriodMention { start: at, end: at + 1, period, relative: false });
        }
    }
    None
}

/// Returns the year that a word is.
fn year_at(question: &[Word], at: usize) -> Option<i32> {
    question.get(at).and_then(|w| w.plain.parse().ok()).filter(|y| (1900..2200).contains(y))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn relative_days_depend_on_the_time_of_the_text() {
        // A Friday.
        let said: Timestamp = "2026-05-08T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("I went there yesterday.", "7 May 2026"),
            ("I went there the day before yesterday.", "6 May 2026"),
            ("We leave tomorrow", "9 May 2026"),
            ("It broke last night", "7 May 2026"),
            ("last week", "the week of 27 April 2026"),
            ("last weekend", "2 May 2026 to 3 May 2026"),
            ("next month", "June 2026"),
            ("last year", "2025"),
            ("last Friday", "1 May 2026"),
            ("last Monday", "4 May 2026"),
            ("next Friday", "15 May 2026"),
            ("two weeks ago", "the week of 20 April 2026"),
            ("three years ago", "2023"),
            ("a couple of days ago", "6 May 2026"),
            ("last autumn", "September 2025 to November 2025"),
            ("last June", "June 2025"),
            ("Next March", "March 2027"),
        ] {
            let found = relatives(text, said);
            assert_eq!(found.first().map(|f| f.1.words()), Some(expected.to_owned()), "{text}");
        }
        assert!(relatives("I may go on Monday. The last thing. 4000000000 years ago, a week.", said).is_empty());
    }

    #[test]
    fn days_in_questions_are_found() {
        let now: Timestamp = "2026-05-08T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("What did I say yesterday?", Some("7 May 2026")),
            ("What did I do in March?", Some("March 2026")),
            ("What did I do in June", Some("June 2025")),
            ("What did I do in June 2024?", Some("June 2024")),
            ("Who was my boss in the summer of 2024?", Some("June 2024 to August 2024")),
            ("Who was my boss in the autumn?", Some("September 2025 to November 2025")),
            ("Where was I on 3 May, 2024?", Some("3 May 2024")),
            ("What happened on 3 May 2025?", Some("3 May 2025")),
            ("What happened on May 3?", Some("3 May 2026")),
            ("What happened in 2024?", Some("2024")),
            ("What did I do on Monday?", Some("4 May 2026")),
            ("What may I do?", None),
            ("What does June like?", None),
        ] {
            assert_eq!(find_in_question(&words(text), now).map(|f| f.period.words()), expected.map(str::to_owned), "{text}");
        }
    }
}
