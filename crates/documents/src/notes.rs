//! Recognises the raised numbers of footnotes, which are no part of the sentence.

/// Fewest letters of a word with a note. Shorter ones are units and symbols, whose numbers are exponents.
const NOTED_LETTERS: usize = 4;

/// Lengths whose raised 2 or 3 is an exponent behind a number: "20 metres²". Shorter names are no notes anyway.
const LENGTHS: [&str; 6] = ["metre", "meter", "mile", "foot", "inch", "yard"];
const PREFIXES: [&str; 4] = ["kilo", "centi", "milli", "deci"];

/// Letters for ™, which is raised already, and endings of ordinal numbers, which belong to them.
const TRADE_MARKS: [(&str, &str); 3] = [("TM", "™"), ("SM", "℠"), ("R", "®")];
const ORDINALS: [&str; 4] = ["st", "nd", "rd", "th"];

/// Returns what to write for a raised text behind another one, so that they do not read as one word or number: nothing for the mark of a note, "²" for an
/// exponent. A raised link within the page is a note.
pub(crate) fn raised(before: &str, text: &str, is_link: bool) -> String {
    let mark = text.trim();
    let bare = mark.trim_matches(['[', ']', '(', ')']);
    let may_be_note = is_note_number(bare) || bare.chars().count() == 1;
    let is_power = matches!(mark, "2" | "3") && ends_with_unit(before);
    if is_link && may_be_note || is_note_number(bare) && (ends_before_note(before) && !is_power || bare.len() < mark.len()) {
        return String::new();
    }
    if let Some((_, sign)) = TRADE_MARKS.iter().find(|(letters, _)| *letters == mark) {
        return (*sign).to_owned();
    }
    if let Some(exponent) = mark.chars().map(exponent).collect::<Option<String>>() {
        return exponent;
    }
    let joins = before.ends_with(char::is_alphanumeric) && text.starts_with(char::is_alphanumeric);
    let is_ordinal = before.ends_with(|c: char| c.is_ascii_digit()) && ORDINALS.contains(&mark);
    if joins && !is_ordinal { format!("^{text}") } else { text.to_owned() }
}

/// Returns the character of a raised digit or sign.
fn exponent(c: char) -> Option<char> {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match c {
        '-' | '−' => Some('⁻'),
        c => RAISED.get(usize::try_from(c.to_digit(10)?).ok()?).copied(),
    }
}

/// Whether a text ends with a unit of length behind a number, or behind "per" or a slash.
fn ends_with_unit(text: &str) -> bool {
    let before = text.trim_end_matches(char::is_alphabetic);
    let unit = text[before.len()..].to_lowercase();
    let number = before.trim_end().rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_measured = number == "per" || before.ends_with('/') || number.ends_with(|c: char| c.is_ascii_digit());
    let bare = PREFIXES.iter().find_map(|prefix| unit.strip_prefix(prefix)).unwrap_or(&unit);
    let is_length = |name: &&str| bare.strip_prefix(*name).is_some_and(|ending| matches!(ending, "" | "s" | "es"));
    is_measured && (bare == "feet" || LENGTHS.iter().any(is_length))
}

/// Whether a raised text may be the number of a note.
pub(crate) fn is_note_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '*' | '†' | '‡'))
}

/// Whether a note may follow a text: it ends with a long word or a sentence.
pub(crate) fn ends_before_note(text: &str) -> bool {
    let text = text.trim_end();
    let bare = text.trim_end_matches(['.', ',', ';', ':', '”', '"', '’', '»', '?', '!']);
    let letters = bare.chars().rev().take_while(|c| c.is_alphabetic()).count();
    letters >= NOTED_LETTERS || (letters > 0 && bare.len() < text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_follow_words_and_sentences() {
        for text in ["Maria Castellanos", "the default location.", "as she “said”,"] {
            assert!(ends_before_note(text), "{text}");
        }
        for text in ["", "an area of 20 m", "Ca", "10", "a length of 3.", "(x + 1)"] {
            assert!(!ends_before_note(text), "{text}");
        }
        for (before, text, expected) in [
            ("for all tenants", "1", ""),
            ("it ends.", " 2,3 ", ""),
            ("after 30", "[4]", ""),
            ("30", "1", "¹"),
            ("10", "−6", "⁻⁶"),
            ("20 m", "2", "²"),
            ("the 1", "st", "st"),
            ("Brand", "TM", "™"),
            ("x", "n", "^n"),
            ("20 metres", "2", "²"),
            ("€5 per Yard", "3", "³"),
            ("€5/metre", "2", "²"),
            ("20 metres", "4", ""),
            ("the last metre", "2", ""),
            ("20 tenants", "2", ""),
            ("a word", " see note", " see note"),
        ] {
            assert_eq!(raised(before, text, false), expected, "{before} {text}");
        }
        assert!(raised("30", "1", true).is_empty() && raised("30", "a", true).is_empty());
        assert_eq!(raised("see", "here", true), "^here");
        assert!(is_note_number("16") && is_note_number("1,2") && !is_note_number("th") && !is_note_number(""));
    }
}
