//! Finds the words by which a message says that something changed, or that something said before was wrong. Pure.
//!
//! "Tom moved to Hamburg" and "I live in Lisbon now" end the home before; "Correction: I live in Lisbon" takes it back. "I live in
//! Lisbon" alone contradicts and leaves both.

use recall_domain::Span;

/// What the sentence of a claim says about claims before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChangeSign {
    /// Nothing.
    None,
    /// What held before has ended.
    Change,
    /// What was said before was wrong.
    Correction,
    /// Something before does not hold, as "no" at the beginning says. It may also reply to a question about something else.
    Denial,
}

/// Words and phrases of a change.
const CHANGES: &[&str] = &[
    "now",
    "nowadays",
    "these days",
    "currently",
    "anymore",
    "any more",
    "any longer",
    "no longer",
    "moved",
    "relocated",
    "shifted",
    "switched",
    "migrated",
    "transferred",
    "changed",
    "replaced",
    "replaces",
    "took over",
    "taken over",
    "takes over",
    "new job",
    "new home",
    "new number",
    "new phone number",
    "new phone",
    "new mobile",
    "new mobile number",
    "new email",
    "new e-mail",
    "new email address",
    "new e-mail address",
    "new address",
    "new flat",
    "new apartment",
    "new house",
    "new place",
    "new employer",
    "from now on",
    "as of",
    "since",
    "started at",
    "started working",
    "started with",
    "joined",
    "again",
    "used to",
    "until",
    "not yet",
    "gone off",
    "went off",
    "turned into",
    "swapped",
    "back in",
    "settled in",
];
/// Words and phrases by which something is added to what held before, so that nothing has ended.
const ADDITIONS: &[&str] = &[
    "also",
    "as well",
    "additionally",
    "in addition",
    "on the side",
    "another",
    "second",
    "a further",
    "extra",
    "work number",
    "work phone",
    "work mobile",
    "work email",
    "work e-mail",
];
/// Words and phrases of a correction.
const CORRECTIONS: &[&str] = &[
    "correction",
    "correcting",
    "actually",
    "i meant",
    "meant to say",
    "my mistake",
    "by mistake",
    "mixed up",
    "mixed that up",
    "got that wrong",
    "got it wrong",
    "was wrong",
    "is wrong",
    "wrong about",
    "wait no",
    "wait, no",
    "scratch that",
    "not true",
    "isn't true",
    "misremembered",
    "misheard",
    "misspoke",
    "i lied",
    "i claimed",
    "mistyped",
    "typo",
    "never did",
    "have always hated",
    "i've always hated",
    "turns out",
    "in fact",
    "i take it back",
    "contrary to",
];

/// Beginnings of a message that denies.
const DENIALS: &[&str] = &["no", "nope", "nah", "no no"];

/// Returns the sign in the sentence around a span, and for corrections in the sentence before it too.
pub(super) fn change_sign(text: &str, span: Span) -> ChangeSign {
    let chars: Vec<char> = text.chars().collect();
    let sentence = span.sentence(&chars);
    let end_before = u32::try_from(sentence.start.saturating_sub(1)).unwrap_or(u32::MAX);
    let before = Span { start: end_before, end: end_before }.sentence(&chars).start;
    if has_any(&chars[before..sentence.end], CORRECTIONS) {
        ChangeSign::Correction
    } else if has_any(&chars[sentence.clone()], CHANGES) {
        ChangeSign::Change
    } else if before == 0 && begins_with_denial(&chars[..sentence.end]) {
        ChangeSign::Denial
    } else {
        ChangeSign::None
    }
}

/// Whether a message begins by denying what was said before: "No, I live in York". Whether that was ever true is open.
fn begins_with_denial(message: &[char]) -> bool {
    let text: String = message.iter().collect::<String>().trim_start().to_lowercase();
    DENIALS.iter().any(|word| text.strip_prefix(word).is_some_and(|rest| rest.starts_with([',', '.', '!', ';', ':'])))
}

/// Whether the sentence around a span adds to what held before: "I also work for Uber", "my new work number". Then nothing has ended of which there can be
/// several.
pub(super) fn adds(text: &str, span: Span) -> bool {
    let chars: Vec<char> = text.chars().collect();
    has_any(&chars[span.sentence(&chars)], ADDITIONS)
}

fn has_any(chars: &[char], phrases: &[&str]) -> bool {
    let plain = |c: &char| if c.is_alphanumeric() || matches!(c, '\'' | ',') { c.to_lowercase().next().unwrap_or(*c) } else { ' ' };
    let text: String = chars.iter().map(|c| if *c == '’' { &'\'' } else { c }).map(plain).collect();
    let text = format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
    let bare = text.replace(',', "");
    phrases.iter().any(|p| text.contains(&format!(" {p} ")) || bare.contains(&format!(" {p} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(text: &str, words: &str) -> ChangeSign {
        let start = text[..text.find(words).unwrap_or_default()].chars().count() as u32;
        change_sign(text, Span { start, end: start + words.chars().count() as u32 })
    }

    #[test]
    fn signs_are_read_in_the_sentence_of_the_claim() {
        for (text, words, expected) in [
            ("Tom moved to Hamburg", "Tom moved to Hamburg", ChangeSign::Change),
            ("I live in Lisbon now.", "I live in Lisbon", ChangeSign::Change),
            ("Correction: I live in Lisbon", "I live in Lisbon", ChangeSign::Correction),
            ("I got that wrong. I live in Lisbon", "I live in Lisbon", ChangeSign::Correction),
            ("No, I live in Lisbon", "I live in Lisbon", ChangeSign::Denial),
            ("Nope. I live in Lisbon", "I live in Lisbon", ChangeSign::Denial),
            ("No one knows that I live in Lisbon", "I live in Lisbon", ChangeSign::None),
            ("It rains. No, it pours. I live in Lisbon", "I live in Lisbon", ChangeSign::None),
            ("Now it rains. I live in Lisbon", "I live in Lisbon", ChangeSign::None),
            ("I live in Lisbon", "I live in Lisbon", ChangeSign::None),
            ("I know Lisbon", "I know Lisbon", ChangeSign::None),
            ("My new number is 0160 999", "0160 999", ChangeSign::Change),
            ("My new colleague Max lives in Berlin", "Max lives in Berlin", ChangeSign::None),
        ] {
            assert_eq!(sign(text, words), expected, "{text}");
        }
        let whole = |text: &str| Span { start: 0, end: text.chars().count() as u32 };
        assert!(
            ["My second job is at Acme", "I also work for Uber now", "My new work number is 1"].iter().all(|text| adds(text, whole(text)))
        );
        assert!(!adds("I work for Uber now", whole("I work for Uber now")));
        assert_eq!(change_sign("é", Span { start: 5, end: 9 }), ChangeSign::None);
    }
}
