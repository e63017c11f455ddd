//! Passwords, PINs and one-time codes that the text names as such.
//!
//! A sentence such as "my password is …" continues with a password or with a word about it, such as "too long". A value with digits or
//! signs is a password. A plain word is one only at the end of its clause, and if it is not a common word about passwords.

use std::ops::Range;

use super::{
    RuleSource, SensitiveKind, ValueOf,
    secrets::is_placeholder,
    words::{CODE_ROOTS, COMMON_WORDS, CONNECTIVES, PUBLIC_CODES, TECHNICAL_NAMES, UNITS, contains},
};

/// Longest text in quotes that is a password.
const MAX_QUOTED_BYTES: usize = 80;
/// How many bytes before a password can say that a person is meant, as in "who knows the password is Anna".
const MAX_CLAUSE_BYTES: usize = 48;
/// Shortest password without quotes.
const MIN_WORD_BYTES: usize = 3;
/// Longest password without quotes.
const MAX_WORD_BYTES: usize = 256;
/// Most words of a passphrase.
const MAX_PHRASE_WORDS: usize = 24;

/// The words that name a password.
macro_rules! password_words {
    () => {
        r"(?i:pass ?wor[dt]s?|passwd|pass ?phrase|pass ?code|pwd|(?:seed|recovery|mnemonic) phrase|(?-u:\b)pw)"
    };
}
/// The kinds of codes that are secret.
macro_rules! secret_codes {
    () => {
        concat!(
            r"(?:verification|confirmation|security|log-?in|sign-?in|auth(?:entication|enticator|orization)?|access|one[ \-]time",
            r"|single[ \-]use|2fa|two[ \-]factor|mfa|otp|sms|unlock|pin)"
        )
    };
}

pub(super) const RULES: &[RuleSource] = &[
    RuleSource {
        kind: SensitiveKind::Password,
        hint: password_words!(),
        lead: concat!(password_words!(), r#"["'`*_]{0,3}(?:: &?[A-Za-z]{1,20} =|\s{0,2}(?::=|=>|->|→|=|:))[ \t*_]{0,4}(?:\n[ \t]{0,4})?"#),
        value: ValueOf::One(assigned_password),
    },
    RuleSource {
        kind: SensitiveKind::Password,
        hint: password_words!(),
        lead: concat!(
            password_words!(),
            r#"(?i:(?: (?:for|of|to|on|in|at) [^\n.,:;=?!"]{1,40}?)?(?: is| was|['’]s)(?: still| now| just| actually)?:?) {1,3}"#
        ),
        value: ValueOf::One(stated_password),
    },
    RuleSource {
        kind: SensitiveKind::Password,
        hint: password_words!(),
        lead: concat!(password_words!(), r"(?i:(?: [a-z]{1,12}){0,2} to| to)? {1,2}"),
        value: ValueOf::One(plain_password),
    },
    RuleSource {
        kind: SensitiveKind::Password,
        hint: concat!(r"(?i:(?-u:\b)is ).*", password_words!()),
        lead: concat!(r"(?i: is (?:my|the|our|your|his|her)(?: [a-z0-9\-]{1,20}){0,2} )", password_words!(), r"(?-u:\b)"),
        value: ValueOf::One(password_before),
    },
    RuleSource {
        kind: SensitiveKind::Password,
        hint: r"(?i:(?-u:\b)(?:pin|puk|otp|cv[vc])|code)",
        lead: concat!(
            r#"(?i:(?-u:\b)(?:pin|puk|otp|cvv2?|cvc2?|pass ?code|"#,
            secret_codes!(),
            r#"[ \-]code)(?: code| number)?["'`*]{0,3}(?:(?: (?:for|of|to|on|in|at) [^\n.,:;=?!"]{1,40}?)?(?: is| was|['’]s|\s{0,2}[:=]){1,2})?[\s"'`*]{1,3}|"#,
            r#"(?-u:\b)(?:pin|puk|otp|cvv2?|cvc2?)[:=])"#
        ),
        value: ValueOf::One(code),
    },
    RuleSource {
        kind: SensitiveKind::Password,
        hint: r"(?i:(?-u:\b)your .*code)",
        lead: r"(?i:(?-u:\b)your(?: [a-z0-9\-]{1,20})? code(?: is|:| is:) )",
        value: ValueOf::One(your_code),
    },
    RuleSource {
        kind: SensitiveKind::Password,
        hint: r"(?i:[0-9] (?:is|as) your )",
        lead: r"(?i:[0-9] (?:is|as) your (?:[a-z0-9\-]{1,20} ){0,3}(?:code|otp|pin|passcode|password)(?-u:\b))",
        value: ValueOf::One(code_before),
    },
];

/// Returns the password after a sign such as a colon.
fn assigned_password(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let sign = &text[lead.clone()];
    let is_next_line = sign.contains('\n');
    if is_next_line && sign.contains('=') || text[lead.end..].starts_with(['=', ':']) {
        return None;
    }
    if let Some(quoted) = quoted(text, lead.end) {
        return quoted.filter(|value| !is_placeholder(&text[value.clone()]));
    }
    let value = unquoted(text, lead.end)?;
    let word = &text[value.clone()];
    let rest_of_line = text[value.end..].trim_start_matches([' ', '\t', '\r']);
    if is_next_line && !rest_of_line.is_empty() && !rest_of_line.starts_with('\n') {
        return None;
    }
    // "${PASSWORD:?set a password}" is a message of a shell.
    if word.starts_with('?') && sign.ends_with(':') {
        return None;
    }
    if sign.to_ascii_lowercase().contains("phrase") {
        let phrase = phrase(text, value.clone());
        let mut words = text[phrase.clone()].split(' ').skip(1);
        let is_phrase = words.clone().count() > 2 && !words.any(is_common);
        return (is_phrase || !is_common(word)).then_some(phrase);
    }
    (word.len() >= MIN_WORD_BYTES && !is_common(word) && !is_code(text, &value) && !counts(text, &value)).then_some(value)
}

/// Returns the password after a verb.
fn stated_password(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    if let Some(quoted) = quoted(text, lead.end) {
        return quoted.filter(|value| {
            let value = &text[value.clone()];
            let first = value.split_whitespace().next().unwrap_or_default();
            // "Too long" in quotes is a statement, four words are a passphrase.
            !is_placeholder(value) && (!is_common(first) || !(2..4).contains(&value.split_whitespace().count()))
        });
    }
    let value = unquoted(text, lead.end)?;
    let word = &text[value.clone()];
    if is_common(word) || is_code(text, &value) || counts(text, &value) {
        return None;
    }
    if !word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’')) {
        return Some(value);
    }
    // A plain word: "expired" says something about the password, "hunter" at the end of the clause is one.
    let lower = word.to_lowercase();
    let before = &text[text.floor_char_boundary(lead.start.saturating_sub(MAX_CLAUSE_BYTES))..lead.start];
    let is_person = before.split(' ').any(|word| word == "who");
    let is_statement = is_person || ["ed", "ing", "ly"].iter().any(|ending| lower.ends_with(ending)) || lower.contains(['\'', '’']);
    let rest = &text[value.end..];
    let next = rest.strip_prefix(' ').map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase());
    let ends_clause = next.is_none_or(|next| next.is_empty() || contains(CONNECTIVES, &next));
    (!is_statement && ends_clause).then_some(value)
}

/// Returns the password after its name or after "to", if it has letters and digits.
fn plain_password(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let is_change = text[lead.clone()].trim_end().ends_with(" to");
    if let Some(quoted) = quoted(text, lead.end) {
        return quoted.filter(|value| is_change && !is_placeholder(&text[value.clone()]));
    }
    let value = unquoted(text, lead.end)?;
    (is_strong(&text[value.clone()]) && !is_code(text, &value)).then_some(value)
}

/// Returns the password before "is my password", if it has digits or signs.
fn password_before(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let next = text[lead.end..].split(|c: char| !c.is_alphabetic()).nth(1).unwrap_or_default();
    if ["manager", "app", "vault", "generator", "tool"].contains(&next) {
        return None;
    }
    let before = &text[text.floor_char_boundary(lead.start.saturating_sub(MAX_WORD_BYTES))..lead.start];
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let quotes = |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '(' | '*');
    let word = before[start..].trim_start_matches(quotes);
    let start = lead.start - word.len();
    let word = word.trim_end_matches(quotes);
    (is_strong(word) || is_number(word)).then_some(start..start + word.len())
}

/// Returns the digits after the name of a code.
fn code(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let value = digits(text, lead.end)?;
    let name = text[lead].to_ascii_lowercase();
    let digits = text[value.clone()].bytes().filter(u8::is_ascii_digit).count();
    // Cards have short verification codes. Other numbers with three digits are seldom codes.
    let is_card = ["cvv", "cvc", "security"].iter().any(|word| name.contains(word));
    (digits > 3 || is_card).then_some(value)
}

/// Returns the digits after "your code is", if it is no postal code or the like.
fn your_code(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let value = digits(text, lead.end)?;
    let is_public = text[lead].to_ascii_lowercase().split(' ').any(|word| contains(PUBLIC_CODES, word));
    (!is_public && value.len() > 3).then_some(value)
}

/// Returns the digits before "is your code".
fn code_before(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let end = lead.start + 1;
    let before = &text[..end];
    let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    // Codes are also written as "123-456".
    let start = match before[..start].strip_suffix(['-', ' ']) {
        Some(head) if end - start == 3 && head.len() >= 3 && head.bytes().rev().take(3).all(|b| b.is_ascii_digit()) => head.len() - 3,
        _ => start,
    };
    let is_public = text[lead].to_ascii_lowercase().split(' ').any(|word| contains(PUBLIC_CODES, word));
    let is_part = before[..start].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '/' | ':'));
    (!is_public && !is_part && (4..=9).contains(&(end - start))).then_some(start..end)
}

/// Returns the inner text of quotes that begin at a place: `None` without quotes, `Some(None)` if they are empty or do not end.
fn quoted(text: &str, at: usize) -> Option<Option<Range<usize>>> {
    let rest = &text[at..];
    // Strings in source code can have a prefix, such as `b"…"`.
    let prefix = ["b", "r", "f"].into_iter().find(|&prefix| rest.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(['"', '\''])));
    let at = at + prefix.map_or(0, str::len);
    let open = text[at..].chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    let start = at + open.len_utf8();
    let limit = text.floor_char_boundary(start + MAX_QUOTED_BYTES);
    let line = text[start..limit].split('\n').next().unwrap_or_default();
    Some(line.find(close).filter(|length| *length > 0).map(|length| start..start + length))
}

/// Returns the word at a place, without the punctuation of the sentence. An exclamation mark can belong to a password.
fn unquoted(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..text.floor_char_boundary(at + MAX_WORD_BYTES)];
    let word = &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '`' | '“' | '”' | '»')).unwrap_or(rest.len())];
    let mut word = word;
    while let Some(last) = word.chars().next_back() {
        let open = match last {
            ')' => '(',
            ']' => '[',
            '}' => '{',
            _ => '\0',
        };
        let is_punctuation = matches!(last, '.' | ',' | ';' | ':' | '?' | '…' | '\'' | '’' | '*') || open != '\0' && !word.contains(open);
        if !is_punctuation {
            break;
        }
        word = &word[..word.len() - last.len_utf8()];
    }
    let value = at..at + word.len();
    let stands_for_another = is_placeholder(word) || word.starts_with('[') && word.ends_with(']');
    (!word.is_empty() && !stands_for_another).then_some(value)
}

/// Returns the four to eight digits at a place, or three for a card, or two groups of three digits.
fn digits(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let run = |from: &str| from.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = run(rest);
    if length == 3 && rest[3..].starts_with(['-', ' ']) && run(&rest[4..]) == 3 {
        length = 7;
    }
    let after = &rest[length..];
    let is_part = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '%' | '€' | '$'))
        || after.starts_with(['-', '.', ',', ':']) && after[1..].starts_with(|c: char| c.is_ascii_digit());
    // Keypads of doors need a final sign.
    let sign = usize::from(after.starts_with('#'));
    let value = at..at + length + sign;
    ((3..=8).contains(&length) && !is_part && !counts(text, &value)).then_some(value)
}

/// Extends the first word of a passphrase to its other words.
fn phrase(text: &str, first: Range<usize>) -> Range<usize> {
    let mut end = first.end;
    for _ in 1..MAX_PHRASE_WORDS {
        let Some(rest) = text[end..].strip_prefix(' ') else { break };
        let word = &rest[..rest.find(|c: char| !c.is_lowercase()).unwrap_or(rest.len())];
        if word.is_empty() {
            break;
        }
        end += 1 + word.len();
    }
    first.start..end
}

/// Whether a word is common in sentences and code about passwords.
fn is_common(word: &str) -> bool {
    contains(COMMON_WORDS, &word.trim_end_matches('!').to_lowercase())
}

/// Whether a value is an expression of a program that reads or computes a password.
fn is_code(text: &str, value: &Range<usize>) -> bool {
    let written = &text[value.clone()];
    let name = &written[..written.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.')).unwrap_or(written.len())];
    let after = &text[value.start + name.len()..];
    let root = name.split('.').next().unwrap_or_default();
    let is_call = !name.is_empty() && after.starts_with(['(', '[', '<']) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_reference = ["&str", "&[", "&'", "&mut", "&String"].iter().any(|reference| written.starts_with(reference));
    is_call || is_reference || name.len() > root.len() && contains(CODE_ROOTS, root)
}

/// Whether a value is a number that counts the next word, as in "12 characters".
fn counts(text: &str, value: &Range<usize>) -> bool {
    let next = text[value.end..].trim_start_matches([' ', '-']);
    let next = next[..next.find(|c: char| !c.is_alphabetic()).unwrap_or(next.len())].to_lowercase();
    text[value.clone()].starts_with(|c: char| c.is_ascii_digit() || c == '>') && contains(UNITS, &next)
}

/// Whether a word has letters and digits and is no technical name and no environment variable.
fn is_strong(word: &str) -> bool {
    let has_letter = word.chars().any(char::is_alphabetic);
    let has_digit = word.chars().any(|c| c.is_ascii_digit());
    let name = word.to_lowercase().replace('-', "");
    let is_variable = word.contains('_') && !word.contains(char::is_lowercase);
    word.len() >= 6 && !is_variable && has_letter && has_digit && !contains(TECHNICAL_NAMES, &name)
}

/// Whether a word is a number of a length that PINs and passwords have.
fn is_number(word: &str) -> bool {
    word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit())
}
