//! Splits a passage into sentences, and reads what each of them says.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

use super::values::{self, Value};
use recall_embedding::LocalEmbedder;
use recall_text::terms;

/// Words that deny a sentence.
const NEGATIONS: [&str; 9] = ["not", "no", "never", "none", "nobody", "cannot", "without", "neither", "nor"];
/// Fewest content words of a sentence that is compared. Shorter ones are headings, page numbers or fragments.
const LEAST_TERMS: usize = 3;

/// A sentence, as far as it is compared.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// The text, with single spaces.
    pub(super) text: String,
    /// The terms, except those of values, names and negations.
    pub(super) terms: BTreeSet<String>,
    /// Quantities, dates and versions.
    pub(super) values: Vec<Value>,
    /// Capitalised words that do not begin the sentence, in lower case.
    pub(super) names: BTreeSet<String>,
    /// Words in lower case, for opposites.
    pub(super) words: BTreeSet<String>,
    /// Whether it is denied: it has an odd number of negations.
    pub(super) is_negated: bool,
    vector: Vec<f32>,
}

/// Splits a passage at line breaks and ends of sentences.
pub(super) fn split(passage: &str) -> impl Iterator<Item = &str> {
    let is_marker = |c: char| !c.is_alphanumeric() && !matches!(c, '“' | '"' | '(' | '€' | '$' | '£');
    let sentences = passage.split('\n').flat_map(UnicodeSegmentation::unicode_sentences);
    sentences.map(move |sentence| sentence.trim().trim_start_matches(is_marker).trim_start()).filter(|sentence| !sentence.is_empty())
}

impl Sentence {
    pub(super) fn read(text: &str, embedder: &LocalEmbedder) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (values, used) = values::find(&text);
        let words: Vec<&str> = text.unicode_words().collect();
        let is_negation = |word: &str| NEGATIONS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t");
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let negations = lower.iter().filter(|word| is_negation(word)).count();
        let capitalised = words.iter().enumerate().skip(1).filter(|(_, word)| word.starts_with(char::is_uppercase));
        let names: BTreeSet<String> = capitalised.filter_map(|(i, _)| lower.get(i)).filter(|word| !used.contains(*word)).cloned().collect();
        let content = |word: &&String| !used.contains(*word) && !names.contains(*word) && !is_negation(word);
        let plain = lower.iter().filter(content).map(String::as_str).collect::<Vec<_>>().join(" ");
        let terms = terms(&plain).into_iter().map(|(term, _)| term).collect();
        let vector = embedder.vector(&plain).0;
        Self { terms, values, names, words: lower.into_iter().collect(), is_negated: negations % 2 == 1, vector, text }
    }

    /// Whether it has enough words to be compared.
    pub(super) fn says_something(&self) -> bool {
        self.terms.len() + self.values.len() + self.names.len() >= LEAST_TERMS && !self.text.ends_with('?')
    }

    /// How much of the other's meaning it shares, from 0 to 1: common terms (Dice) and similarity of the vectors. Values, names and
    /// negations do not count, so that sentences that contradict each other are similar.
    pub(super) fn similarity(&self, other: &Self) -> f32 {
        let common = self.terms.intersection(&other.terms).count();
        let all = self.terms.len() + other.terms.len();
        let dice = if all == 0 { 0.0 } else { 2.0 * common as f32 / all as f32 };
        0.6 * dice + 0.4 * self.cosine(other)
    }

    /// How much it concerns a question, from 0 to 1: the share of the question's words that it has, or the similarity of meaning.
    pub(super) fn relevance(&self, question: &Self) -> f32 {
        let wanted: BTreeSet<&String> = question.terms.iter().chain(&question.names).collect();
        let named = wanted.iter().filter(|term| self.terms.contains(**term) || self.names.contains(**term)).count();
        let share = if wanted.is_empty() { 0.0 } else { named as f32 / wanted.len() as f32 };
        share.max(self.cosine(question))
    }

    fn cosine(&self, other: &Self) -> f32 {
        self.vector.iter().zip(&other.vector).map(|(a, b)| a * b).sum::<f32>().clamp(0.0, 1.0)
    }
}
