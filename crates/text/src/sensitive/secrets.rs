//! API keys, tokens, private keys and passwords in URLs.
//!
//! The formats of tokens follow the rules of [gitleaks](https://github.com/gitleaks/gitleaks) (MIT) and the documentation of the issuers.

use std::ops::Range;

use super::{RuleSource, SensitiveKind, ValueOf};

/// Longest header and longest payload of a JSON web token.
const MAX_HEADER_BYTES: usize = 1024;
const MAX_PAYLOAD_BYTES: usize = 8192;
/// Longest value that is compared with the forms of keys.
const MAX_KEY_BYTES: usize = 128;
/// Shortest value of an assignment that is a key and not a word.
const MIN_KEY_BYTES: usize = 16;
/// Shortest token in an `Authorization` header.
const MIN_CREDENTIAL_BYTES: usize = 8;
/// Shortest line of a private key, if nothing says where the key ends.
const MIN_KEY_LINE_BYTES: usize = 20;

pub(super) const RULES: &[RuleSource] = &[
    RuleSource {
        kind: SensitiveKind::SecretKey,
        hint: concat!(
            r"(?-u:\b)(?:A3T[A-Z0-9]|A[KS]IA|ABIA|ACCA|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|xox[a-z]|xapp-|[sr]k_|whsec_|sk-|AIza|GOCSPX-|ya29\.",
            r"|npm_|pypi-A|hf_|do[opr]_v1_|SG\.|shp[acps][a-z]_|dapi|lin_api_|ntn_|pplx-|gsk_|xai-|nvapi-|r8_|PMAK-|rubygems_|hvs\.|gl[cs]a?_",
            r"|sntry[su]_|dckr_|pul-|AGE-SEC|HRKU-|sq0|tskey-|sbp_|figd_|ops_eyJ|[0-9]{8,10}:AA)"
        ),
        lead: concat!(
            r"(?-u:\b)(?:(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)",
            r"|gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40}",
            r"|gl(?:pat|ptt|dt|rt|cbt|ft|imt|soat|agent|oas|ffct)-[A-Za-z0-9_.\-]{20}",
            r"|xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9\-]{10}|xapp-[0-9]-[A-Za-z0-9\-]{20}",
            r"|(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10}|whsec_[A-Za-z0-9+/=]{24}",
            r"|sk-(?:ant|proj|svcacct|admin|or-v1)-[A-Za-z0-9_\-]{20}|sk-[A-Za-z0-9]{20}",
            r"|AIza[A-Za-z0-9_\-]{35}|GOCSPX-[A-Za-z0-9_\-]{20}|ya29\.[A-Za-z0-9_\-]{20}",
            r"|npm_[A-Za-z0-9]{36}|pypi-A[A-Za-z0-9_\-]{50}|hf_[A-Za-z0-9]{30}|do[opr]_v1_[a-f0-9]{64}",
            r"|SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}|dapi[a-f0-9]{32}(?:-[0-9])?",
            r"|lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40}|pplx-[A-Za-z0-9]{40}|gsk_[A-Za-z0-9]{40}|xai-[A-Za-z0-9]{60}",
            r"|nvapi-[A-Za-z0-9_\-]{60}|r8_[A-Za-z0-9]{37}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|rubygems_[a-f0-9]{48}|hvs\.[A-Za-z0-9_\-]{20}",
            r"|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32}|sntrys_[A-Za-z0-9+/=_]{40}|sntryu_[a-f0-9]{64}",
            r"|dckr_pat_[A-Za-z0-9_\-]{20}|pul-[a-f0-9]{40}|AGE-SECRET-KEY-1[A-Z0-9]{58}|HRKU-[A-Za-z0-9_\-]{36}",
            r"|sq0(?:atp|csp)-[A-Za-z0-9_\-]{22}|tskey-[a-z]{3,10}-[A-Za-z0-9\-]{20}|sbp_[a-f0-9]{40}|figd_[A-Za-z0-9_\-]{30}",
            r"|ops_eyJ[A-Za-z0-9+/]{100}|[0-9]{8,10}:AA[A-Za-z0-9_\-]{33})"
        ),
        value: ValueOf::One(token),
    },
    RuleSource { kind: SensitiveKind::SecretKey, hint: "eyJ", lead: r"(?-u:\b)eyJ[A-Za-z0-9_\-]{10}", value: ValueOf::One(json_web_token) },
    RuleSource {
        kind: SensitiveKind::SecretKey,
        hint: r"hooks\.slack\.com/|discord(?:app)?\.com/api/webhooks/",
        lead: concat!(
            r"(?:https?://)?hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_\-]{30}",
            r"|(?:https?://)?(?:[a-z]{1,10}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{10,20}/[A-Za-z0-9_\-]{30}"
        ),
        value: ValueOf::One(token),
    },
    RuleSource {
        kind: SensitiveKind::SecretKey,
        hint: r"PRIVATE KEY",
        lead: r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        value: ValueOf::One(private_key),
    },
    RuleSource {
        kind: SensitiveKind::SecretKey,
        hint: r"(?i:bearer |authorization)",
        lead: r#"(?i:(?-u:\b)authorization["']?\s{0,2}[:=]\s{0,2}["']?(?:(?:bearer|basic|token|apikey|digest)\s{1,3})?|(?-u:\b)bearer )"#,
        value: ValueOf::One(credential),
    },
    RuleSource {
        kind: SensitiveKind::SecretKey,
        hint: r"://[^\s/@]*:[^\s/]*@",
        lead: r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/?#@:"'<>]{0,100}:[^\s/"'<>]{1,200}@"#,
        value: ValueOf::One(url_password),
    },
    RuleSource {
        kind: SensitiveKind::SecretKey,
        hint: r"curl .*-u|curl .*--user",
        lead: r#"(?-u:\b)curl (?:[^\n]{0,200}? )?(?:-u|--user)[ =]?["']?[^\s:"']{1,100}:"#,
        value: ValueOf::One(curl_password),
    },
    RuleSource {
        kind: SensitiveKind::SecretKey,
        hint: r"(?i:key|secret|token)",
        lead: concat!(
            r"(?i:(?:api[ _.\-]?key|(?:access|secret|account|private|encryption|signing|master|consumer|auth)[ _.\-]?key|secret|token)",
            r#"["'`*]{0,3}(?:\s{0,3}(?::=|=>|->|=|:)|\s{1,3}(?:is|was)(?:\s{0,2}:)?\s)[\s*]{0,3}["'`]?)"#
        ),
        value: ValueOf::One(assigned_key),
    },
];

/// Returns a token that begins with a known prefix.
fn token(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let end = |most: usize| lead.end + text[lead.end..most].find(|c| !is_token(c)).unwrap_or(most - lead.end);
    let first = &text[lead.start..end(text.floor_char_boundary(lead.end + MAX_KEY_BYTES))];
    // "sk-" also begins words.
    let is_word = first.starts_with("sk-") && !first.bytes().any(|byte| byte.is_ascii_digit());
    (!is_word).then(|| lead.start..end(text.len()))
}

/// Returns a JSON web token of three parts.
fn json_web_token(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let part = |from: usize, most: usize| {
        let rest = &text[from..text.floor_char_boundary(from + most)];
        from + rest.find(|c| !is_token(c)).unwrap_or(rest.len())
    };
    let header = part(lead.start, MAX_HEADER_BYTES);
    text[header..].strip_prefix(".eyJ")?;
    let payload = part(header + 1, MAX_PAYLOAD_BYTES);
    text[payload..].strip_prefix('.')?;
    let signature = part(payload + 1, text.len());
    (signature > payload + 10).then_some(lead.start..signature)
}

/// Whether a token can contain a character.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns a private key with its first and last line. A key that is cut ends with its last line of data.
fn private_key(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let body = &text[lead.end..];
    let dashes = body.find("-----");
    if let Some((at, footer)) = dashes.map(|at| (at, &body[at + 5..])).filter(|(_, footer)| footer.starts_with("END ")) {
        let name = footer.find(|c: char| !c.is_ascii_uppercase() && c != ' ').unwrap_or(footer.len());
        let rest = &footer[name..];
        // A key in source code is followed by an escaped line break.
        let tail = ["-----\\n", "-----"].into_iter().find(|tail| rest.starts_with(tail)).map_or(0, str::len);
        return Some(lead.start..lead.end + at + 5 + name + tail);
    }
    let body = &body[..dashes.unwrap_or(body.len())];
    let is_data = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\\');
    let mut end = lead.end;
    let mut at = 0;
    while let Some(start) = body[at..].find(|c: char| !c.is_whitespace()).map(|n| at + n) {
        let length = body[start..].find(|c| !is_data(c)).unwrap_or(body.len() - start);
        if length < MIN_KEY_LINE_BYTES && !body[start..start + length].ends_with('=') {
            break;
        }
        at = start + length;
        end = lead.end + at;
    }
    Some(lead.start..end)
}

/// Returns the credential of an `Authorization` header, or the token after "Bearer".
fn credential(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    key_at(text, lead.end, |written| {
        let has_scheme = text[lead.clone()].split_whitespace().count() > 1;
        let is_mixed = written.bytes().any(|b| b.is_ascii_digit()) || written.bytes().skip(1).any(|b| b.is_ascii_uppercase());
        has_scheme && written.len() >= MIN_CREDENTIAL_BYTES && is_mixed || is_random(written)
    })
}

/// Returns the password of a URL.
fn url_password(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let url = &text[lead.clone()];
    let user = url.find("://")? + 3;
    let start = lead.start + user + url[user..].find(':')? + 1;
    let value = start..lead.end - 1;
    let written = text[value.clone()].to_ascii_lowercase();
    let is_example = matches!(written.as_str(), "pass" | "password" | "pwd" | "passwd");
    (!is_example && !is_placeholder(&text[value.clone()])).then_some(value)
}

/// Returns the password after the user in a call of curl.
fn curl_password(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    let rest = &text[lead.end..];
    let value = lead.end..lead.end + rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(rest.len());
    (!is_placeholder(&text[value.clone()])).then_some(value)
}

/// Returns the value of an assignment, if it looks like a key.
fn assigned_key(text: &str, lead: Range<usize>) -> Option<Range<usize>> {
    key_at(text, lead.end, is_random)
}

/// Returns the key that begins at a place, without a final full stop, if its first bytes look like one.
fn key_at(text: &str, at: usize, looks_like_key: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let is_key = |c: char| is_token(c) || matches!(c, '+' | '/' | '=' | '.' | '~');
    let key = |rest: &str| at + rest[..rest.find(|c| !is_key(c)).unwrap_or(rest.len())].trim_end_matches('.').len();
    let first = key(&text[at..text.floor_char_boundary(at + MAX_KEY_BYTES)]);
    looks_like_key(&text[at..first]).then(|| at..key(&text[at..]))
}

/// Whether a value has letters and digits in no order, as keys have.
fn is_random(value: &str) -> bool {
    let bytes = value.as_bytes();
    let count = |is: fn(u8, u8) -> bool| bytes.windows(2).filter(|pair| matches!(pair, [a, b] if is(*a, *b))).count();
    let changes = count(|a, b| a.is_ascii_digit() && b.is_ascii_alphabetic() || a.is_ascii_alphabetic() && b.is_ascii_digit());
    // Names in camel case have these as well, but seldom next to capitals in a row.
    let humps = count(|a, b| a.is_ascii_lowercase() && b.is_ascii_uppercase());
    let capitals = count(|a, b| a.is_ascii_uppercase() && b.is_ascii_uppercase());
    // One bit for each ASCII character. Placeholders such as `XXXX0000` have few different ones.
    let different = bytes.iter().fold(0_u128, |seen, byte| seen | 1 << (byte % 128)).count_ones();
    let is_mixed = changes >= 3 || changes >= 1 && changes + humps >= 5 && capitals >= 2;
    value.len() >= MIN_KEY_BYTES && different >= 8 && is_mixed
}

/// Whether a value stands for another one, such as `$PASSWORD`, `<password>`, `{{password}}` and `****`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let variable = value.trim_start_matches('$');
    let is_variable = variable.len() < value.len() && !variable.is_empty() && variable.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let is_filler = value.chars().all(|c| matches!(c, '*' | '•' | '●' | 'x' | 'X' | '.' | '…' | '-' | '_' | '#' | '?'));
    is_variable || is_filler || value.starts_with(['<', '{', '%']) || value.starts_with("${") || value.starts_with("$(")
}
