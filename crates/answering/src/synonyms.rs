//! Asks in the words of the documents: "notice period" for the "cancellation period" of a question.

use std::collections::HashSet;

use super::{
    passages::is_personal,
    question::Question,
    words::{Word, is_first_person, stem, words},
};
use recall_domain::{Role, context::Context};
use recall_text::{phrases_of, sure_concepts};

/// Most words of a question that are read. More are a pasted text.
const MAX_WORDS: usize = 64;

/// Returns a question with words of the found chunks in the place of synonyms that nothing found has; `None` if it has no such words.
///
/// What the user has told is asked for in the user's words, so questions about the user or about names stay as they are.
pub(super) fn replace(text: &str, question: &Question, context: &Context) -> Option<String> {
    let is_named = |word: usize| question.words.get(word).is_some_and(|word| !is_first_person(&word.plain));
    if context.chunks.is_empty() || is_personal(question) || question.named.iter().any(|name| is_named(name.start)) {
        return None;
    }
    let mut asked = words(text);
    asked.truncate(MAX_WORDS);
    let concepts = sure_concepts(asked.iter().map(|word| word.plain.as_str()));
    let mut found: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
    let mut told = None;
    let mut start = 0;
    while start < asked.len() {
        let end = (start + 1..asked.len()).find(|at| concepts[*at] != concepts[start]).unwrap_or(asked.len());
        let phrases = concepts[start].map(phrases_of).unwrap_or_default();
        if phrases.len() > 1 && asked[start..end].iter().all(|word| !word.capital) {
            let told: &Told = told.get_or_insert_with(|| Told::of(context));
            if let Some(phrase) = told.phrase_for(&asked[start..end], phrases) {
                found.push((asked[start].span.0..end_without_possessive(text, &asked[end - 1]), phrase));
            }
        }
        start = end;
    }
    let mut replaced = text.to_owned();
    for (span, phrase) in found.iter().rev() {
        replaced.replace_range(span.clone(), phrase);
    }
    (!found.is_empty()).then_some(replaced)
}

/// Returns where a word ends, without the "'s" of an owner.
fn end_without_possessive(text: &str, word: &Word) -> usize {
    let written = text.get(word.span.0..word.span.1).unwrap_or_default();
    let ending = ["'s", "’s"].iter().find(|ending| written.ends_with(**ending)).map_or(0, |ending| ending.len());
    word.span.1 - ending
}

/// The stems of what was found.
struct Told {
    all: HashSet<String>,
    chunks: Vec<Vec<String>>,
}

impl Told {
    fn of(context: &Context) -> Self {
        let stems = |text: &str| words(text).into_iter().map(|word| word.stem).collect::<Vec<_>>();
        let chunks: Vec<Vec<String>> = context.chunks.iter().map(|found| stems(found.chunk.text.as_str())).collect();
        let messages = context.messages.iter().map(|found| &found.message).filter(|message| message.role == Role::User);
        let all = messages.flat_map(|message| stems(message.text.as_str())).chain(chunks.iter().flatten().cloned()).collect();
        Self { all, chunks }
    }

    /// Returns the phrase of a chunk that means the same as words of a question which are not all told.
    fn phrase_for<'p>(&self, asked: &[Word], phrases: &[&'p str]) -> Option<&'p str> {
        if asked.iter().all(|word| self.all.contains(&word.stem)) {
            return None;
        }
        let is_in_chunk = |phrase: &&&str| {
            let wanted: Vec<String> = phrase.split([' ', '-']).map(stem).collect();
            self.chunks.iter().any(|chunk| chunk.windows(wanted.len()).any(|run| run == wanted))
        };
        phrases.iter().find(is_in_chunk).copied()
    }
}
