//! What the evidence of a fact says beyond its sides and relation.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    cues::CueMatch,
    excerpts::without_quotations,
    lexicon::is_answered_by,
    words::{Word, words},
};
use recall_domain::{
    MessageId, Stance,
    context::{RankedFact, RankedMessage},
};

/// Whether a message is evidence of a fact.
pub(super) fn is_told_by(f: &RankedFact, message: MessageId) -> bool {
    f.evidence.iter().any(|e| e.message == message)
}

/// Whether names, descriptions and the sentences that tell the fact have the other content words, and the words that narrow the cue.
///
/// Of a message that was not found with the question, only the excerpt is known. What a message quotes of others is no evidence.
pub(super) fn covers_words(f: &RankedFact, ranked: &[RankedMessage], rest: &[&Word], cue: &CueMatch) -> bool {
    if rest.is_empty() && cue.manner.is_empty() {
        return true;
    }
    let names = [f.subject.name.as_str(), &f.object.name].into_iter();
    let excerpts = f.evidence.iter().map(|e| e.excerpt.as_str());
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let told = |m: &RankedMessage| f.evidence.iter().find(|e| e.message == m.message.id).map(|e| e.excerpt.as_str());
    let spoken = ranked.iter().filter_map(|m| Some((told(m)?, without_quotations(m.message.text.as_str()))));
    let sentences = spoken.flat_map(|(excerpt, text)| sentences_with(excerpt, &text));
    let known = names.chain(excerpts).chain(described).flat_map(words);
    let known: Vec<Word> = known.chain(sentences.flat_map(|s| words(&s))).collect();
    rest.iter().all(|w| known.iter().any(|k| k.stem == w.stem || is_answered_by(&w.plain, &k.plain)))
        && cue.manner.iter().all(|stem| known.iter().any(|k| k.stem == *stem))
}

/// Returns the sentences of a text that contain an excerpt.
fn sentences_with(excerpt: &str, text: &str) -> Vec<String> {
    text.unicode_sentences().filter(|s| s.contains(excerpt.trim()) && !excerpt.trim().is_empty()).map(str::to_owned).collect()
}

/// Whether evidence, names or descriptions contain the word, a word with this stem, or a narrower word.
pub(super) fn evidence_has_word(f: &RankedFact, word: &str, stem: &str) -> bool {
    let excerpts = f.evidence.iter().filter(|e| e.stance != Stance::Opposes).map(|e| e.excerpt.as_str());
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let names = [f.subject.name.as_str(), f.object.name.as_str()];
    excerpts.chain(described).chain(names).any(|text| words(text).iter().any(|w| w.stem == stem || is_answered_by(word, &w.plain)))
}
