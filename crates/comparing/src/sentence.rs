//! Splits a passage into sentences, and reads what each of them says.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    stance::{self, Cue, Side},
    synonyms,
    values::{self, Value},
};
use recall_embedding::LocalEmbedder;
use recall_text::is_stop_word;

/// Fewest content words of a sentence that is compared. Shorter ones are headings, page numbers or fragments.
const LEAST_TERMS: usize = 3;
/// Fewest content words of a row, and of a sentence with a verb or with words that demand, permit, forbid, deny or measure something, those
/// words included.
const LEAST_OF_CLAIM: usize = 2;

/// A sentence, as far as it is compared.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// The text, with single spaces.
    pub(super) text: String,
    /// The terms, except those of values, names, negations, cues and sides.
    pub(super) terms: BTreeSet<String>,
    /// Those of the subject: the words before the first verb.
    pub(super) subject: BTreeSet<String>,
    /// Quantities, dates and versions.
    pub(super) values: Vec<Value>,
    /// Capitalised words that do not begin the sentence, in lower case.
    pub(super) names: BTreeSet<String>,
    /// All words in lower case, in their order.
    pub(super) words: Vec<String>,
    /// What it demands, permits or forbids.
    pub(super) cues: Vec<Cue>,
    /// Words that exclude others.
    pub(super) sides: Vec<Side>,
    /// Whether it is denied: it has an odd number of negations.
    pub(super) is_negated: bool,
    /// The exception that it makes, as it is written.
    pub(super) exception: Option<String>,
    /// The terms of the exception, which are not among those of the sentence.
    pub(super) excepted: BTreeSet<String>,
    /// The label and the values of a row or a line such as "Colour: black"; empty for a sentence.
    pub(super) cells: Vec<String>,
    has_verb: bool,
    vector: Vec<f32>,
}

/// Splits a passage at line breaks and ends of sentences.
pub(super) fn split(passage: &str) -> impl Iterator<Item = &str> {
    let is_marker = |c: char| !c.is_alphanumeric() && !matches!(c, '“' | '"' | '(' | '€' | '$' | '£');
    let sentences = passage.split('\n').flat_map(UnicodeSegmentation::unicode_sentences).flat_map(|sentence| sentence.split("; "));
    sentences.map(move |sentence| sentence.trim().trim_start_matches(is_marker).trim_start()).filter(|sentence| !sentence.is_empty())
}

/// Splits a row of a table, or a line with a label: "Colour | black", "Colour: black".
fn cells(text: &str) -> Vec<String> {
    let row: Vec<String> = text.split('|').map(|cell| cell.trim().to_owned()).collect();
    if row.len() > 1 {
        return row;
    }
    match text.split_once(": ") {
        Some((label, value)) if !value.contains(": ") => vec![label.trim().to_owned(), value.trim().to_owned()],
        _ => Vec::new(),
    }
}

/// Writes the marks of tables as words.
fn spelled(text: &str) -> String {
    let text = text.replace('’', "'");
    text.replace(['✓', '✔', '✅', '☑'], " yes ").replace(['✗', '✘', '❌', '☒'], " no ")
}

/// Verbs behind which "that" begins what is told.
const TELLING: &[&str] = &[
    "inform",
    "informs",
    "informed",
    "confirm",
    "confirms",
    "confirmed",
    "note",
    "notify",
    "notified",
    "remind",
    "say",
    "says",
    "state",
    "states",
    "agree",
    "agreed",
    "announce",
    "announced",
    "tell",
    "told",
];
/// Words between such a verb and "that", at most.
const TOLD: usize = 2;

/// Returns the place of the "that" behind which a sentence tells something: "I inform you that".
fn reported_start(words: &[String]) -> Option<usize> {
    let is_told =
        |at: usize| words.get(at.saturating_sub(TOLD + 1)..at).unwrap_or_default().iter().any(|word| TELLING.contains(&word.as_str()));
    words.iter().enumerate().position(|(at, word)| word == "that" && is_told(at))
}

impl Sentence {
    pub(super) fn read(text: &str, embedder: &LocalEmbedder) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (values, used) = values::find(&text);
        let spelled = spelled(&text);
        let written: Vec<&str> = spelled.unicode_words().collect();
        let words: Vec<String> = written.iter().map(|word| word.to_lowercase()).collect();
        let (cues, sides) = (stance::cues(&words), stance::sides(&words));
        let is_in_value = |at: usize| words.get(at).is_some_and(|word| used.contains(word));
        let negations = (0..words.len()).filter(|at| stance::is_negation(&words, *at) && !is_in_value(*at)).count();
        let is_marked =
            |at: usize| cues.iter().any(|cue| cue.at == at) || sides.iter().any(|side| side.at == at) || stance::is_negation(&words, at);
        let is_free = |at: &usize| words.get(*at).is_some_and(|word| !used.contains(word)) && !is_marked(*at);
        let is_name = |at: &usize| {
            let capital = written.get(*at).is_some_and(|word| word.starts_with(char::is_uppercase));
            *at > 0 && capital && words.get(*at).is_some_and(|word| !is_stop_word(word))
        };
        let free: Vec<usize> = (0..words.len()).filter(is_free).collect();
        let word = |at: usize| words.get(at).cloned().unwrap_or_default();
        let names: BTreeSet<String> = free.iter().copied().filter(is_name).map(word).collect();
        let mut content: Vec<usize> = free.into_iter().filter(|at| !names.contains(&word(*at))).collect();
        let (mut exception, mut excepted) = (None, Vec::new());
        if let Some(begin) = stance::exception_start(&words, &cues).filter(|begin| content.iter().any(|at| at < begin)) {
            let start = spelled.unicode_word_indices().nth(begin).map_or(spelled.len(), |(byte, _)| byte);
            exception = spelled.get(start..).map(|text| text.trim_end_matches(['.', '!', ';']).to_owned());
            (content, excepted) = content.into_iter().partition(|at| *at < begin);
        }
        let reported = reported_start(&words);
        let joined = |before: usize| {
            // "I inform you that the rent": the subject is the rent.
            let from = reported.filter(|from| before < words.len() && from + 1 < before).map_or(0, |from| from + 1);
            let before = content.iter().filter(|at| (from..before).contains(at)).map(|at| word(*at));
            before.filter(|word| !stance::is_anybody(word)).collect::<Vec<_>>().join(" ")
        };
        let plain = joined(usize::MAX);
        let of = synonyms::common_terms;
        let start = stance::predicate_start(&words, &cues);
        let subject = start.map_or_else(BTreeSet::new, |start| of(&joined(start)));
        let excepted = of(&excepted.into_iter().map(word).filter(|word| !stance::begins_exception(word)).collect::<Vec<_>>().join(" "));
        let (terms, vector, is_negated) = (of(&plain), embedder.vector(&plain).0, negations % 2 == 1);
        let cells = cells(&text);
        let has_verb = start.is_some();
        Self { terms, subject, values, names, cues, sides, is_negated, exception, excepted, words, vector, cells, has_verb, text }
    }

    /// Whether it has enough words to be compared.
    pub(super) fn says_something(&self) -> bool {
        let content = self.terms.len() + self.values.len() + self.names.len();
        let marks = usize::from(self.is_negated || !self.cues.is_empty() || !self.sides.is_empty());
        let is_claim = marks + self.values.len() > 0 || self.has_verb || !self.cells.is_empty();
        let is_enough = content >= LEAST_TERMS || (is_claim && content + marks >= LEAST_OF_CLAIM && content > 0);
        let is_question = self.text.ends_with('?') || stance::reports_question(&self.words);
        is_enough && self.terms.len() + self.names.len() > 0 && !is_question
    }

    /// How much of the other's meaning it shares, from 0 to 1: common terms (Dice) and similarity of the vectors. Values, names,
    /// negations, cues and sides do not count, so that sentences that contradict each other are similar.
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

    /// Whether one demands, allows or forbids what the other does not, be it of something else.
    pub(super) fn opposes(&self, other: &Self) -> bool {
        let agree = self.cues.iter().any(|one| other.cues.iter().any(|two| one.stance.agrees(two.stance)));
        !self.cues.is_empty() && !other.cues.is_empty() && !agree
    }

    /// Whether both have a term in common, or none at all: "Ada works at Lumen" says nothing of "Ada lives in Lisbon".
    pub(super) fn shares_terms(&self, other: &Self) -> bool {
        let (own, others) = (self.common_terms(), other.common_terms());
        (own.is_empty() && others.is_empty()) || !own.is_disjoint(&others)
    }

    /// The terms, except a first word before a name, which may belong to it: "Ada" in "Ada Lovelace writes".
    fn common_terms(&self) -> BTreeSet<&String> {
        let may_be_name = self.words.get(1).is_some_and(|second| self.names.contains(second));
        let first = self.words.first().filter(|_| may_be_name).map(|first| synonyms::common_terms(first)).unwrap_or_default();
        self.terms.iter().filter(|term| !first.contains(*term)).collect()
    }

    /// Whether both may have one subject: each names the other's, or has none.
    pub(super) fn has_subject_of(&self, other: &Self) -> bool {
        let names = |a: &Self, b: &Self| {
            let is_named = |term: &String| b.terms.contains(term) || b.names.contains(term);
            a.subject.is_empty() || a.subject.iter().any(is_named)
        };
        names(self, other) && names(other, self)
    }

    /// Whether most of the smaller subject is that of the other, or one of them has none.
    pub(super) fn is_mostly_about(&self, other: &Self) -> bool {
        let common = self.subject.intersection(&other.subject).count();
        let least = self.subject.len().min(other.subject.len());
        let all = self.subject.len().max(other.subject.len());
        least == 0 || (2 * common >= all)
    }

    /// The label of a row or line, to compare it.
    pub(super) fn label(&self) -> Option<String> {
        self.cells.first().filter(|label| !label.is_empty()).map(|label| label.to_lowercase())
    }

    /// The terms apart from the subject.
    pub(super) fn predicate(&self) -> BTreeSet<&String> {
        self.terms.difference(&self.subject).collect()
    }

    fn cosine(&self, other: &Self) -> f32 {
        self.vector.iter().zip(&other.vector).map(|(a, b)| a * b).sum::<f32>().clamp(0.0, 1.0)
    }
}
