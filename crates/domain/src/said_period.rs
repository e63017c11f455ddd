//! When a fact began and ended, as far as messages tell it.

use chrono::{DateTime, NaiveDate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};
use utoipa::ToSchema;

use super::{Timestamp, value::ValueDate};

/// The dates at which a fact began and ended. A date that no message tells is absent.
///
/// Its text is an interval of the Extended Date/Time Format (ISO 8601-2) whose unknown dates are left out: `2024-03/`, `/2019`, `2015/2019-06-30`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SaidPeriod {
    /// When it began.
    pub from: Option<ValueDate>,
    /// When it ended.
    pub to: Option<ValueDate>,
}

impl SaidPeriod {
    /// Parses an interval; the dates are days, months or years.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('/')?;
        let date = |text: &str| match text {
            "" => Some(None),
            text => ValueDate::parse(text).filter(|date| date.precision() != DatePrecision::Unknown).map(Some),
        };
        Some(Self { from: date(from)?, to: date(to)? })
    }

    /// Whether no message tells a date.
    pub fn is_empty(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Returns the interval as text; nothing if no date is known.
    pub fn text(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.clone().into())
    }
}

impl From<SaidPeriod> for String {
    fn from(period: SaidPeriod) -> Self {
        let text = |date: &Option<ValueDate>| date.as_ref().map_or_else(Self::new, |d| d.as_str().to_owned());
        format!("{}/{}", text(&period.from), text(&period.to))
    }
}

impl TryFrom<String> for SaidPeriod {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("no interval of dates")
    }
}

/// How exactly a date is known.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DatePrecision {
    /// No message tells it. The moment is that of a message, and only a bound.
    Unknown,
    /// The year; the moment is its beginning, in UTC.
    Year,
    /// The month; the moment is its beginning, in UTC.
    Month,
    /// The day; the moment is its beginning, in UTC.
    Day,
}

/// A moment with the precision in which it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatedMoment {
    /// The moment.
    pub at: Timestamp,
    /// How exactly it is known.
    pub precision: DatePrecision,
}

impl DatedMoment {
    /// Returns the beginning of a date that was said, or else the time of the message, which is a bound.
    pub(crate) fn of(said: Option<&ValueDate>, bound: Option<Timestamp>) -> Option<Self> {
        let told = said.and_then(|date| Some(Self { at: midnight(date.first_day()?)?, precision: date.precision() }));
        told.or_else(|| bound.map(|at| Self { at, precision: DatePrecision::Unknown }))
    }

    /// Returns the date in words: "1 March 2026", "March 2026", "2026". Nothing if it is only a bound.
    pub fn words(&self) -> Option<String> {
        let format = match self.precision {
            DatePrecision::Unknown => return None,
            DatePrecision::Year => "%Y",
            DatePrecision::Month => "%B %Y",
            DatePrecision::Day => "%-d %B %Y",
        };
        Some(self.at.format(format).to_string())
    }
}

fn midnight(day: NaiveDate) -> Option<Timestamp> {
    Some(DateTime::from_naive_utc_and_offset(day.and_hms_opt(0, 0, 0)?, chrono::Utc))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_at_most_two_plain_dates() {
        for text in ["2024-03/", "/2019", "2015/2019-06-30", "/"] {
            assert_eq!(String::from(SaidPeriod::parse(text).unwrap()), text);
        }
        for wrong in ["", "2024", "--03-01/", "2024-13/", "2024/2025/2026", "soon/"] {
            assert_eq!(SaidPeriod::parse(wrong), None, "{wrong}");
        }
        assert_eq!(SaidPeriod::default().text(), None);
    }

    #[test]
    fn moment_is_the_beginning_of_what_was_said_or_a_bound() {
        let bound: Timestamp = "2026-05-08T12:00:00Z".parse().unwrap();
        for (said, at, words) in [
            (Some("2024-03"), "2024-03-01T00:00:00Z", Some("March 2024")),
            (Some("2019"), "2019-01-01T00:00:00Z", Some("2019")),
            (Some("2026-03-09"), "2026-03-09T00:00:00Z", Some("9 March 2026")),
            (None, "2026-05-08T12:00:00Z", None),
        ] {
            let moment = DatedMoment::of(said.and_then(ValueDate::parse).as_ref(), Some(bound)).unwrap();
            assert_eq!((moment.at, moment.words().as_deref()), (at.parse().unwrap(), words), "{said:?}");
        }
    }
}
