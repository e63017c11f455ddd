//! Numbers the items of lists as the document would show them.

use std::collections::HashMap;

use recall_ports::ParseError;

use super::xml::{Token, attribute};

/// Levels of a list.
const LEVELS: usize = 9;

/// How the items of a level are marked.
#[derive(Clone, Debug)]
struct Level {
    format: String,
    /// The text of the mark, such as `%1.%2.`
    text: String,
    start: u32,
}

impl Default for Level {
    fn default() -> Self {
        Self { format: "decimal".to_owned(), text: String::new(), start: 1 }
    }
}

/// The lists of a document and how far each is counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// The kind of a list by the id of the list.
    kinds: HashMap<String, String>,
    /// The levels of each kind of list.
    levels: HashMap<String, Vec<Level>>,
    counters: HashMap<String, [Option<u32>; LEVELS]>,
}

impl Numbering {
    pub(super) fn read(
        part: impl FnOnce(&mut dyn FnMut(Token<'_>) -> Result<(), ParseError>) -> Result<bool, ParseError>,
    ) -> Result<Self, ParseError> {
        let mut numbering = Self::default();
        let (mut kind, mut list, mut level) = (None::<String>, None::<String>, 0_usize);
        part(&mut |token| {
            match token {
                Token::Start("abstractNum", element) => kind = attribute(element, "abstractNumId"),
                Token::Start("num", element) => list = attribute(element, "numId"),
                Token::Start("abstractNumId", element) => {
                    if let (Some(list), Some(kind)) = (&list, attribute(element, "val")) {
                        numbering.kinds.insert(list.clone(), kind);
                    }
                }
                Token::Start("lvl", element) => {
                    level = attribute(element, "ilvl").and_then(|level| level.parse().ok()).unwrap_or(0);
                }
                Token::Start(name @ ("numFmt" | "lvlText" | "start"), element) => {
                    if let (Some(kind), Some(value), true) = (&kind, attribute(element, "val"), level < LEVELS) {
                        let levels = numbering.levels.entry(kind.clone()).or_insert_with(|| vec![Level::default(); LEVELS]);
                        match name {
                            "numFmt" => levels[level].format = value,
                            "lvlText" => levels[level].text = value,
                            _ => levels[level].start = value.parse().unwrap_or(1),
                        }
                    }
                }
                Token::End("abstractNum") => kind = None,
                Token::End("num") => list = None,
                _ => {}
            }
            Ok(())
        })?;
        Ok(numbering)
    }

    /// The mark of the next item of a list, with a space.
    pub(super) fn next_mark(&mut self, list: &str, level: usize) -> String {
        let level = level.min(LEVELS - 1);
        let Some(levels) = self.kinds.get(list).and_then(|kind| self.levels.get(kind)) else { return "- ".to_owned() };
        let Level { format, text, .. } = &levels[level];
        if format == "none" || list == "0" {
            return String::new();
        }
        // Lists of one kind count on, as in a document whose headings belong to several lists.
        let counters = self.counters.entry(self.kinds.get(list).cloned().unwrap_or_default()).or_default();
        counters[level] = Some(counters[level].map_or(levels[level].start, |n| n.saturating_add(1)));
        counters[level + 1..].fill(None);
        if format == "bullet" {
            return "- ".to_owned();
        }
        let mut mark = text.clone();
        for (index, counted) in levels.iter().enumerate() {
            let sign = format!("%{}", index + 1);
            if mark.contains(&sign) {
                let number = counters[index].unwrap_or(counted.start);
                mark = mark.replace(&sign, &shown(number, &counted.format));
            }
        }
        if mark.is_empty() { String::new() } else { format!("{mark} ") }
    }
}

/// A number in the format of a list.
fn shown(number: u32, format: &str) -> String {
    match format {
        "lowerLetter" => letters(number),
        "upperLetter" => letters(number).to_uppercase(),
        "lowerRoman" => roman(number),
        "upperRoman" => roman(number).to_uppercase(),
        _ => number.to_string(),
    }
}

fn letters(number: u32) -> String {
    let place = number.saturating_sub(1);
    let letter = char::from(b'a' + u8::try_from(place % 26).unwrap_or(0));
    // After z comes aa, then bb.
    std::iter::repeat_n(letter, usize::try_from(place / 26).unwrap_or(0).min(8) + 1).collect()
}

fn roman(number: u32) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let (mut rest, mut text) = (number.min(5_000), String::new());
    for (value, digit) in DIGITS {
        while rest >= value {
            text.push_str(digit);
            rest -= value;
        }
    }
    text
}
