//! Text of glyphs: ligatures, accents that are drawn on their own, and scripts that are written from right to left.

use unicode_normalization::UnicodeNormalization;

/// Appends the text of a glyph. `overlaps` tells that it is drawn over the glyph before.
pub(super) fn append(text: &mut String, glyph: &str, overlaps: bool) {
    for c in glyph.chars() {
        let before = text.chars().next_back();
        if let Some(mark) = before.and_then(combining).filter(|_| overlaps && c.is_alphabetic()) {
            // TeX draws an accent, and then the letter.
            text.pop();
            text.extend([plain_i(c), mark].into_iter().nfc());
        } else if let Some(mark) = combining(c).filter(|_| overlaps && before.is_some_and(char::is_alphabetic)) {
            let letter = text.pop().map(plain_i);
            text.extend(letter.into_iter().chain([mark]).nfc());
        } else {
            match c {
                // Ligatures and the shapes that Arabic letters have in words.
                '\u{fb00}'..='\u{fb06}' | '\u{fb13}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => text.extend([c].into_iter().nfkc()),
                '\u{fffd}' | '\u{f000}'..='\u{f0ff}' => {}
                c => text.push(c),
            }
        }
    }
}

/// The combining form of an accent that is drawn as a glyph of its own.
fn combining(c: char) -> Option<char> {
    Some(match c {
        '`' | 'ˋ' => '\u{300}',
        '´' | 'ˊ' => '\u{301}',
        'ˆ' | '^' => '\u{302}',
        '˜' | '~' => '\u{303}',
        '¯' | 'ˉ' => '\u{304}',
        '˘' => '\u{306}',
        '˙' => '\u{307}',
        '¨' => '\u{308}',
        '˚' => '\u{30a}',
        '˝' => '\u{30b}',
        'ˇ' => '\u{30c}',
        '¸' => '\u{327}',
        '˛' => '\u{328}',
        _ => return None,
    })
}

/// Accents stand on an i or j without its dot.
fn plain_i(c: char) -> char {
    match c {
        'ı' => 'i',
        'ȷ' => 'j',
        c => c,
    }
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Whether a text has letters of a script that is written from right to left.
pub(super) fn is_right_to_left_text(text: &str) -> bool {
    text.chars().any(is_right_to_left)
}

/// Glyphs stand from left to right. Turns lines of Hebrew or Arabic into the order in which they are read.
pub(super) fn logical_order(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let right_to_left = text.chars().filter(|c| is_right_to_left(*c)).count();
    if right_to_left * 2 <= letters {
        return text.to_owned();
    }
    // The whole line is reversed, and in it numbers and foreign words once more.
    let mut line = String::with_capacity(text.len());
    let mut foreign = String::new();
    for c in text.chars().rev() {
        if is_right_to_left(c) || (c.is_whitespace() && !foreign.ends_with(|f: char| f.is_ascii_alphabetic())) {
            line.extend(foreign.drain(..).rev());
            line.push(c);
        } else {
            foreign.push(c);
        }
    }
    line.extend(foreign.chars().rev());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ligatures_are_resolved_and_accents_joined() {
        let mut text = String::new();
        append(&mut text, "ﬁ", false);
        append(&mut text, "´", false);
        append(&mut text, "e", true);
        append(&mut text, "o", false);
        append(&mut text, "¨", true);
        append(&mut text, "´", false);
        append(&mut text, "x", false);
        assert_eq!(text, "fiéö´x");
    }

    #[test]
    fn hebrew_is_turned_into_reading_order() {
        assert_eq!(logical_order("2024 םולש"), "שלום 2024");
        assert_eq!(logical_order("plain text"), "plain text");
    }
}
