//! Prepares texts for tests of single steps.

use crate::{
    chunker::chunk,
    normalise::clean,
    phrases::{NounPhrase, Phrases},
    sentences,
    tags::{self, ExtraVerb},
    tokens::{Pos, Token, tokenise},
};

/// Returns the tagged tokens of the first sentence of a text.
pub(crate) fn tagged(text: &str) -> Vec<Token> {
    tagged_with(text, &|_| false)
}

/// Returns the tagged tokens of the first sentence of a text, with further verbs.
pub(crate) fn tagged_with(text: &str, extra: ExtraVerb<'_>) -> Vec<Token> {
    let mut sentence = sentences::split(tokenise(&clean(text))).swap_remove(0);
    tags::tag(&mut sentence, extra);
    sentence.tokens
}

/// Returns words with the given tags.
pub(crate) fn tagged_as(words: &[(&str, Pos)]) -> Vec<Token> {
    let text: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let mut tokens = tokenise(&clean(&text.join(" ")));
    for (token, (_, pos)) in tokens.iter_mut().zip(words) {
        token.pos = *pos;
    }
    tokens
}

/// Returns the last noun phrase of a text with its tokens.
pub(crate) fn last_noun_phrase(text: &str) -> (Vec<Token>, NounPhrase) {
    let tokens = tagged(text);
    let Phrases { nouns, .. } = chunk(&tokens);
    let last = nouns.last().cloned().unwrap();
    (tokens, last)
}
