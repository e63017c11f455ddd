//! Card numbers, bank accounts and national numbers.

use std::ops::Range;

use super::{
    RuleSource, SensitiveKind, ValueOf,
    words::{CARD_WORDS, CODE_WORDS, FILLERS, RECORD_WORDS, contains},
};

/// Lengths of IBANs in the IBAN registry of ISO 13616, with the countries that use them.
const IBAN_COUNTRIES: &[(usize, &str)] = &[
    (15, "NO"),
    (16, "BE"),
    (18, "DK FI FK FO GL NL SD"),
    (19, "MK SI"),
    (20, "AT BA EE KZ LT LU MN XK"),
    (21, "CH HR LI LV"),
    (22, "BG BH CR DE GB GE IE ME RS VA"),
    (23, "AE GI IL IQ OM SO TL"),
    (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
    (25, "LY PT ST"),
    (26, "IS TR"),
    (27, "BI DJ FR GR IT MC MR SM"),
    (28, "AL AZ BY CY DO GT HN HU LB NI PL SV"),
    (29, "BR EG PS QA UA"),
    (30, "JO KW MU YE"),
    (31, "MT SC"),
    (32, "LC"),
    (33, "RU"),
];

/// Issuers of cards: range of the first four digits, and shortest and longest number.
const ISSUERS: &[(Range<u32>, usize, usize)] = &[
    (2200..2205, 16, 19), // Mir
    (2221..2721, 16, 16), // Mastercard
    (3000..3060, 14, 14), // Diners Club
    (3095..3096, 14, 14),
    (3400..3500, 15, 15), // American Express
    (3528..3590, 16, 19), // JCB
    (3600..3700, 14, 14), // Diners Club
    (3700..3800, 15, 15), // American Express
    (3800..4000, 14, 14), // Diners Club
    (4000..5000, 13, 19), // Visa
    (5018..5019, 13, 19), // Maestro
    (5020..5021, 13, 19),
    (5038..5039, 13, 19),
    (5080..5090, 16, 16), // RuPay
    (5100..5600, 16, 16), // Mastercard
    (5893..5894, 13, 19), // Maestro
    (6000..6100, 16, 16), // Discover, RuPay
    (6200..6300, 16, 19), // UnionPay
    (6304..6305, 13, 19), // Maestro
    (6440..6600, 16, 19), // Discover
    (6759..6760, 13, 19), // Maestro
    (6761..6764, 13, 19),
];

/// How the digits of cards are grouped.
const CARD_GROUPS: &[&[usize]] =
    &[&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 1], &[4, 4, 4, 4, 2], &[4, 4, 4, 4, 3], &[6, 13], &[4, 5, 6], &[4, 4, 4, 3]];

/// Most digits of a card number.
const MAX_CARD_DIGITS: usize = 19;
/// How many bytes before a number are read.
const CONTEXT_BYTES: usize = 48;

pub(super) const RULES: &[RuleSource] = &[
    RuleSource {
        kind: SensitiveKind::CardNumber,
        hint: r"[0-9](?:[^0-9A-Za-z\n]{0,3}[0-9]){12}",
        // A run of digits with single separators or " - " between them. It begins and ends at a digit.
        lead: r"[0-9](?:(?:[ .\-\u{a0}\u{2009}\u{202f}\u{2010}\u{2011}\u{2012}\u{2013}]| [\-\u{2013}] )?[0-9]){12,}",
        value: ValueOf::Each(cards),
    },
    RuleSource {
        kind: SensitiveKind::BankAccount,
        hint: r"(?-u:\b)(?:[A-Za-z]{2}[0-9]{2}|[A-Z]{2} [0-9]{2})",
        lead: r"(?-u:\b)(?:[A-Za-z]{2}|[A-Z]{2} )[0-9]{2}",
        value: ValueOf::One(iban),
    },
    RuleSource {
        kind: SensitiveKind::SecurityNumber,
        hint: r"[0-9]{3}[\-\u{2010}\u{2011}\u{2013}][0-9]{2}[\-\u{2010}\u{2011}\u{2013}][0-9]{4}",
        lead: r"(?-u:\b)[0-9]{3}[\-\u{2010}\u{2011}\u{2013}][0-9]{2}[\-\u{2010}\u{2011}\u{2013}][0-9]{4}(?-u:\b)",
        value: ValueOf::One(strict_social_security),
    },
    RuleSource {
        kind: SensitiveKind::SecurityNumber,
        hint: r"(?i:ssn|itin|social)",
        lead: concat!(
            r"(?i:(?-u:\b)(?:ssn|itin|social(?: security(?: (?:number|no\.?|num|#))?)?)(?: of [a-z' ]{1,30}?)?",
            r"(?:\s{0,2}(?:is|was|[:=#]|'s)){0,2})\s{0,3}(?:[0-9]{3}[ \-][0-9]{2}[ \-][0-9]{4}|[0-9]{9})(?-u:\b)"
        ),
        value: ValueOf::One(social_security),
    },
    RuleSource {
        kind: SensitiveKind::SecurityNumber,
        hint: r"(?i:aadhaa?r|passport|licen[cs]e|tax|national id|social insurance|personnummer|BSN|CPF|SIN|TIN)",
        lead: concat!(
            r"(?-u:\b)(?:(?i:aadhaa?r|passport|driver'?s? licen[cs]e|driving licen[cs]e|tax(?:payer)? id(?:entification)?|national id",
            r"|social insurance|personnummer)|BSN|CPF|SIN|TIN)(?i: (?:number|no\.?|nr\.?|card|#)){0,2}",
            r"(?i:\s{0,2}(?:is|was|[:=#])){0,2}\s{0,3}[A-Z]{0,5}[0-9][A-Z0-9]{0,20}(?:[ ./\-][A-Z]{0,2}[0-9][A-Z0-9]{0,12}){0,5}(?-u:\b)"
        ),
        value: ValueOf::One(national_number),
    },
    RuleSource {
        kind: SensitiveKind::SecurityNumber,
        hint: r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
        lead: r"(?-u:\b)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D](?-u:\b)",
        value: ValueOf::One(national_insurance),
    },
];

/// What the words before a number say about it.
#[derive(PartialEq)]
enum Context {
    Card,
    Code,
    Record,
    Unknown,
}

/// Returns the card numbers in a run of digits.
fn cards(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let groups = groups(text, &run);
    let mut found = Vec::new();
    let mut first = 0;
    while first < groups.len() {
        let last = last_group_of_card(text, &groups, first);
        found.extend(last.map(|last| groups[first].start..groups[last].end));
        first = last.unwrap_or(first) + 1;
    }
    found
}

/// Returns the last group of the longest card number that begins at a group.
fn last_group_of_card(text: &str, groups: &[Range<usize>], first: usize) -> Option<usize> {
    let begins = match first.checked_sub(1) {
        Some(before) => opens(text, &groups[before], &groups[first]),
        // A letter or a sign before the run makes it a part of a name or a calculation.
        None => text[..groups[first].start].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '+' | '.')),
    };
    if !begins {
        return None;
    }
    let mut digits: Vec<u8> = Vec::with_capacity(MAX_CARD_DIGITS);
    let mut found = None;
    for (last, group) in groups.iter().enumerate().skip(first) {
        if digits.len() + group.len() > MAX_CARD_DIGITS {
            break;
        }
        digits.extend(text.as_bytes()[group.clone()].iter().map(|digit| digit - b'0'));
        let ends = || match groups.get(last + 1) {
            // The expiry date can follow a hyphen.
            Some(next) => opens(text, group, next) || last > first && !text[groups[first].start..group.end].contains(['-', '.']),
            None => !text[group.end..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '@')),
        };
        if is_issued(&digits) && passes_luhn(&digits) && ends() && is_plausible(text, &groups[first..=last], &digits) {
            found = Some(last);
        }
    }
    found
}

/// Returns the groups of digits of a run.
fn groups(text: &str, run: &Range<usize>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (n, byte) in text[run.clone()].bytes().enumerate() {
        if !byte.is_ascii_digit() {
            continue;
        }
        let at = run.start + n;
        match groups.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// Whether a number can begin or end between two groups.
fn opens(text: &str, left: &Range<usize>, right: &Range<usize>) -> bool {
    text[left.end..right.start].contains([' ', '\u{a0}'])
}

/// Whether groups of digits are written like a card, or the words before them say so.
fn is_plausible(text: &str, groups: &[Range<usize>], digits: &[u8]) -> bool {
    let Some(first) = groups.first() else { return false };
    let context = context(text, first.start);
    if context == Context::Card {
        return true;
    }
    if context == Context::Code {
        return false;
    }
    if groups.len() > 1 {
        return CARD_GROUPS.iter().any(|known| known.iter().eq(groups.iter().map(|group| group.len()).collect::<Vec<_>>().iter()));
    }
    // "RMA-4…", "#4…" and "/4…" are names of records and parts of URLs.
    let is_name = text[..first.start].ends_with(['#', '/', '-', '–']);
    // Numbers of these lengths are more often barcodes and identifiers.
    let is_rare = matches!(digits.len(), 13 | 17 | 18) || digits.len() == 19 && !digits.starts_with(&[6, 2]);
    context == Context::Unknown && !is_name && !is_rare
}

/// Reads what the words before a number say about it.
fn context(text: &str, at: usize) -> Context {
    let from = text.floor_char_boundary(at.saturating_sub(CONTEXT_BYTES));
    let before = &text[from..at];
    let before = before.rsplit('\n').next().unwrap_or_default().to_lowercase();
    let mut words = before.rsplit(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    match words.clone().find(|word| !contains(FILLERS, word)) {
        Some(word) if contains(CODE_WORDS, word) => Context::Code,
        Some(word) if contains(RECORD_WORDS, word) => Context::Record,
        _ if words.any(|word| contains(CARD_WORDS, word)) => Context::Card,
        _ => Context::Unknown,
    }
}

/// Whether an issuer uses numbers with these first digits and this length.
fn is_issued(digits: &[u8]) -> bool {
    let prefix = digits.iter().take(4).fold(0, |prefix, digit| prefix * 10 + u32::from(*digit));
    let issued =
        ISSUERS.iter().any(|(prefixes, shortest, longest)| prefixes.contains(&prefix) && (*shortest..=*longest).contains(&digits.len()));
    // Visa has no other lengths in its range.
    issued && (digits.first() != Some(&4) || matches!(digits.len(), 13 | 16 | 19))
}

/// Checks the last digit with the algorithm of Luhn.
fn passes_luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(n, digit)| match (n % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Returns the IBAN that begins with a country and two check digits.
fn iban(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let country = text[lead.start..lead.start + 2].to_ascii_uppercase();
    let (length, _) = IBAN_COUNTRIES.iter().find(|(_, countries)| contains(countries, &country))?;
    let mut chars = Vec::with_capacity(*length);
    let (mut end, mut separators, mut in_groups_of_four) = (lead.start, 0, true);
    for (n, c) in text[lead.start..].char_indices() {
        let is_complete = chars.len() == *length;
        if c.is_ascii_alphanumeric() && !is_complete {
            chars.push(c.to_ascii_uppercase());
            end = lead.start + n + 1;
        } else if matches!(c, ' ' | '-' | '\u{a0}' | '\u{202f}') && !is_complete && separators < *length {
            in_groups_of_four &= chars.len() % 4 == 0;
            separators += 1;
        } else if c.is_alphanumeric() {
            return None;
        } else {
            break;
        }
    }
    // Words of a sentence have the right checksum once in a hundred times, but few digits.
    let digits = chars.iter().skip(4).filter(|c| c.is_ascii_digit()).count();
    let is_written = separators == 0 || in_groups_of_four || digits * 2 >= length - 4;
    (chars.len() == *length && is_written && passes_mod_97(&chars)).then_some(lead.start..end)
}

/// Checks an IBAN as ISO 7064 (MOD 97-10) describes.
fn passes_mod_97(chars: &[char]) -> bool {
    let (head, tail) = chars.split_at(chars.len().min(4));
    let rest = tail.iter().chain(head).filter_map(|c| c.to_digit(36)).fold(0, |rest, value| {
        let shift = if value > 9 { 100 } else { 10 };
        (rest * shift + value) % 97
    });
    rest == 1
}

/// Accepts a social security number that is written with hyphens.
fn strict_social_security(text: &str, number: Range<usize>) -> Option<Range<usize>> {
    let joins = |c: char| matches!(c, '-' | '.' | '/' | '_' | '+' | '#');
    let is_part = text[..number.start].ends_with(joins) || text[number.end..].starts_with(['-', '_', '/']);
    let is_record = matches!(context(text, number.start), Context::Code | Context::Record);
    (!is_part && !is_record && is_social_security(&text[number.clone()])).then_some(number)
}

/// Returns the number at the end of a phrase such as "my SSN is …".
fn social_security(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let phrase = &text[lead.clone()];
    let first = phrase.find(|c: char| c.is_ascii_digit())?;
    let number = lead.start + first..lead.end;
    let is_part = text[number.end..].starts_with(['-', '_', '/']);
    (!is_part && is_social_security(&text[number.clone()])).then_some(number)
}

/// Whether digits are a social security number or an individual taxpayer number of the United States.
fn is_social_security(number: &str) -> bool {
    let digits = number.chars().filter_map(|c| c.to_digit(10));
    let number = digits.fold(0, |number, digit| number * 10 + digit);
    let (area, group, serial) = (number / 1_000_000, number / 10_000 % 100, number % 10_000);
    let is_taxpayer = area >= 900 && (50..=99).contains(&group) && !matches!(group, 66..=69 | 89 | 93) && group != 65;
    group > 0 && serial > 0 && area > 0 && area != 666 && (area < 900 || is_taxpayer)
}

/// Returns the number at the end of a phrase such as "my passport number is …".
fn national_number(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let phrase = &text[lead.clone()];
    // The number is what follows the last small letter or sign.
    let first = phrase.rfind(|c: char| c.is_ascii_lowercase() || matches!(c, ':' | '=' | '#')).map_or(0, |at| at + 1);
    let number = phrase[first..].trim_start_matches(|c: char| c.is_whitespace() || c == '.');
    // Names in capitals, such as "BSN", end at the first space.
    let number = if first == 0 { number.split_once(' ').map_or("", |(_, number)| number) } else { number };
    let start = lead.end - number.len();
    let digits = number.chars().filter(char::is_ascii_digit).count();
    let is_date = number.len() == 10 && number.starts_with("20") && number.matches(['-', '.', '/']).count() == 2;
    (digits >= 6 && !is_date).then_some(start..lead.end)
}

/// Accepts a national insurance number of the United Kingdom that is named or written in groups.
fn national_insurance(text: &str, number: Range<usize>) -> Option<Range<usize>> {
    let written = &text[number.clone()];
    let from = text.floor_char_boundary(number.start.saturating_sub(CONTEXT_BYTES));
    let before = text[from..number.start].to_lowercase();
    let is_named = before.contains("national insurance") || before.split(|c: char| !c.is_alphanumeric()).any(|w| w == "ni" || w == "nino");
    let is_grouped = written.matches(' ').count() == 4;
    let is_unused = matches!(&written[..2], "BG" | "GB" | "KN" | "NK" | "NT" | "TN" | "ZZ");
    ((is_named || is_grouped) && !is_unused).then_some(number)
}
