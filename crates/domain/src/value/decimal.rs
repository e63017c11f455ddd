//! Decimal numbers, kept as digits so that no amount is rounded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Most digits before and after the point.
const MAX_WHOLE: usize = 15;
const MAX_FRACTION: usize = 6;

/// A decimal number in its shortest form: "7", "-2.5".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Decimal(String);

impl Decimal {
    /// Parses digits with an optional sign and point: "1200", "-2.50".
    pub fn parse(text: &str) -> Option<Self> {
        let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || (digits.ends_with('.')) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        if whole.len() > MAX_WHOLE || fraction.len() > MAX_FRACTION {
            return None;
        }
        let whole = if whole.is_empty() { "0" } else { whole };
        let sign = if whole == "0" && fraction.is_empty() { "" } else { sign };
        Some(Self(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }))
    }

    /// Parses a number as people write it: "1,200", "1 200.50".
    pub fn parse_grouped(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
        let mut groups = whole.split([',', '\u{a0}', '\u{202f}', ' ', '\'']);
        let first = groups.next()?;
        let rest: Vec<&str> = groups.collect();
        let grouped = rest.is_empty() || (first.trim_start_matches('-').len() <= 3 && rest.iter().all(|g| g.len() == 3));
        let digits = format!("{first}{}", rest.concat());
        grouped.then(|| Self::parse(&fraction.map_or(digits.clone(), |f| format!("{digits}.{f}"))))?
    }

    /// Returns the number a thousand or a million times as large: "1.2" and 6 give "1200000".
    pub fn shifted(&self, places: usize) -> Option<Self> {
        let (whole, fraction) = self.0.split_once('.').unwrap_or((&self.0, ""));
        let mut digits = format!("{fraction:0<places$}");
        let rest = digits.split_off(places.min(digits.len()));
        Self::parse(&format!("{whole}{digits}{}{rest}", if rest.is_empty() { "" } else { "." }))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the nearest floating-point number.
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or_default()
    }
}

impl From<Decimal> for String {
    fn from(d: Decimal) -> Self {
        d.0
    }
}

impl TryFrom<String> for Decimal {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a decimal number")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_their_shortest_form() {
        for (text, shortest) in [("007", "7"), ("2.50", "2.5"), ("-0.0", "0"), ("0.5", "0.5"), ("-12", "-12")] {
            assert_eq!(Decimal::parse(text).unwrap().as_str(), shortest);
        }
        for text in ["", ".", "-", "1.", ".5", "1e3", "1,2", "9999999999999999", "0.1234567"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn groups_of_three_digits_are_joined() {
        assert_eq!(Decimal::parse_grouped("1,234,567.5").unwrap().as_str(), "1234567.5");
        assert_eq!(Decimal::parse_grouped("1 200").unwrap().as_str(), "1200");
        assert_eq!(Decimal::parse_grouped("1,20"), None);
        assert_eq!(Decimal::parse_grouped("1200,300"), None);
    }

    #[test]
    fn shifting_multiplies_by_powers_of_ten() {
        assert_eq!(Decimal::parse("1.25").unwrap().shifted(6).unwrap().as_str(), "1250000");
        assert_eq!(Decimal::parse("1.2345").unwrap().shifted(3).unwrap().as_str(), "1234.5");
        assert_eq!(Decimal::parse("50").unwrap().shifted(3).unwrap().as_str(), "50000");
    }
}
