//! Defines a name with its type, and derives parts of it from tokens.

use recall_domain::{EntityType, Span};

use super::lexicon::{VerbForm, WordList, lexicon};
use super::phrases::{NounPhrase, is_title};
use super::singular::singular;
use super::tokens::{Pos, Token};

/// A name with its type and properties.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) ty: EntityType,
    /// How sure the type is, 0 to 1. Below [`WEAK`] the relation may change it.
    pub(crate) strength: f64,
    /// A proper name, kept even if no fact uses it.
    pub(crate) proper: bool,
    /// The word list that has it.
    pub(crate) group: Option<WordList>,
    /// The role next to the name ("my manager Dave").
    pub(crate) role: Option<String>,
    pub(crate) plural: bool,
    pub(crate) span: Span,
}

/// A type with less strength than this may be replaced by the type that a relation requires.
pub(crate) const WEAK: f64 = 0.6;

/// Makes a name of the tokens from `s` to `e`.
pub(super) fn build(
    tokens: &[Token],
    s: usize,
    e: usize,
    ty: EntityType,
    strength: f64,
    is_proper: bool,
    group: Option<WordList>,
) -> Named {
    Named {
        name: text_of(tokens, s, e),
        ty,
        strength,
        proper: is_proper,
        group,
        role: None,
        plural: plural(tokens, s, e),
        span: span(tokens, s, e),
    }
}

/// Codes of currencies.
const CURRENCIES: &[&str] =
    &["EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD", "NZD", "CNY", "INR"];

/// Whether words can be a name that is kept without a fact. A code such as "E2", a currency and a question word are none unless they are listed.
pub(crate) fn is_name(name: &str) -> bool {
    let has_letters = name.chars().filter(|c| c.is_alphabetic()).count() > 1;
    let is_word = CURRENCIES.contains(&name) || matches!(name, "Who" | "What" | "Which" | "Where" | "When" | "Why" | "How");
    !lexicon().get(&name.to_lowercase()).is_empty() || has_letters && !is_word
}

/// Returns the tokens as written, with single spaces.
pub(crate) fn text_of(tokens: &[Token], s: usize, e: usize) -> String {
    let mut out = String::new();
    for t in &tokens[s..e] {
        if !out.is_empty() && t.space_before {
            out.push(' ');
        }
        out.push_str(&t.text);
    }
    out.trim_matches('"').to_owned()
}

pub(crate) fn span(tokens: &[Token], s: usize, e: usize) -> Span {
    let part = &tokens[s..e.max(s + 1).min(tokens.len())];
    Span { start: part.iter().map(|t| t.start).min().unwrap_or(0), end: part.iter().map(|t| t.end).max().unwrap_or(0) }
}

fn plural(tokens: &[Token], s: usize, e: usize) -> bool {
    tokens[s..e].last().is_some_and(|t| t.pos == Pos::Noun && t.lemma != t.norm)
}

/// Whether a phrase names a time: "last week", "March", "two years".
pub(crate) fn time_expression(tokens: &[Token], np: &NounPhrase) -> bool {
    let head = &tokens[np.head];
    // "Baby One More Time" is a name.
    let in_name = head.capital && np.head > np.core && tokens[np.head - 1].capital && tokens[np.head - 1].pos == Pos::Propn;
    // "aunt June", "April likes"
    let person = head.capital
        && lexicon().in_set("name_homonyms", &head.norm)
        && (np.head > np.core && is_title(&tokens[np.head - 1].lemma)
            || tokens.get(np.head + 1).is_some_and(|n| n.form == Some(VerbForm::ThirdPerson) && n.pos == Pos::Verb));
    lexicon().in_set("time", &head.norm) && !in_name && !person
        || head.pos == Pos::Num
        || head.norm.chars().next().is_some_and(char::is_numeric) && head.norm.chars().all(|c| c.is_numeric() || "-:/.,stndrhk".contains(c))
}

/// Returns the type that a common noun indicates and how sure it is.
pub(super) fn head_type(head: &str, is_role: &dyn Fn(&str) -> bool) -> Option<(EntityType, f64)> {
    let lex = lexicon();
    if is_role(head) || lex.has(WordList::Person, head) {
        return Some((EntityType::Person, 0.95));
    }
    if let Some(e) = lex.get(head).iter().find(|e| e.common) {
        return Some((e.group.entity_type(), 0.9));
    }
    lex.head(head).map(|ty| (ty, 0.9))
}

/// Returns the tokens in lower case.
pub(super) fn phrase(tokens: &[Token], s: usize, e: usize) -> String {
    tokens[s..e].iter().map(|t| t.norm.as_str()).collect::<Vec<_>>().join(" ")
}

/// Returns the tokens in lower case, the last one in the singular.
pub(super) fn singular_phrase(tokens: &[Token], s: usize, e: usize) -> String {
    let mut words: Vec<&str> = tokens[s..e].iter().map(|t| t.norm.as_str()).collect();
    let last = singular(words.pop().unwrap_or_default());
    words.push(&last);
    words.join(" ")
}
