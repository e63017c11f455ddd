//! Splits a correction or a reply into plain words, which need no tags.

use std::ops::Range;

/// A word without the marks around it.
#[derive(Clone, Debug)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) norm: String,
    /// The first byte, and one past the last.
    pub(crate) range: Range<usize>,
    /// A mark follows.
    pub(crate) closes: bool,
}

/// Returns the places where words stand in a text.
pub(crate) fn places_of(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let (text_words, wanted) = (words(text), words(wanted));
    let is_same = |part: &[Word<'_>]| part.iter().zip(&wanted).all(|(a, b)| a.norm == b.norm);
    let found = text_words.windows(wanted.len().max(1)).filter(|part| is_same(part));
    found.map(|part| part[0].range.start..part[part.len() - 1].range.end).collect()
}

/// Returns the part of the text from the first of some words to the last.
pub(crate) fn joined<'t>(text: &'t str, words: &[Word<'_>]) -> &'t str {
    match words {
        [first, .., last] => text.get(first.range.start..last.range.end).unwrap_or_default(),
        [one] => text.get(one.range.clone()).unwrap_or_default(),
        [] => "",
    }
}

/// Splits a text into words.
pub(crate) fn words(text: &str) -> Vec<Word<'_>> {
    let is_mark = |c: char| !(c.is_alphanumeric() || matches!(c, '€' | '$' | '£' | '¥' | '#' | '+' | '%' | '@' | '/'));
    let mut found = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive(char::is_whitespace) {
        let bare = part.trim_end();
        let lead = bare.len() - bare.trim_start_matches(is_mark).len();
        let word = bare.trim_matches(is_mark);
        if word.is_empty() {
            if let Some(last) = found.last_mut().filter(|_| !bare.is_empty()) {
                let last: &mut Word<'_> = last;
                last.closes = true;
            }
        } else {
            let range = start + lead..start + lead + word.len();
            let norm = word.to_lowercase().replace('’', "'");
            found.push(Word { text: word, norm, closes: lead + word.len() < bare.len(), range });
        }
        start += part.len();
    }
    found
}

/// Whether words begin with a phrase.
pub(crate) fn begin_with(words: &[Word<'_>], phrase: &str) -> bool {
    phrase.split(' ').count() <= words.len() && phrase.split(' ').zip(words).all(|(p, w)| p == w.norm)
}

/// Returns the words before a phrase that ends them.
pub(crate) fn before_end<'w, 't>(words: &'w [Word<'t>], phrase: &str) -> Option<&'w [Word<'t>]> {
    let start = words.len().checked_sub(phrase.split(' ').count())?;
    begin_with(&words[start..], phrase).then(|| &words[..start])
}
