//! Parses values as people write them.

use super::{ContactKind, Decimal, FactValue, MAX_TEXT, SpokenDate, ValueData, ValueDate, ValueType, plain};

/// Signs and words of currencies, with the code of ISO 4217.
const CURRENCIES: &[(&str, &[&str])] = &[
    ("EUR", &["€", "eur", "euro", "euros"]),
    ("USD", &["$", "usd", "us$", "dollar", "dollars", "buck", "bucks"]),
    ("GBP", &["£", "gbp", "pound", "pounds", "quid"]),
    ("JPY", &["¥", "jpy", "yen"]),
    ("INR", &["₹", "inr", "rupee", "rupees"]),
    ("CHF", &["chf", "franc", "francs"]),
    ("CAD", &["cad", "c$"]),
    ("AUD", &["aud", "a$"]),
    ("SEK", &["sek"]),
    ("NOK", &["nok"]),
    ("DKK", &["dkk"]),
    ("PLN", &["pln", "zł", "zloty", "zlotys"]),
];

/// Words that follow a number without being a part of its unit: "82 kg and", "at number 7 in".
const NO_UNITS: &[&str] = &[
    "and", "as", "at", "but", "by", "for", "from", "i", "if", "in", "now", "on", "or", "so", "then", "to", "today", "too", "when", "with",
];

impl FactValue {
    /// Parses a text as the first of these types that it fits. Empty text has no value, and relative dates neither.
    pub fn parse(text: &str, types: &[ValueType]) -> Option<Self> {
        let text = plain(text, MAX_TEXT + 1);
        if text.is_empty() || text.chars().count() > MAX_TEXT {
            return None;
        }
        types.iter().find_map(|t| match t {
            ValueType::Text => Some(Self::of_text(&text)),
            ValueType::Number => Self::parse_number(&text),
            ValueType::Date => Self::parse_date(&text),
            ValueType::Money => Self::parse_money(&text),
            ValueType::Contact => Self::parse_contact(&text),
        })
    }

    /// Parses "7", "1,200", "12.5 kg".
    pub fn parse_number(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-'))).unwrap_or(text.len());
        let number = Decimal::parse_grouped(text.get(..end)?)?;
        let unit = text.get(end..)?.trim().to_lowercase();
        let known = unit.split_whitespace().count() <= 2 && unit.chars().count() <= 20 && !unit.contains(|c: char| c.is_ascii_digit());
        let known = known && !unit.split_whitespace().any(|word| NO_UNITS.contains(&word));
        let unit = (!unit.is_empty()).then(|| singular(&unit));
        known.then(|| Self::new(text, ValueData::Number { number, unit }))
    }

    /// Parses "€1,200", "50k dollars", "1.2 million EUR".
    pub fn parse_money(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let start = lower.find(|c: char| c.is_ascii_digit())?;
        let length = lower.get(start..)?.find(|c: char| !is_number(c)).unwrap_or(lower.len() - start);
        let (before, rest) = (lower.get(..start)?.trim(), lower.get(start + length..)?.trim());
        let amount = Decimal::parse_grouped(lower.get(start..start + length)?)?;
        let scales: [(&str, usize); 6] = [("thousand", 3), ("million", 6), ("k", 3), ("m", 6), ("mio", 6), ("bn", 9)];
        let mut words: Vec<&str> = rest.split_whitespace().collect();
        let scale = words.first().and_then(|w| scales.iter().find(|(s, _)| s == w)).map(|(_, places)| *places);
        if scale.is_some() {
            words.remove(0);
        }
        let currency = match (before, &words[..]) {
            (sign, []) => currency(sign)?,
            ("", [name]) => currency(name)?,
            _ => return None,
        };
        let amount = scale.map_or(Some(amount.clone()), |places| amount.shifted(places))?;
        Some(Self::new(text, ValueData::Money { amount, currency: currency.to_owned() }))
    }

    /// Parses "3 March 2026" and dates in ISO 8601. "3 March" is a yearly day.
    pub fn parse_date(text: &str) -> Option<Self> {
        let date = match SpokenDate::parse(text)? {
            SpokenDate::Known(date) => date,
            SpokenDate::Relative(super::RelativeDate::DayOfYear { month, day }) => ValueDate::yearly(month, day)?,
            SpokenDate::Relative(_) => return None,
        };
        Some(Self::from(date))
    }

    /// Parses an e-mail address, a web address or a phone number.
    pub fn parse_contact(text: &str) -> Option<Self> {
        let text = text.trim_end_matches(['.', ',', ';', '!', '?']);
        let (contact, address) = email(text)
            .map(|a| (ContactKind::Email, a))
            .or_else(|| url(text).map(|a| (ContactKind::Url, a)))
            .or_else(|| phone(text).map(|a| (ContactKind::Phone, a)))?;
        Some(Self::new(text, ValueData::Contact { contact, address: address.into() }))
    }
}

fn currency(word: &str) -> Option<&'static str> {
    CURRENCIES.iter().find(|(_, names)| names.contains(&word)).map(|(code, _)| *code)
}

/// The unit in the singular, in its usual short form.
fn singular(unit: &str) -> String {
    let short = match unit {
        "years old" | "year old" | "yrs" | "yr" => "year",
        "kilos" | "kilo" | "kilograms" | "kilogram" | "kgs" => "kg",
        "grams" | "gram" => "g",
        "metres" | "meters" | "metre" | "meter" => "m",
        "centimetres" | "centimeters" | "centimetre" | "centimeter" => "cm",
        "kilometres" | "kilometers" | "kilometre" | "kilometer" => "km",
        "square metres" | "square meters" | "sqm" | "m2" => "m²",
        "square feet" | "square foot" | "sqft" | "sq ft" => "ft²",
        "feet" => "foot",
        "inches" => "inch",
        "lbs" | "pounds" => "lb",
        "people" => "person",
        unit => match unit.strip_suffix('s') {
            Some(one) if one.len() > 2 && !one.ends_with('s') => one,
            _ => unit,
        },
    };
    short.to_owned()
}

/// The address with its domain in lower case.
fn email(text: &str) -> Option<String> {
    let (local, domain) = text.split_once('@')?;
    let local_fits = !local.is_empty() && local.chars().all(|c| c.is_ascii_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(c));
    let label = |l: &str| !l.is_empty() && l.chars().all(|c| c.is_alphanumeric() || c == '-') && !l.starts_with('-') && !l.ends_with('-');
    let labels: Vec<&str> = domain.split('.').collect();
    let top = labels.last().is_some_and(|l| l.len() >= 2 && l.chars().all(char::is_alphabetic));
    (local_fits && labels.len() >= 2 && top && labels.iter().all(|l| label(l)))
        .then(|| format!("{}@{}", local.to_lowercase(), domain.to_lowercase()))
}

/// The address without scheme, "www." and a slash at its end.
fn url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).or_else(|| text.strip_prefix("www."))?;
    let rest = rest.strip_prefix("www.").unwrap_or(rest).trim_end_matches('/');
    let host = rest.split(['/', '?', '#']).next()?;
    let fits = host.contains('.') && !host.starts_with('.') && !host.contains(char::is_whitespace) && !rest.contains(char::is_whitespace);
    fits.then(|| format!("{}{}", host.to_lowercase(), &rest[host.len()..]))
}

/// The digits of a phone number, with a leading "+".
fn phone(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let shaped = text.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '-' | '(' | ')' | '/' | '.' | '+' | '\u{a0}'));
    let plus = text.starts_with('+');
    let separated = text.chars().any(|c| matches!(c, ' ' | '-' | '/' | '(' | '.'));
    let fits = shaped && text.matches('+').count() == usize::from(plus) && (7..=15).contains(&digits.len());
    // Seven digits alone may be any number.
    let telling = plus || text.starts_with('0') || text.starts_with('(') || (separated && digits.len() >= 7) || digits.len() >= 9;
    // "2026-11-27" is a date.
    (fits && telling && ValueDate::parse(text).is_none()).then(|| if plus { format!("+{digits}") } else { digits })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(text: &str, of: ValueType) -> Option<String> {
        FactValue::parse(text, &[of]).map(|v| v.key())
    }

    #[test]
    fn amounts_of_money_have_a_currency() {
        for (text, expected) in [
            ("€1,200", "money 1200 EUR"),
            ("1200 EUR", "money 1200 EUR"),
            ("$1.5m", "money 1500000 USD"),
            ("50k dollars", "money 50000 USD"),
            ("£20", "money 20 GBP"),
            ("2 million euros", "money 2000000 EUR"),
        ] {
            assert_eq!(key(text, ValueType::Money).as_deref(), Some(expected), "{text}");
        }
        for text in ["1200", "euros", "€", "20 apples", "€20 each week", "1,20 €"] {
            assert_eq!(key(text, ValueType::Money), None, "{text}");
        }
    }

    #[test]
    fn contacts_are_recognised_by_their_form() {
        for (text, expected) in [
            ("ann.lee@example.org.", "contact ann.lee@example.org"),
            ("https://www.Example.org/About/", "contact example.org/About"),
            ("www.example.org", "contact example.org"),
            ("+49 30 1234567", "contact +49301234567"),
            ("(555) 123-4567", "contact 5551234567"),
            ("0171 2345678", "contact 01712345678"),
        ] {
            assert_eq!(key(text, ValueType::Contact).as_deref(), Some(expected), "{text}");
        }
        for text in ["ann@", "@ann", "a@b", "1200", "2026-11-27", "example", "+1", "12345678901234567", "ann lee@example.org"] {
            assert_eq!(key(text, ValueType::Contact), None, "{text}");
        }
    }

    #[test]
    fn numbers_have_units() {
        assert_eq!(key("12.5 kilos", ValueType::Number).as_deref(), Some("number 12.5 kg"));
        assert_eq!(key("7 years old", ValueType::Number).as_deref(), Some("number 7 year"));
        assert_eq!(key("42", ValueType::Number).as_deref(), Some("number 42 "));
        assert_eq!(key("seven", ValueType::Number), None);
        assert_eq!(key("7 of the 12", ValueType::Number), None);
        assert_eq!([key("82 kg and", ValueType::Number), key("7 in", ValueType::Number)], [None, None], "a word of the sentence");
    }

    #[test]
    fn first_fitting_type_is_taken() {
        let types = [ValueType::Money, ValueType::Number, ValueType::Text];
        let of = |text: &str| FactValue::parse(text, &types).unwrap().value_type();
        assert_eq!([of("€5"), of("5"), of("a lot")], [ValueType::Money, ValueType::Number, ValueType::Text]);
        assert_eq!(FactValue::parse(" \n ", &types), None);
        assert_eq!(FactValue::parse("tomorrow", &[ValueType::Date]), None);
    }
}
