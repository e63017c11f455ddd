//! Reads numbers in digits and words, and amounts of money.

use recall_domain::number_word;

/// Symbols, codes and words of currencies.
const CURRENCIES: &[(&str, &str)] = &[
    ("€", "eur"),
    ("eur", "eur"),
    ("euro", "eur"),
    ("euros", "eur"),
    ("$", "usd"),
    ("usd", "usd"),
    ("dollar", "usd"),
    ("dollars", "usd"),
    ("£", "gbp"),
    ("gbp", "gbp"),
    ("pound", "gbp"),
    ("pounds", "gbp"),
    ("chf", "chf"),
    ("francs", "chf"),
    ("jpy", "jpy"),
    ("yen", "jpy"),
    ("cad", "cad"),
    ("aud", "aud"),
    ("sek", "sek"),
    ("nok", "nok"),
    ("dkk", "dkk"),
    ("pln", "pln"),
];
/// Hundredths of a currency. "Cents" does not name it.
const HUNDREDTHS: &[(&str, &str)] = &[("pence", "gbp"), ("penny", "gbp"), ("cent", CENTS), ("cents", CENTS)];
const CENTS: &str = "cents";
/// Currencies whose hundredths are cents.
const WITH_CENTS: &[&str] = &["eur", "usd", "cad", "aud"];
/// The kind of an amount of money, and the amount of what costs nothing.
pub(super) const MONEY: &str = "money";
pub(super) const FREE: &str = "0 any";
/// Phrases for no price.
const FREE_PHRASES: &[&[&str]] = &[
    &["free", "of", "charge"],
    &["free", "of", "cost"],
    &["for", "free"],
    &["at", "no", "cost"],
    &["at", "no", "charge"],
    &["at", "no", "extra", "cost"],
    &["at", "no", "extra", "charge"],
    &["at", "no", "additional", "cost"],
    &["at", "no", "additional", "charge"],
    &["without", "charge"],
    &["no", "charge"],
    &["gratis"],
    &["kostenlos"],
];
/// Words behind "is free" if it speaks of a price; "free to" and "free from" do not.
const BEHIND_FREE: &[&str] = &["for", "on", "during", "until", "in", "at", "and", "but"];
const SCALES: &[(&str, f64)] = &[("dozen", 12.0), ("hundred", 1e2), ("thousand", 1e3), ("million", 1e6), ("billion", 1e9)];

/// Returns the number of a word below one hundred.
fn small(word: &str) -> Option<f64> {
    number_word(word).map(f64::from)
}

/// Whether two words joined by a hyphen are one number: "twenty-five".
pub(super) fn is_compound(first: &str, second: &str) -> bool {
    small(&format!("{first}-{second}")).is_some()
}

fn scale(word: &str) -> Option<f64> {
    SCALES.iter().find(|(name, _)| *name == word).map(|(_, n)| *n)
}

/// Whether a word is a number.
pub(super) fn is_number(word: &str) -> bool {
    small(word).is_some() || (!word.is_empty() && word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b',')))
}

/// Whether words begin with a digit.
pub(super) fn starts_with_digit(words: &[String]) -> bool {
    words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Reads "1,500", "1.500,00" or "2.5".
pub(super) fn digits(text: &str) -> Option<f64> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',')) {
        return None;
    }
    let after = |mark: char| text.rsplit_once(mark).map_or(0, |(_, rest)| rest.len());
    // A comma before other than three digits, or behind a point, begins the fraction.
    let is_decimal_comma = match (text.matches(',').count(), text.contains('.')) {
        (1, true) => text.rfind(',') > text.rfind('.'),
        (1, false) => after(',') != 3,
        _ => false,
    };
    let plain = match is_decimal_comma {
        true => text.replace('.', "").replace(',', "."),
        false if text.matches('.').count() > 1 => text.replace(['.', ','], ""),
        false => text.replace(',', ""),
    };
    plain.parse().ok().filter(|n: &f64| n.is_finite())
}

/// Reads the number at the beginning of words. Returns it and how many words it took.
///
/// A number in digits may have a unit attached ("16GB"); then it takes no whole word, and the unit is read from the same word.
pub(super) fn read(words: &[String]) -> Option<(f64, usize)> {
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    if word(0) == "half" && matches!(word(1), "a" | "an") {
        return Some((0.5, 2));
    }
    if let Some(n) = digits(word(0)) {
        return Some(match scale(word(1)) {
            Some(scale) => (n * scale, 2),
            None => (n, 1),
        });
    }
    if starts_with_digit(words) {
        return digits(leading(word(0))).map(|n| (n, 0));
    }
    let (n, length) = in_words(words)?;
    // Contracts say "thirty (30) days".
    let repeated = usize::from(digits(word(length)) == Some(n));
    Some((n, length + repeated))
}

/// Returns the digits at the beginning of a word.
pub(super) fn leading(word: &str) -> &str {
    let end = word.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(word.len());
    word.get(..end).unwrap_or_default()
}

fn in_words(words: &[String]) -> Option<(f64, usize)> {
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    let (mut total, mut current, mut length) = (0.0, small(word(0))?, 1);
    loop {
        let next = word(length);
        if let Some(by) = scale(next) {
            if by < 1e3 {
                current *= by;
            } else {
                total += current * by;
                current = 0.0;
            }
            length += 1;
            continue;
        }
        let skipped = usize::from(next == "and" && total + current >= 100.0);
        match small(word(length + skipped)) {
            // "Twenty five", "one hundred and fifty", but not "two three".
            Some(n)
                if current % 100.0 == 0.0 && total + current > 0.0 || (n < 10.0 && current % 100.0 >= 20.0 && current % 10.0 == 0.0) =>
            {
                current += n;
                length += skipped + 1;
            }
            _ => break,
        }
    }
    if word(length) == "and" && word(length + 1) == "a" && word(length + 2) == "half" {
        return Some((total + current + 0.5, length + 3));
    }
    Some((total + current, length))
}

/// Reads an amount of money: "€20", "20 €", "EUR 20", "20 euros", "$2.5 million". Returns amount and currency, and how many words it took.
pub(super) fn money(words: &[String]) -> Option<(String, usize)> {
    let code = |text: &str| CURRENCIES.iter().find(|(word, _)| *word == text).map(|(_, code)| *code);
    let symbol = |text: &str| text.chars().next().filter(|c| !c.is_alphanumeric()).and_then(|c| code(c.encode_utf8(&mut [0; 4])));
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    let found = |n: f64, code: &str, length: usize| Some((format!("{} {code}", amount(n)), length));
    // The currency before the amount, in the same word or in its own.
    let (before, skipped) = match symbol(word(0)) {
        Some(code) if word(0).chars().count() > 1 => (Some(code), 0),
        _ => (code(word(0)), 1),
    };
    if let Some(code) = before {
        let text = word(skipped).trim_start_matches(|c: char| !c.is_ascii_digit());
        let (n, times) = scaled(text)?;
        return match scale(word(skipped + 1)) {
            Some(scale) => found(n * times * scale, code, skipped + 2),
            None => found(n * times, code, skipped + 1),
        };
    }
    let first = word(0);
    let last = first.chars().last().filter(|_| starts_with_digit(words)).and_then(|c| code(c.encode_utf8(&mut [0; 4])));
    if let Some(code) = last {
        let n = digits(first.trim_end_matches(|c: char| !c.is_ascii_digit()))?;
        return found(n, code, 1);
    }
    let (n, length) = read(words).filter(|(_, length)| *length > 0)?;
    let hundredth = HUNDREDTHS.iter().find(|(word_of, _)| *word_of == word(length));
    match hundredth {
        Some((_, code)) => found(n / 100.0, code, length + 1),
        None => code(word(length)).and_then(|code| found(n, code, length + 1)),
    }
}

/// Returns the number of words at the beginning that say that something costs nothing.
pub(super) fn free(words: &[String], before: &str) -> Option<usize> {
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    let is_phrase = |phrase: &&&[&str]| phrase.iter().enumerate().all(|(n, expected)| word(n) == *expected);
    let is_said = word(0) == "free" && matches!(before, "is" | "are") && (words.len() == 1 || BEHIND_FREE.contains(&word(1)));
    FREE_PHRASES.iter().find(is_phrase).map(|phrase| phrase.len()).or(is_said.then_some(1))
}

/// Whether two amounts of money can be one: nothing in any currency, or cents of a currency that has them.
pub(super) fn is_one_amount(a: &str, b: &str) -> bool {
    let (Some((n, code)), Some((m, other))) = (a.split_once(' '), b.split_once(' ')) else { return a == b };
    let may_be_cents = |one: &str, two: &str| one == CENTS && WITH_CENTS.contains(&two);
    n == m && (code == other || n == "0" || may_be_cents(code, other) || may_be_cents(other, code))
}

/// Reads "20", "20k" or "2m" behind a currency.
fn scaled(text: &str) -> Option<(f64, f64)> {
    let times = match text.get(leading(text).len()..)? {
        "" => 1.0,
        "k" => 1e3,
        "m" | "mn" => 1e6,
        "bn" => 1e9,
        _ => return None,
    };
    Some((digits(leading(text))?, times))
}

/// Writes a number so that equal numbers are equal texts.
pub(super) fn amount(n: f64) -> String {
    let text = format!("{n:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
