//! Lists of true and false cases, and properties of masks.

use std::fmt::Write as _;

use proptest::{prelude::*, strategy::ValueTree as _};

use super::*;

const MASKED: &str = include_str!("cases/masked.txt");
const KEPT: &str = include_str!("cases/kept.txt");

fn all() -> SensitivePatterns {
    SensitivePatterns::new(SensitiveKind::ALL, &[]).unwrap()
}

/// Returns the cases of a list with their line numbers.
fn cases(list: &str) -> impl Iterator<Item = (usize, String)> {
    let lines = list.lines().enumerate().filter(|(_, line)| !line.is_empty() && *line != "#" && !line.starts_with("# "));
    lines.map(|(n, line)| (n + 1, line.replace("{+}", "").replace('⏎', "\n")))
}

/// Returns the text of a case, the masked text, and what is found.
fn expectation(case: &str, kind: SensitiveKind) -> (String, String, Vec<Finding>) {
    let (mut text, mut masked, mut found) = (String::new(), String::new(), Vec::new());
    let mut rest = case;
    while let Some((before, after)) = rest.split_once('«') {
        let (inner, after) = after.split_once('»').unwrap();
        let named = inner.split_once('|').and_then(|(word, value)| Some((SensitiveKind::parse_word(word)?, value)));
        let (kind, value) = named.unwrap_or((kind, inner));
        write!(text, "{before}{value}").unwrap();
        write!(masked, "{before}{}", kind.mark()).unwrap();
        found.push(Finding::Kind(kind));
        rest = after;
    }
    found.sort_unstable();
    (text + rest, masked + rest, found)
}

#[test]
fn sensitive_texts_are_masked() {
    let patterns = all();
    let mut kind = None;
    let (mut count, mut failures) = (0, String::new());
    for (line, case) in cases(MASKED) {
        if let Some(word) = case.strip_prefix("== ") {
            kind = SensitiveKind::parse_word(word);
            continue;
        }
        count += 1;
        let (text, expected, kinds) = expectation(&case, kind.unwrap());
        let mut masked = patterns.mask(&text);
        masked.found.sort_unstable();
        if masked.text != expected || masked.found != kinds {
            writeln!(failures, "line {line}: {text:?}\n  expected {expected:?}\n  masked   {:?}", masked.text).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count >= 120, "{count} cases");
}

#[test]
fn other_texts_are_kept() {
    let patterns = all();
    let (mut count, mut failures) = (0, String::new());
    for (line, text) in cases(KEPT) {
        count += 1;
        let masked = patterns.mask(&text);
        if !matches!(masked.text, Cow::Borrowed(_)) || !masked.found.is_empty() {
            writeln!(failures, "line {line}: {text:?}\n  masked {:?}", masked.text).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count >= 200, "{count} cases");
}

#[test]
fn only_chosen_kinds_are_masked() {
    let text = "pin: 4711, IBAN DE89 3704 0044 0532 0130 00";
    let masked = |kinds: &[SensitiveKind]| SensitivePatterns::new(kinds.iter().copied(), &[]).unwrap().mask(text).text.into_owned();
    assert_eq!(masked(&[]), text);
    assert_eq!(masked(&[SensitiveKind::Password]), "pin: [password], IBAN DE89 3704 0044 0532 0130 00");
    assert_eq!(masked(&[SensitiveKind::BankAccount]), "pin: 4711, IBAN [bank account]");
}

#[test]
fn custom_matches_are_removed() {
    let patterns = SensitivePatterns::new([], &["EMP-[0-9]{5}".to_owned(), "(?i)project nightjar".to_owned()]).unwrap();
    let masked = patterns.mask("EMP-12345 leads Project Nightjar.");
    assert_eq!(masked.text, "[removed] leads [removed].");
    assert_eq!(masked.found, [Finding::Custom; 2]);
    assert!(matches!(patterns.mask("EMP-123 leads another one.").text, Cow::Borrowed(_)));
}

#[test]
fn invalid_custom_patterns_are_rejected() {
    let error = |pattern: &str| SensitivePatterns::new([], &[pattern.to_owned()]).err().unwrap().to_string();
    assert!(error("(").contains("is invalid"));
    assert!(error("[0-9]*").contains("matches an empty text"));
    assert!(error("(?:[0-9]{1000}){1000}").contains("is invalid"));
}

#[test]
fn words_name_kinds() {
    for kind in SensitiveKind::ALL {
        assert_eq!(SensitiveKind::parse_word(kind.word()), Some(kind));
    }
    assert_eq!(SensitiveKind::parse_word("card"), None);
}

#[test]
fn longest_finding_at_a_place_names_the_mark() {
    let masked = all().mask("my password is 4111 1111 1111 1111");
    assert_eq!(masked.text, "my password is [card number]");
    let patterns = SensitivePatterns::new([], &["abc".to_owned(), "bcde".to_owned(), "b".to_owned()]).unwrap();
    assert_eq!(patterns.mask("abcdef").text, "[removed]f");
}

#[test]
fn repeated_leads_are_masked_once() {
    let patterns = all();
    let pieces = [
        "4111 1111 1111 1111 ",
        "4 ",
        "1",
        "DE89 3704 ",
        "password is ",
        "password for password ",
        "password:",
        "eyJa.",
        "eyJhbGciOiJIUzI1NiJ9",
        "-----BEGIN PRIVATE KEY-----",
        "a://b:c",
        "curl -u ",
        "token=",
        "secret is \"",
        "pin of ",
        "1 is your ",
        "x is my ",
        "SSN ",
        "[password",
        "Bearer ",
        "123-45-",
        "AB 12 ",
        "passport 1 ",
    ];
    for piece in pieces {
        let text = piece.repeat(20_000 / piece.len());
        let once = patterns.mask(&text).text.into_owned();
        assert_eq!(patterns.mask(&once).text, once, "{piece:?}");
    }
}

#[test]
fn hints_match_what_leads_match() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for source in [numbers::RULES, secrets::RULES, passwords::RULES].into_iter().flatten() {
        let (hint, lead) = (Regex::new(source.hint).unwrap(), Regex::new(source.lead).unwrap());
        // The generator knows no word boundaries.
        let texts = proptest::string::string_regex(&source.lead.replace(r"(?-u:\b)", "")).unwrap();
        let mut matches = 0;
        for _ in 0..300 {
            let text = texts.new_tree(&mut runner).unwrap().current();
            matches += usize::from(lead.is_match(&text));
            assert!(!lead.is_match(&text) || hint.is_match(&text), "{text:?} of {}", source.lead);
        }
        assert!(matches > 0, "{}", source.lead);
    }
}

/// Texts made of pieces that sensitive texts are made of.
fn pieces() -> impl Strategy<Value = String> {
    let known: Vec<String> = cases(MASKED).chain(cases(KEPT)).map(|(_, case)| case.replace(['«', '»'], "")).collect();
    let piece = prop_oneof![
        3 => proptest::sample::select(known),
        3 => proptest::sample::select(vec![
            "password", "my password is ", "pw: ", "PIN ", "is", " ", "4111 1111 1111 1111", "4111111111111111", "-", "\"", "'", ":", "=", "[",
            "]", "[password]", "[card number]", "[removed]", "IMEI ", "order ", "SSN ", "078-05-1121", "DE89370400440532013000", "is my password",
            "token = ", "Bearer ", "https://a:", "b@c", "\n", "is your code", "é", "🙂", "\u{a0}", "…", "123", "to ", "for ", "curl -u a:",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9]{1,20}",
        1 => ".{0,6}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn masking_is_idempotent(text in pieces()) {
        static PATTERNS: std::sync::LazyLock<SensitivePatterns> = std::sync::LazyLock::new(|| {
            SensitivePatterns::new(SensitiveKind::ALL, &["[a-z]+[0-9]".to_owned(), "removed|card".to_owned()]).unwrap()
        });
        for patterns in [&*PATTERNS, &*ALL] {
            let masked = patterns.mask(&text);
            prop_assert_eq!(masked.found.is_empty(), matches!(masked.text, Cow::Borrowed(_)));
            let again = patterns.mask(&masked.text);
            prop_assert_eq!(&again.text, &masked.text);
            prop_assert!(again.found.is_empty());
        }
    }

    #[test]
    fn arbitrary_text_is_masked_without_panic(text in "\\PC{0,200}|[0-9 .:=a-f«–\u{a0}-]{0,80}") {
        ALL.mask(&text);
    }
}

static ALL: std::sync::LazyLock<SensitivePatterns> = std::sync::LazyLock::new(all);
