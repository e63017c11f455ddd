//! Reads the unit behind a number, and converts amounts of one kind to one unit.

use super::numbers::{amount, leading};
use recall_text::{is_stop_word, terms};

/// Units of time in hours. A month has 730 hours and a year 8,760.
const TIMES: &[(&str, &[&str], f64)] = &[
    ("second", &["sec", "s"], 1.0 / 3_600.0),
    ("minute", &["min", "mins"], 1.0 / 60.0),
    ("hour", &["h", "hr", "hrs"], 1.0),
    ("day", &[], 24.0),
    ("week", &[], 168.0),
    ("fortnight", &[], 336.0),
    ("month", &[], 730.0),
    ("quarter", &[], 2_190.0),
    ("year", &["yr", "yrs"], 8_760.0),
];
/// Other units, by kind, with their size.
const MEASURES: &[(&str, &[&str], f64)] = &[
    ("length", &["mm", "millimetre", "millimeter"], 0.001),
    ("length", &["cm", "centimetre", "centimeter"], 0.01),
    ("length", &["m", "metre", "meter"], 1.0),
    ("length", &["km", "kilometre", "kilometer"], 1_000.0),
    ("length", &["mile", "mi"], 1_609.344),
    ("length", &["foot", "feet", "ft"], 0.3048),
    ("length", &["inch", "inches", "″"], 0.0254),
    ("area", &["m²", "m2", "sqm"], 1.0),
    ("mass", &["mg", "milligram"], 0.001),
    ("mass", &["g", "gram"], 1.0),
    ("mass", &["kg", "kilo", "kilogram"], 1_000.0),
    ("mass", &["t", "tonne", "ton"], 1e6),
    ("mass", &["lb", "lbs"], 453.592),
    ("mass", &["oz", "ounce"], 28.3495),
    ("volume", &["ml", "millilitre", "milliliter"], 0.001),
    ("volume", &["l", "litre", "liter"], 1.0),
    ("volume", &["m³", "m3"], 1_000.0),
    ("data", &["kb", "kilobyte"], 0.001),
    ("data", &["mb", "megabyte"], 1.0),
    ("data", &["gb", "gigabyte"], 1e3),
    ("data", &["tb", "terabyte"], 1e6),
    ("data", &["mib"], 1.048_576),
    ("data", &["gib"], 1_073.741_824),
    ("rate", &["kbit", "kbps"], 0.001),
    ("rate", &["mbit", "mbps"], 1.0),
    ("rate", &["gbit", "gbps"], 1e3),
    ("power", &["w", "watt"], 1.0),
    ("power", &["kw", "kilowatt"], 1_000.0),
    ("energy", &["wh"], 1.0),
    ("energy", &["kwh"], 1_000.0),
    ("charge", &["mah"], 1.0),
    ("voltage", &["v", "volt"], 1.0),
    ("frequency", &["hz", "hertz"], 1.0),
    ("frequency", &["mhz"], 1e6),
    ("frequency", &["ghz"], 1e9),
];
/// Words before a unit of time that count other days.
const WORKING: &[&str] = &["working", "business", "bank"];
/// Most words between a number and its unit.
const BETWEEN: usize = 2;

/// A unit: what it measures and its size.
enum Unit {
    Time(f64),
    Measure(&'static str, f64),
    Percent,
    Celsius,
    Fahrenheit,
}

fn unit(word: &str) -> Option<Unit> {
    let singular = word.strip_suffix('s').filter(|rest| rest.chars().count() > 1).unwrap_or(word);
    let is_one = |name: &str| name == word || name == singular;
    if let Some((.., hours)) = TIMES.iter().find(|(name, short, _)| is_one(name) || short.contains(&word)) {
        return Some(Unit::Time(*hours));
    }
    match word {
        "%" | "percent" => return Some(Unit::Percent),
        "°c" | "celsius" => return Some(Unit::Celsius),
        "°f" | "fahrenheit" => return Some(Unit::Fahrenheit),
        _ => {}
    }
    MEASURES.iter().find(|(_, names, _)| names.iter().any(|name| is_one(name))).map(|(kind, _, size)| Unit::Measure(kind, *size))
}

/// Whether a word is a unit of time or of a measure.
pub(super) fn is_known(word: &str) -> bool {
    unit(&word.to_lowercase()).is_some()
}

/// Returns the name of a unit of time that can say how often: "month".
pub(super) fn period(word: &str) -> Option<&'static str> {
    // "A second" is mostly another one.
    TIMES.iter().map(|(name, ..)| *name).find(|name| *name == word && *name != "second")
}

/// Reads the unit of a number: the words behind it, or the end of `attached`, the word that has the number ("16GB"). Returns the kind, the
/// amount in the unit of this kind, and how many of the words belong to it.
pub(super) fn read(n: f64, rest: &[String], attached: &str) -> Option<(String, String, usize)> {
    if attached.starts_with(|c: char| c.is_ascii_digit())
        && let Some(end) = attached.get(leading(attached).len()..).filter(|end| !end.is_empty())
    {
        let (kind, amount) = convert(n, &unit(end)?, "");
        return Some((kind, amount, 1));
    }
    if rest.first().is_some_and(|word| word == "per") && rest.get(1).is_some_and(|word| word == "cent") {
        return Some(("percent".to_owned(), amount(n), 2));
    }
    for (place, word) in rest.iter().take(BETWEEN + 1).enumerate() {
        let adjective = place.checked_sub(1).and_then(|before| rest.get(before)).map_or("", String::as_str);
        if let Some(found) = unit(word) {
            let (kind, amount) = convert(n, &found, adjective);
            return Some((kind, amount, place + 1));
        }
        // "30 consecutive days", but not "20 employees a day" or "3 guests each week".
        let may_be_between = word.chars().all(char::is_alphabetic) && !word.ends_with('s') && !is_stop_word(word) && word != "per";
        if !may_be_between || matches!(word.as_str(), "each" | "every" | "within") {
            break;
        }
    }
    None
}

fn convert(n: f64, unit: &Unit, adjective: &str) -> (String, String) {
    let (kind, amount) = match unit {
        Unit::Percent => ("percent", amount(n)),
        Unit::Celsius => ("temperature", amount(n)),
        Unit::Fahrenheit => ("temperature", amount((n - 32.0) / 1.8)),
        Unit::Time(hours) if WORKING.contains(&adjective) => ("duration", format!("{} working", amount(n * hours))),
        Unit::Time(hours) => ("duration", amount(n * hours)),
        Unit::Measure("length", size) if adjective == "square" => ("area", amount(n * size * size)),
        Unit::Measure("length", size) if adjective == "cubic" => ("volume", amount(n * size * size * size * 1_000.0)),
        Unit::Measure(kind, size) => (*kind, amount(n * size)),
    };
    (kind.to_owned(), amount)
}

/// Returns the stem of any other unit, so that "1 box" and "2 boxes" have one.
pub(super) fn stem(word: &str) -> String {
    match word {
        "people" | "persons" => "person".to_owned(),
        "children" => "child".to_owned(),
        _ => terms(word).into_iter().next().map_or_else(|| word.to_owned(), |(term, _)| term),
    }
}
