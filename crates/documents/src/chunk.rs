//! Splits the text of a section into chunks along paragraphs, lines, sentences and words.

use std::ops::Range;

use recall_ports::Chunking;
use unicode_segmentation::UnicodeSegmentation;

/// A place where a text may be split: before the white space at `byte`, which is the character `char`.
#[derive(Clone, Copy, Debug)]
struct Break {
    byte: usize,
    char: usize,
    strength: Strength,
}

/// What ends at a break. Later ones are better places to split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Sentence,
    Line,
    Paragraph,
}

/// Splits a text into chunks of at most `size` characters. Returns their bytes, without white space at either end.
///
/// A chunk ends at the strongest break in its second half, and there at the last one. The next chunk begins up to `overlap` characters
/// before that, at a sentence or a word. Every character but white space is in a chunk.
pub(crate) fn split(text: &str, chunking: Chunking) -> Vec<Range<usize>> {
    let size = chunking.size.max(1);
    // More would make the number of chunks grow without bound.
    let overlap = chunking.overlap.min(size / 2);
    let breaks = breaks(text);
    let (mut chunks, mut next_break) = (Vec::new(), 0);
    let (mut start, mut start_char) = (0, 0);
    let mut covered = 0;
    loop {
        let content = text[start..].trim_start();
        let skipped = text.len() - start - content.len();
        start_char += text[start..start + skipped].chars().count();
        start += skipped;
        let (window, window_chars) = advance(&text[start..], size);
        let window_end = start + window;
        if window_end == text.len() {
            push(&mut chunks, text, start..window_end);
            return chunks;
        }
        // A chunk must contain more than the end of the one before.
        let earliest = (start_char + size / 2).max(covered);
        while breaks.get(next_break).is_some_and(|b| b.char <= earliest) {
            next_break += 1;
        }
        let inside = breaks[next_break..].iter().take_while(|b| b.char <= start_char + window_chars);
        let (end, end_char) = match inside.max_by_key(|b| b.strength) {
            Some(b) => (b.byte, b.char),
            None => word_end(text, (start, start_char), earliest, window_end).unwrap_or((window_end, start_char + window_chars)),
        };
        push(&mut chunks, text, start..end);
        covered = end_char;
        (start, start_char) = overlap_start(text, &breaks, (end, end_char), overlap);
    }
}

fn push(chunks: &mut Vec<Range<usize>>, text: &str, range: Range<usize>) {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    let end = range.start + piece.trim_end().len();
    // White space after the chunk before adds nothing.
    if start < end && chunks.last().is_none_or(|last| last.end < end) {
        chunks.push(start..end);
    }
}

/// The bytes and the number of the first characters of a text, at most `chars`.
fn advance(text: &str, chars: usize) -> (usize, usize) {
    match text.char_indices().nth(chars) {
        Some((byte, _)) => (byte, chars),
        None => (text.len(), text.chars().count()),
    }
}

/// The end of the last word that ends after the character `earliest` and at most at the byte `limit`.
fn word_end(text: &str, (start, start_char): (usize, usize), earliest: usize, limit: usize) -> Option<(usize, usize)> {
    // The character at the limit tells whether a word ends there.
    let places = text[start..].char_indices().take_while(|(byte, _)| start + byte <= limit).enumerate();
    let spaces = places.filter(|(n, (_, c))| c.is_whitespace() && start_char + n > earliest);
    spaces.last().map(|(n, (byte, _))| (start + byte, start_char + n))
}

/// Where the chunk after `end` begins: at the first sentence, or else the first word, of the last `overlap` characters before it.
fn overlap_start(text: &str, breaks: &[Break], end: (usize, usize), overlap: usize) -> (usize, usize) {
    let earliest = end.1 - overlap;
    let first = breaks.partition_point(|b| b.char < earliest);
    if let Some(b) = breaks.get(first).filter(|b| b.char < end.1) {
        return (b.byte, b.char);
    }
    let mut place = end;
    let mut back = text[..end.0].char_indices().rev();
    for _ in 0..overlap {
        let Some((byte, c)) = back.next() else { break };
        let before_is_space = text[..byte].chars().next_back().is_none_or(char::is_whitespace);
        if before_is_space && !c.is_whitespace() {
            place = (byte, place_char(end.1, text, byte..end.0));
        }
    }
    if place.0 < end.0 || overlap == 0 {
        return place;
    }
    // A text without spaces is repeated from the middle of a word.
    let bytes: usize = text[..end.0].chars().rev().take(overlap).map(char::len_utf8).sum();
    (end.0 - bytes, earliest)
}

fn place_char(end: usize, text: &str, range: Range<usize>) -> usize {
    end - text[range].chars().count()
}

/// The breaks of a text, in order.
fn breaks(text: &str) -> Vec<Break> {
    let mut breaks: Vec<Break> = Vec::new();
    let mut char = 0;
    // Whether the text since the last break is white space.
    let mut is_blank = false;
    for (byte, sentence) in text.split_sentence_bound_indices() {
        let content = sentence.trim_end();
        let strength = match sentence[content.len()..].matches('\n').count() {
            0 => Strength::Sentence,
            1 => Strength::Line,
            _ => Strength::Paragraph,
        };
        match breaks.last_mut() {
            // An empty line is a sentence of its own.
            Some(last) if content.is_empty() && is_blank => {
                let both = if last.strength == Strength::Sentence { strength } else { Strength::Paragraph };
                last.strength = if strength == Strength::Sentence { last.strength } else { both };
            }
            _ if strength == Strength::Sentence && (content.is_empty() || ends_with_abbreviation(content)) => is_blank = false,
            _ => {
                breaks.push(Break { byte: byte + content.len(), char: char + content.chars().count(), strength });
                is_blank = true;
            }
        }
        char += sentence.chars().count();
    }
    breaks
}

/// Whether a text ends with the point of an abbreviation rather than of a sentence.
fn ends_with_abbreviation(text: &str) -> bool {
    const ABBREVIATIONS: [&str; 20] = [
        "approx", "cf", "chap", "dr", "e.g", "ed", "eq", "fig", "i.e", "inc", "mr", "mrs", "ms", "no", "pp", "prof", "sec", "st", "vol",
        "vs",
    ];
    let Some(text) = text.strip_suffix('.') else { return false };
    let word = text.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let mut letters = word.chars();
    // The initial of a name, such as "J. Smith".
    let initial = matches!((letters.next(), letters.next()), (Some(c), None) if c.is_uppercase() && c != 'I');
    initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunks(text: &str, size: usize, overlap: usize) -> Vec<&str> {
        split(text, Chunking { size, overlap }).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn short_text_is_one_chunk() {
        assert_eq!(chunks("  One. Two.\n", 100, 10), ["One. Two."]);
        assert!(chunks(" \n ", 100, 10).is_empty());
    }

    #[test]
    fn paragraph_is_preferred_to_sentence_and_sentence_to_word() {
        let text = "First one here. Second one here.\n\nThird one there. Fourth one there.";
        assert_eq!(chunks(text, 45, 0), ["First one here. Second one here.", "Third one there. Fourth one there."]);
        assert_eq!(chunks("First one here. Second one here. Third.", 24, 0), ["First one here.", "Second one here. Third."]);
        assert_eq!(chunks("one two three four five", 10, 0), ["one two", "three four", "five"]);
    }

    #[test]
    fn next_chunk_repeats_whole_sentences_or_words() {
        let text = "Alpha beta gamma delta. Short one. Epsilon zeta eta theta iota kappa.";
        assert_eq!(
            chunks(text, 40, 12),
            ["Alpha beta gamma delta. Short one.", "Short one. Epsilon zeta eta theta iota", "theta iota kappa."]
        );
        assert_eq!(chunks("abcdefghij", 4, 1), ["abcd", "defg", "ghij"]);
    }

    #[test]
    fn abbreviation_ends_no_sentence() {
        let text = "This was said by Dr. Miller in Berlin. It is true.";
        assert_eq!(chunks(text, 45, 0), ["This was said by Dr. Miller in Berlin.", "It is true."]);
    }

    proptest! {
        #[test]
        fn every_character_is_in_a_chunk_of_bounded_size(
            text in "[a-zA-Zäß漢字🦀. \n\u{301}-]{0,400}",
            size in 1_usize..60,
            overlap in 0_usize..60,
        ) {
            let ranges = split(&text, Chunking { size, overlap });
            let mut covered = 0;
            for range in &ranges {
                prop_assert!(text[range.clone()].chars().count() <= size);
                prop_assert!(text[covered.min(range.start)..range.start].trim().is_empty(), "{covered} {range:?}");
                prop_assert!(range.end > covered, "a chunk adds nothing");
                covered = range.end;
            }
            prop_assert!(text[covered..].trim().is_empty());
            prop_assert!(ranges.windows(2).all(|two| two[0].start < two[1].start));
        }
    }
}
