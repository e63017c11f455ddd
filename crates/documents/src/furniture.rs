//! Finds running headers, running footers and page numbers.

use std::collections::{HashMap, HashSet};

/// A line near the top or the bottom of a page.
#[derive(Debug)]
pub(crate) struct EdgeLine {
    /// The index of the line on its page.
    pub(crate) line: usize,
    /// The text with numbers replaced, see [`key_of`].
    pub(crate) key: String,
    /// The number, if the text is only a page number.
    pub(crate) number: Option<i64>,
    /// Whether it stands at the top.
    pub(crate) is_top: bool,
    /// Its height on the page, or 0 if the format has none.
    pub(crate) height: f32,
}

/// Largest difference in height of two lines that are the same header.
const SAME_HEIGHT: f32 = 4.0;
/// How many pages away a header is repeated. Even and odd pages may have different ones.
const REACH: usize = 2;

impl EdgeLine {
    pub(crate) fn new(line: usize, text: &str, is_top: bool, height: f32) -> Self {
        Self { line, key: key_of(text), number: page_number(text), is_top, height }
    }
}

/// Returns for each page the lines that are repeated on pages nearby, or are page numbers.
pub(crate) fn running_lines(pages: &[Vec<EdgeLine>]) -> Vec<HashSet<usize>> {
    // Page numbers differ from the index of their page by the same number on many pages.
    let mut offsets: HashMap<i64, usize> = HashMap::new();
    let offset = |page: usize, line: &EdgeLine| line.number.map(|number| number - i64::try_from(page).unwrap_or_default());
    for (page, lines) in pages.iter().enumerate() {
        let of_page: HashSet<i64> = lines.iter().filter_map(|line| offset(page, line)).collect();
        of_page.into_iter().for_each(|offset| *offsets.entry(offset).or_default() += 1);
    }
    let enough = if pages.len() <= 2 { pages.len() } else { 3 };
    let is_number = |page: usize, line: &EdgeLine| offset(page, line).is_some_and(|o| offsets[&o] >= enough);
    let is_repeated = |page: usize, line: &EdgeLine| {
        let near = page.saturating_sub(REACH)..(page + REACH + 1).min(pages.len());
        let same =
            |other: &EdgeLine| other.is_top == line.is_top && other.key == line.key && (other.height - line.height).abs() <= SAME_HEIGHT;
        !line.key.is_empty() && near.filter(|n| *n != page).any(|n| pages[n].iter().any(same))
    };
    let of_page = |(page, lines): (usize, &Vec<EdgeLine>)| {
        lines.iter().filter(|line| is_number(page, line) || is_repeated(page, line)).map(|line| line.line).collect()
    };
    pages.iter().enumerate().map(of_page).collect()
}

/// A text in lower case with `#` for each number, so that the headers of two pages are equal.
fn key_of(text: &str) -> String {
    let word = |word: &str| {
        if roman(word).is_some() {
            return "#".to_owned();
        }
        let mut key = String::new();
        for c in word.chars().flat_map(char::to_lowercase) {
            if !c.is_ascii_digit() {
                key.push(c);
            } else if !key.ends_with('#') {
                key.push('#');
            }
        }
        key
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// The number of a line that is only a page number: `12`, `- 12 -`, `Page 12 of 90`, `[Page 12]`, `xii`.
fn page_number(text: &str) -> Option<i64> {
    let mut words = text.split(|c: char| c.is_whitespace() || "-–—[]()|.".contains(c)).filter(|word| !word.is_empty());
    let mut first = words.next()?;
    if ["page", "seite", "p"].contains(&first.to_lowercase().as_str()) {
        first = words.next()?;
    }
    let rest: Vec<&str> = words.collect();
    let total = matches!(rest.as_slice(), [] | ["of" | "von" | "/", _]);
    let number = if first.len() <= 5 { first.parse().ok() } else { None };
    number.or_else(|| roman(first)).filter(|_| total)
}

/// Reads a number in Roman digits below 100, as in front matter.
fn roman(word: &str) -> Option<i64> {
    let word = word.to_ascii_lowercase();
    if word.is_empty() || word.len() > 8 {
        return None;
    }
    let value = |c: u8| match c {
        b'i' => Some(1),
        b'v' => Some(5),
        b'x' => Some(10),
        b'l' => Some(50),
        _ => None,
    };
    let digits: Vec<i64> = word.bytes().map(value).collect::<Option<_>>()?;
    let sign = |at: usize| if digits.get(at + 1).is_some_and(|next| *next > digits[at]) { -1 } else { 1 };
    Some(digits.iter().enumerate().map(|(at, digit)| sign(at) * digit).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lines: &[(&str, bool)]) -> Vec<EdgeLine> {
        lines.iter().enumerate().map(|(n, (text, top))| EdgeLine::new(n, text, *top, 0.0)).collect()
    }

    #[test]
    fn page_numbers_are_read() {
        for (text, number) in [
            ("12", Some(12)),
            ("- 12 -", Some(12)),
            ("Page 3 of 10", Some(3)),
            ("[Page 7]", Some(7)),
            ("xiv", Some(14)),
            ("Seite 4", Some(4)),
            ("12 Monkeys", None),
            ("Chapter 3", None),
            ("", None),
            ("mix", None),
        ] {
            assert_eq!(page_number(text), number, "{text}");
        }
    }

    #[test]
    fn headers_of_even_and_odd_pages_are_found() {
        let pages: Vec<_> = (1..=6)
            .map(|n| {
                let header = if n % 2 == 0 { format!("{n} CHAPTER 2. BIRDS") } else { format!("2.{n} The Wren {n}") };
                page(&[(&header, true), (&format!("Different body line {}", ["a", "b", "c", "d", "e", "f"][n - 1]), true)])
            })
            .collect();
        assert!(running_lines(&pages).iter().all(|lines| lines.len() == 1 && lines.contains(&0)));
    }

    #[test]
    fn page_number_of_first_page_of_a_chapter_is_found() {
        // Only the first page of a chapter has its number at the bottom.
        let mut pages: Vec<_> =
            (1..=9).map(|n| page(&[(&format!("{n}"), n % 4 != 0), (&format!("text {}", "z".repeat(n)), true)])).collect();
        pages.push(page(&[("1492", true)]));
        let found = running_lines(&pages);
        assert!(found[..9].iter().all(|lines| lines.contains(&0) && lines.len() == 1), "{found:?}");
    }
}
