//! Finds text that is never stored, such as card numbers and passwords, and masks it.
//!
//! Every rule has a cheap hint and an exact lead. One pass of all hints decides which leads run, so an ordinary message costs one pass.
//! The regular expressions do not backtrack: the time is linear in the length of the text.

mod numbers;
mod passwords;
mod secrets;
mod words;

#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range};

use regex::{Regex, RegexBuilder, RegexSet};

/// Most passes over a text. A mask can complete another finding, for example if it replaces a word that ruled the finding out.
/// Two passes are usual. The bound keeps the time linear for texts that are made to need more.
const MAX_PASSES: usize = 6;
/// Largest compiled pattern of an operator in bytes.
const MAX_CUSTOM_BYTES: usize = 1 << 20;
/// The mark of a match of a custom pattern.
const CUSTOM_MARK: &str = "[removed]";

/// A kind of text that is never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SensitiveKind {
    /// Number of a payment card.
    CardNumber,
    /// International bank account number (IBAN).
    BankAccount,
    /// API key, access token, private key or password in a URL.
    SecretKey,
    /// Password, PIN, card verification code or one-time code that the text names as such.
    Password,
    /// Social security number, or a similar national number that the text names as such.
    SecurityNumber,
}

impl SensitiveKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::CardNumber, Self::BankAccount, Self::SecretKey, Self::Password, Self::SecurityNumber];

    /// Returns the name of the kind in settings.
    pub const fn word(self) -> &'static str {
        match self {
            Self::CardNumber => "card_number",
            Self::BankAccount => "bank_account",
            Self::SecretKey => "secret_key",
            Self::Password => "password",
            Self::SecurityNumber => "security_number",
        }
    }

    /// Returns the kind with a name in settings.
    pub fn parse_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the text that replaces a finding of this kind.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::CardNumber => "[card number]",
            Self::BankAccount => "[bank account]",
            Self::SecretKey => "[secret key]",
            Self::Password => "[password]",
            Self::SecurityNumber => "[security number]",
        }
    }
}

/// What a mask has replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Finding {
    /// Text of a known kind.
    Kind(SensitiveKind),
    /// Text that matches a pattern of the operator.
    Custom,
}

impl Finding {
    /// Returns the text that replaces the finding.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.mark(),
            Self::Custom => CUSTOM_MARK,
        }
    }
}

/// A text without sensitive parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked<'t> {
    /// The text with marks. Borrowed if nothing was found.
    pub text: Cow<'t, str>,
    /// What was replaced: one entry for each new mark, in no particular order.
    pub found: Vec<Finding>,
}

/// An invalid pattern.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The pattern is not a regular expression, or it is too large.
    #[error("The pattern {pattern:?} is invalid: {source}")]
    Syntax {
        /// The pattern.
        pattern: String,
        /// Why it is invalid.
        source: Box<regex::Error>,
    },
    /// The pattern matches the empty text, so that it would match everywhere.
    #[error("The pattern {0:?} matches an empty text. Make at least one part of it mandatory.")]
    Empty(String),
}

/// How to find one form of sensitive text.
struct RuleSource {
    kind: SensitiveKind,
    /// Matches if the lead can match. It is cheap: it has no large counted repetition.
    hint: &'static str,
    /// Matches the sensitive text, or the words before it.
    lead: &'static str,
    value: ValueOf,
}

/// Returns the sensitive parts of a text for a match of a lead. A part can begin before the match and end after it.
#[derive(Clone, Copy)]
enum ValueOf {
    /// The only part.
    One(fn(&str, Range<usize>) -> Option<Range<usize>>),
    /// All parts in their order.
    Each(fn(&str, Range<usize>) -> Vec<Range<usize>>),
}

/// A compiled [`RuleSource`].
struct Rule {
    kind: SensitiveKind,
    lead: Regex,
    value: ValueOf,
}

/// Detects and masks chosen kinds of sensitive text and the patterns of an operator.
///
/// Compilation takes milliseconds: build it once.
pub struct SensitivePatterns {
    kinds: Vec<SensitiveKind>,
    hints: RegexSet,
    rules: Vec<Rule>,
    custom: Vec<Regex>,
}

impl SensitivePatterns {
    /// Compiles the rules of the kinds and the patterns of an operator.
    ///
    /// Custom patterns have the syntax of the `regex` crate. A match is replaced completely.
    pub fn new(kinds: impl IntoIterator<Item = SensitiveKind>, custom: &[String]) -> Result<Self, PatternError> {
        let kinds: Vec<SensitiveKind> = kinds.into_iter().collect();
        let sources = [numbers::RULES, secrets::RULES, passwords::RULES];
        let sources: Vec<&RuleSource> = sources.into_iter().flatten().filter(|source| kinds.contains(&source.kind)).collect();
        let hints = RegexSet::new(sources.iter().map(|source| source.hint))
            .map_err(|source| PatternError::Syntax { pattern: "hints".to_owned(), source: Box::new(source) })?;
        let rules = sources
            .iter()
            .map(|source| Ok(Rule { kind: source.kind, lead: compile(source.lead, usize::MAX)?, value: source.value }))
            .collect::<Result<_, PatternError>>()?;
        let custom = custom
            .iter()
            .map(|pattern| {
                let regex = compile(pattern, MAX_CUSTOM_BYTES)?;
                if regex.is_match("") { Err(PatternError::Empty(pattern.clone())) } else { Ok(regex) }
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { kinds, hints, rules, custom })
    }

    /// Returns the kinds that are masked.
    pub fn kinds(&self) -> impl Iterator<Item = SensitiveKind> + '_ {
        self.kinds.iter().copied()
    }

    /// Replaces the sensitive parts of a text with marks.
    ///
    /// A masked text stays the same if it is masked again.
    pub fn mask<'t>(&self, text: &'t str) -> Masked<'t> {
        let mut masked = Masked { text: Cow::Borrowed(text), found: Vec::new() };
        for _ in 0..MAX_PASSES {
            let parts = self.find(&masked.text);
            if parts.is_empty() {
                break;
            }
            let mut out = String::with_capacity(masked.text.len());
            let mut done = 0;
            for (range, finding) in parts {
                out.push_str(&masked.text[done..range.start]);
                out.push_str(finding.mark());
                done = range.end;
                masked.found.push(finding);
            }
            out.push_str(&masked.text[done..]);
            masked.text = Cow::Owned(out);
        }
        masked
    }

    /// Returns the sensitive parts of a text in their order, without overlaps.
    fn find(&self, text: &str) -> Vec<(Range<usize>, Finding)> {
        let mut parts = Vec::new();
        for rule in self.hints.matches(text).iter().filter_map(|n| self.rules.get(n)) {
            let mut at = 0;
            while let Some(lead) = rule.lead.find_at(text, at) {
                let known = parts.len();
                match rule.value {
                    ValueOf::One(value) => parts.extend(value(text, lead.range()).map(|value| (value, Finding::Kind(rule.kind)))),
                    ValueOf::Each(values) => {
                        parts.extend(values(text, lead.range()).into_iter().map(|value| (value, Finding::Kind(rule.kind))));
                    }
                }
                // The next search begins behind what was found, so the time stays linear.
                at = parts[known..].iter().fold(lead.end(), |at, (value, _)| at.max(value.end));
            }
        }
        for regex in &self.custom {
            parts.extend(regex.find_iter(text).filter(|m| !m.is_empty()).map(|m| (m.range(), Finding::Custom)));
        }
        if parts.is_empty() {
            return parts;
        }
        let marks = marks(text);
        parts.retain(|(range, _)| {
            if range.is_empty() {
                return false;
            }
            let next = marks.partition_point(|mark| mark.end <= range.start);
            marks.get(next).is_none_or(|mark| range.end <= mark.start)
        });
        without_overlaps(parts)
    }
}

/// Joins overlapping parts. The leftmost part decides what was found, and the longest of those that start at the same place.
fn without_overlaps(mut parts: Vec<(Range<usize>, Finding)>) -> Vec<(Range<usize>, Finding)> {
    parts.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut joined: Vec<(Range<usize>, Finding)> = Vec::with_capacity(parts.len());
    for (range, finding) in parts {
        match joined.last_mut() {
            // The end of an overlapping part is as sensitive as its beginning.
            Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push((range, finding)),
        }
    }
    joined
}

/// Returns where the text already has marks.
fn marks(text: &str) -> Vec<Range<usize>> {
    let all = SensitiveKind::ALL.map(SensitiveKind::mark);
    let mark_at = |at: usize| all.iter().chain([&CUSTOM_MARK]).find(|mark| text[at..].starts_with(**mark));
    text.match_indices('[').filter_map(|(at, _)| mark_at(at).map(|mark| at..at + mark.len())).collect()
}

/// Compiles a pattern of at most some bytes.
fn compile(pattern: &str, most_bytes: usize) -> Result<Regex, PatternError> {
    RegexBuilder::new(pattern)
        .size_limit(most_bytes)
        .build()
        .map_err(|source| PatternError::Syntax { pattern: pattern.to_owned(), source: Box::new(source) })
}
