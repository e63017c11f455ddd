//! Which messages of the context answer the question in someone's own words, when no fact does. A message counts
//! only if it has what the question is about: its rare words or words close to them in meaning, and said by or
//! about the one who is named.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    question::{Asks, Question},
    words::{is_asking, is_first_person, is_function, words},
};
use crate::{
    adapters::local::LocalEmbedder,
    domain::{Entity, Message, MessageKind, Role, context::RankedMessage},
};

/// Messages quoted in one answer.
const MOST: usize = 3;
/// Share of the question's content that a message must have. With less than half, more of the question is
/// unanswered than answered.
const COVERAGE: f32 = 0.5;
/// Cosine of two words from which one may stand for the other. Unrelated words lie below 0.3, inflections and close
/// synonyms above 0.6.
const ALIKE: f32 = 0.55;
/// Longest excerpt, in characters.
const EXCERPT: usize = 240;

/// A message that answers, with the words to quote.
#[derive(Debug)]
pub(super) struct Quote<'a> {
    pub(super) message: &'a Message,
    pub(super) excerpt: String,
    coverage: f32,
}

struct Term {
    stem: String,
    plain: String,
    vector: Vec<f32>,
    is_name: bool,
}

/// The best quotes, best first.
pub(super) fn find<'a>(question: &Question, entities: &[Entity], ranked: &'a [RankedMessage], embedder: &LocalEmbedder) -> Vec<Quote<'a>> {
    let terms = content(question, embedder);
    if terms.is_empty() {
        return Vec::new();
    }
    let named: Vec<&str> = question.named.iter().flat_map(|n| &question.words[n.start..n.end]).map(|w| w.plain.as_str()).collect();
    let mut quotes: Vec<Quote<'a>> = ranked
        .iter()
        .map(|r| &r.message)
        .filter(|m| m.role == Role::User && m.kind != Some(MessageKind::Question) && is_about(question, m, entities))
        .filter_map(|message| {
            let coverage = covers(&terms, message, embedder);
            (coverage >= COVERAGE).then(|| Quote { message, excerpt: excerpt(message.text.as_str(), &terms, &named), coverage })
        })
        .collect();
    // Stable: equal coverage keeps the order of the ranking.
    quotes.sort_by(|a, b| b.coverage.total_cmp(&a.coverage));
    // What covers clearly less than the best is beside the point.
    let best = quotes.first().map_or(0.0, |q| q.coverage);
    quotes.retain(|q| q.coverage >= best - 0.2);
    quotes.truncate(MOST);
    quotes
}

/// What the question is about: no glue, and names only as names.
fn content(question: &Question, embedder: &LocalEmbedder) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for (i, word) in question.words.iter().enumerate() {
        if is_function(word) || is_asking(word) || is_first_person(&word.plain) || terms.iter().any(|t| t.stem == word.stem) {
            continue;
        }
        let vector = embedder.vector(&word.plain).0;
        terms.push(Term { stem: word.stem.clone(), plain: word.plain.clone(), vector, is_name: question.in_name(i) || word.proper });
    }
    terms
}

/// Whether the message is said by, or speaks of, who is named. "I" is who asks: their messages have no speaker.
fn is_about(question: &Question, message: &Message, entities: &[Entity]) -> bool {
    let said: HashSet<String> = words(message.text.as_str()).into_iter().map(|w| w.plain).collect();
    let by: Vec<String> = message.speaker.iter().flat_map(|s| words(s)).map(|w| w.plain).collect();
    // A proper name that stands for nothing known is a name all the same.
    let strangers = question.words.iter().enumerate().filter(|(i, w)| w.proper && !question.in_name(*i) && !is_function(w));
    if strangers.into_iter().any(|(_, w)| !said.contains(&w.plain) && !by.contains(&w.plain)) {
        return false;
    }
    question.named.iter().all(|named| {
        let word = &question.words[named.start];
        if is_first_person(&word.plain) {
            return message.speaker.is_none() || entities.iter().any(|e| e.is_viewer && message.speaker.as_deref() == Some(&e.name));
        }
        question.words[named.start..named.end].iter().any(|w| said.contains(&w.plain) || by.contains(&w.plain))
    })
}

/// Share of the terms that the message has, 0 to 1. Names count half: they say about whom, not what.
fn covers(terms: &[Term], message: &Message, embedder: &LocalEmbedder) -> f32 {
    let text = words(message.text.as_str());
    let stems: HashSet<&str> = text.iter().map(|w| w.stem.as_str()).collect();
    let speaker: HashSet<String> = message.speaker.iter().flat_map(|s| words(s)).map(|w| w.stem).collect();
    let vectors: Vec<Vec<f32>> = text.iter().filter(|w| !is_function(w)).take(200).map(|w| embedder.vector(&w.plain).0).collect();
    let (mut have, mut all, mut about) = (0.0, 0.0, false);
    let only_names = terms.iter().all(|t| t.is_name);
    for term in terms {
        let weight = if term.is_name { 0.5 } else { 1.0 };
        all += weight;
        let nearest = || vectors.iter().map(|v| v.iter().zip(&term.vector).map(|(a, b)| a * b).sum::<f32>()).fold(0.0, f32::max);
        let share = if stems.contains(term.stem.as_str()) || (term.is_name && speaker.contains(&term.stem)) {
            1.0
        } else if term.is_name || term.plain.chars().any(char::is_numeric) {
            // One name or number never stands for another.
            0.0
        } else {
            Some(nearest()).filter(|n| *n >= ALIKE).unwrap_or(0.0)
        };
        have += weight * share;
        about |= share > 0.0 && (only_names || !term.is_name);
    }
    if about { have / all } else { 0.0 }
}

/// The sentence with most of the terms, and its neighbours while they fit.
fn excerpt(text: &str, terms: &[Term], named: &[&str]) -> String {
    let sentences: Vec<&str> = text.unicode_sentences().collect();
    let score = |s: &str| words(s).iter().filter(|w| terms.iter().any(|t| t.stem == w.stem) || named.contains(&w.plain.as_str())).count();
    let Some((best, _)) = sentences.iter().enumerate().max_by_key(|(i, s)| (score(s), std::cmp::Reverse(*i))) else { return String::new() };
    if text.chars().count() <= EXCERPT {
        return text.trim().to_owned();
    }
    let sentence = sentences[best].trim();
    if sentence.chars().count() <= EXCERPT {
        return sentence.to_owned();
    }
    let mut cut = String::new();
    for word in sentence.split_inclusive(char::is_whitespace) {
        if cut.chars().count() + word.chars().count() > EXCERPT {
            break;
        }
        cut.push_str(word);
    }
    if cut.is_empty() {
        // One word longer than an excerpt.
        cut = sentence.chars().take(EXCERPT).collect();
    }
    format!("{}…", cut.trim_end())
}

/// Whether the facts found leave the question to be answered in someone's words.
pub(super) fn are_wanted(question: &Question, facts_found: bool) -> bool {
    !facts_found || question.asks == Asks::Reason
}
