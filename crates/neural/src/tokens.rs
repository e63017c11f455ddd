//! Splits a text into the word pieces that the network reads.

use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use recall_domain::Span;

use crate::vocabulary::Vocabulary;

/// Most tokens that are read. The rest of a longer text is left to the rules.
pub const MAX_TOKENS: usize = 128;

/// The piece in front of every text, which stands for the speaker and for the message.
pub(crate) const START: &str = "[CLS]";
/// The piece behind every text that an encoder reads.
pub(crate) const END: &str = "[SEP]";
/// The piece of an unknown word.
pub(crate) const UNKNOWN: &str = "[UNK]";

/// One word piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number in the vocabulary.
    pub id: u32,
    /// Its word in the text, in code points. Empty for the first token.
    pub span: Span,
    /// Whether it begins a word.
    pub begins: bool,
    /// Whether the vocabulary has its word.
    pub known: bool,
    /// How the word is written.
    pub case: Case,
    /// Whether the word begins a sentence.
    pub opens: bool,
}

/// How a word is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Without capitals at its start.
    Lower,
    /// With a capital at its start.
    Capital,
    /// Two or more letters, all of them capitals.
    Upper,
}

/// Splits a text into at most [`MAX_TOKENS`] tokens. The first token is the speaker.
pub fn tokenise(text: &str, vocabulary: &Vocabulary) -> Vec<Token> {
    let id = |piece| vocabulary.find(piece).unwrap_or_default();
    let start = Token { id: id(START), span: Span { start: 0, end: 0 }, begins: true, known: true, case: Case::Lower, opens: true };
    let unknown = id(UNKNOWN);
    let mut tokens = vec![start];
    let (mut pieces, mut folded) = (Vec::new(), String::new());
    let mut opens = true;
    for (word, span) in Words::new(text) {
        pieces.clear();
        fold(word, &mut folded);
        let known = vocabulary.split(&folded, &mut pieces);
        if !known {
            pieces.push(unknown);
        }
        for (i, &id) in pieces.iter().enumerate() {
            if tokens.len() == MAX_TOKENS {
                return tokens;
            }
            tokens.push(Token { id, span, begins: i == 0, known, case: case_of(word), opens });
        }
        let is_mark = !word.starts_with(char::is_alphanumeric);
        opens = matches!(word, "." | "!" | "?" | "\u{2026}" | "\n") || (opens && is_mark);
    }
    tokens
}

/// A text as word pieces.
#[derive(Debug, Default)]
pub(crate) struct Pieces<'a> {
    /// The numbers of the pieces.
    pub(crate) ids: Vec<u32>,
    /// The words, each with its pieces. Marks are words too.
    pub(crate) words: Vec<(&'a str, Range<usize>)>,
}

/// Splits a text into at most `most` word pieces. Line breaks count as spaces.
pub(crate) fn pieces<'a>(text: &'a str, vocabulary: &Vocabulary, most: usize) -> Pieces<'a> {
    let unknown = vocabulary.find(UNKNOWN).unwrap_or_default();
    let (mut pieces, mut folded) = (Pieces::default(), String::new());
    for (word, _) in Words::new(text).filter(|(word, _)| *word != "\n") {
        let first = pieces.ids.len();
        fold(word, &mut folded);
        if !vocabulary.split(&folded, &mut pieces.ids) {
            pieces.ids.push(unknown);
        }
        pieces.ids.truncate(most);
        if pieces.ids.len() > first {
            pieces.words.push((word, first..pieces.ids.len()));
        }
        if pieces.ids.len() >= most {
            break;
        }
    }
    pieces
}

/// Writes a word without accents and capitals to `folded`.
fn fold(word: &str, folded: &mut String) {
    folded.clear();
    folded.extend(word.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase));
}

fn case_of(word: &str) -> Case {
    if !word.starts_with(char::is_uppercase) {
        return Case::Lower;
    }
    if word.chars().nth(1).is_some() && word.chars().all(|c| !c.is_lowercase()) { Case::Upper } else { Case::Capital }
}

/// Words and single marks of a text with their spans in code points. A line break is a word of its own.
struct Words<'a> {
    rest: &'a str,
    at: u32,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, at: 0 }
    }

    fn take(&mut self, bytes: usize, points: u32) -> (&'a str, Span) {
        let (word, rest) = self.rest.split_at(bytes);
        let span = Span { start: self.at, end: self.at + points };
        self.rest = rest;
        self.at += points;
        (word, span)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = (&'a str, Span);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let first = self.rest.chars().next()?;
            if first != '\n' && (first.is_whitespace() || first.is_control()) {
                self.take(first.len_utf8(), 1);
                continue;
            }
            if !is_inner(first) {
                return Some(self.take(first.len_utf8(), 1));
            }
            let (mut bytes, mut points) = (0, 0);
            for c in self.rest.chars().take_while(|c| is_inner(*c)) {
                bytes += c.len_utf8();
                points += 1;
            }
            return Some(self.take(bytes, points));
        }
    }
}

/// Whether a character is part of a word. Scripts without spaces have one word per character.
fn is_inner(c: char) -> bool {
    let alone = matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{20000}'..='\u{3FFFF}');
    (c.is_alphanumeric() && !alone) || is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECES: &str = "!\n##a\n##wing\n'\nO\n[CLS]\n[UNK]\nann\ndra\no\n";

    fn pieces(text: &str) -> Vec<(u32, u32, u32, bool)> {
        tokenise(text, &Vocabulary::new(PIECES)).into_iter().skip(1).map(|t| (t.id, t.span.start, t.span.end, t.begins)).collect()
    }

    #[test]
    fn words_become_pieces_with_the_span_of_the_word() {
        assert_eq!(pieces("  Anna\u{301}!"), [(7, 2, 7, true), (1, 2, 7, false), (0, 7, 8, true)]);
        assert_eq!(pieces("DRAWING"), [(8, 0, 7, true), (2, 0, 7, false)]);
        assert_eq!(pieces("Ann zebra O'"), [(7, 0, 3, true), (6, 4, 9, true), (9, 10, 11, true), (3, 11, 12, true)]);
        assert!(pieces(" \u{0}\t ").is_empty());
    }

    #[test]
    fn case_and_starts_of_sentences_are_noted() {
        let tokens = tokenise("Ann drawing! ANN \"Ann", &Vocabulary::new(PIECES));
        let found: Vec<_> = tokens.iter().skip(1).filter(|t| t.begins).map(|t| (t.case, t.opens)).collect();
        let expected = [
            (Case::Capital, true),
            (Case::Lower, false),
            (Case::Lower, false),
            (Case::Upper, true),
            (Case::Lower, false),
            (Case::Capital, false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn long_and_strange_texts_are_cut() {
        let vocabulary = Vocabulary::new(PIECES);
        for text in ["ann ".repeat(1000), "a".repeat(100_000), "日本語のテキスト".repeat(100), "👩‍👩‍👧".repeat(300), "\n".repeat(500)]
        {
            let tokens = tokenise(&text, &vocabulary);
            let points = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
            assert!(tokens.len() <= MAX_TOKENS && tokens.iter().all(|t| t.span.end <= points && t.span.start <= t.span.end));
        }
    }
}
