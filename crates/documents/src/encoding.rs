//! Decodes text: UTF-8, UTF-16 and Windows-1252.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use unicode_normalization::{UnicodeNormalization, is_nfc_quick};

/// Bytes that are looked at to recognise UTF-16 without a byte order mark.
const SAMPLE: usize = 4096;

/// Decodes text. Returns nothing for binary data.
///
/// `declared` is the encoding that the file states. A byte order mark overrides it, and so does text that is UTF-8.
pub(crate) fn decode(bytes: &[u8], declared: Option<&'static Encoding>) -> Option<String> {
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None => match utf16_without_mark(bytes) {
            Some(encoding) => encoding,
            None if bytes.contains(&0) => return None,
            None if std::str::from_utf8(bytes).is_ok() => UTF_8,
            None => declared.filter(|e| *e != UTF_8).unwrap_or(WINDOWS_1252),
        },
    };
    let (text, _, _) = encoding.decode(bytes);
    let controls =
        text.chars().take(SAMPLE).filter(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c' | '\x08' | '\x1b')).count();
    // One in a hundred: text of old programs has a few control characters, binary data has many.
    (controls * 100 <= text.chars().take(SAMPLE).count()).then(|| text.into_owned())
}

/// Recognises UTF-16 by the zero in every other byte of Latin text.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    if sample.len() < 8 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let zeros = |offset: usize| sample.iter().skip(offset).step_by(2).filter(|b| **b == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), sample.len() / 2);
    match (even * 10 >= half * 7, odd * 10 >= half * 7) {
        (true, false) if odd == 0 => Some(UTF_16BE),
        (false, true) if even == 0 => Some(UTF_16LE),
        _ => None,
    }
}

/// Cleans a text: composed characters, ordinary spaces, `\n` as the only line break, and no control characters.
pub(crate) fn clean(text: &str) -> String {
    let plain = text.chars().filter_map(|c| match c {
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => Some(' '),
        '\u{2028}' | '\u{2029}' => Some('\n'),
        // Soft hyphens, zero-width spaces, byte order marks, and marks of the writing direction.
        '\u{ad}' | '\u{200b}' | '\u{feff}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => None,
        '\t' | '\n' => Some(c),
        c if c.is_control() => None,
        c => Some(c),
    });
    let plain: String = plain.collect();
    match is_nfc_quick(plain.chars()) {
        unicode_normalization::IsNormalized::Yes => plain,
        _ => plain.nfc().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_of_text_are_recognised() {
        let utf16: Vec<u8> = "Grüße, Zoë".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16_be: Vec<u8> = "Grüße, Zoë".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode("Grüße, Zoë".as_bytes(), None).unwrap(), "Grüße, Zoë");
        assert_eq!(decode(b"Gr\xfc\xdfe, Zo\xeb \x96 5\x80", None).unwrap(), "Grüße, Zoë – 5€");
        assert_eq!(decode(&utf16, None).unwrap(), "Grüße, Zoë");
        assert_eq!(decode(&utf16_be, None).unwrap(), "Grüße, Zoë");
        assert_eq!(decode(&[&b"\xff\xfe"[..], &utf16].concat(), None).unwrap(), "Grüße, Zoë");
        assert_eq!(decode(b"\xef\xbb\xbfabc", None).unwrap(), "abc");
        assert_eq!(decode(b"\xe4\xc1", Some(encoding_rs::KOI8_R)).unwrap(), "Да");
    }

    #[test]
    fn binary_data_is_no_text() {
        assert_eq!(decode(b"\x00\x01\x02\x03abc", None), None);
        assert_eq!(decode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None), None);
        assert_eq!(decode(&(1..=31).cycle().take(500).collect::<Vec<u8>>(), None), None);
    }

    #[test]
    fn cleaned_text_is_composed_and_has_plain_spaces() {
        assert_eq!(clean("Zoe\u{308}\u{a0}x\u{ad}y\u{200b}\u{7}z\u{2028}"), "Zoë xyz\n");
    }
}
