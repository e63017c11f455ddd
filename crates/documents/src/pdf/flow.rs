//! Turns the lines of all pages into headings, paragraphs and rows.

use std::collections::HashMap;

use super::bookmarks::Bookmark;
use super::lines::Line;
use crate::draft::{Block, Kind};
use crate::plain::{numbered_level, starts_item};

mod join;

use join::Words;

/// How much larger than the text a heading is at least.
const HEADING_SIZE: f32 = 1.12;
/// Longest heading in characters, and in lines.
const MAX_HEADING: usize = 200;
const MAX_HEADING_LINES: usize = 4;
/// Distance of lines between paragraphs, compared to that of lines within them.
const PARAGRAPH_DISTANCE: f32 = 1.35;
/// Fewest numbers of a line that is a row of a table.
const ROW_NUMBERS: usize = 3;
/// Fewest words of a paragraph that goes on over a page break behind a line that is not full.
const PROSE_WORDS: usize = 10;
/// Indentation of the first line of a paragraph, in sizes of the font.
const INDENT: f32 = 0.8;
/// How much of the bookmarks must be found in the text for headings to be those of the bookmarks.
const FOUND_BOOKMARKS: f32 = 0.6;
/// Pages for which there is at least one bookmark, if bookmarks are the headings.
const PAGES_PER_BOOKMARK: usize = 20;

/// A line of the document: page index and index on the page.
type Place = (usize, usize);

/// The lines of a document and what is known of them all.
pub(super) struct Flow<'d> {
    pages: &'d [Vec<Line>],
    /// The size of most of the text.
    body_size: f32,
    /// The distance of most neighbouring base lines, in sizes of the font.
    leading: f32,
    /// The depth of the headings that begin at a line, and their number of lines.
    headings: HashMap<Place, (u8, usize)>,
    words: Words,
}

impl<'d> Flow<'d> {
    pub(super) fn new(pages: &'d [Vec<Line>], bookmarks: &[Bookmark]) -> Self {
        let lines = || pages.iter().flatten();
        let body_size = most_frequent(lines().map(|line| (line.size, line.text.len())), 0.5).unwrap_or(10.0);
        let distances = pages.iter().flat_map(|page| page.windows(2)).filter_map(|two| {
            let distance = (two[1].y - two[0].y) / two[0].size;
            ((0.8..2.2).contains(&distance) && (two[0].size - body_size).abs() < 1.0).then_some((distance, 1))
        });
        let leading = most_frequent(distances, 0.05).unwrap_or(1.2);
        let words = Words::of(lines().map(|line| line.text.as_str()));
        let mut flow = Self { pages, body_size, leading, headings: HashMap::new(), words };
        let found = flow.headings_of_bookmarks(bookmarks);
        let enough = found.len() as f32 >= FOUND_BOOKMARKS * bookmarks.len() as f32 && found.len() * PAGES_PER_BOOKMARK >= pages.len();
        let by_size = flow.headings_by_size();
        // A few bookmarks of chapters say less than the sizes.
        flow.headings = if enough && !found.is_empty() && found.len() * 3 >= by_size.len() { found } else { by_size };
        flow
    }

    /// The largest text of the first page, if it is larger than the rest.
    pub(super) fn title(&self) -> Option<String> {
        let page = self.pages.iter().find(|page| !page.is_empty())?;
        let is_candidate = |line: &&Line| line.is_upright && line.text.chars().filter(|c| c.is_alphabetic()).count() >= 3;
        let size = page.iter().filter(is_candidate).map(|line| line.size).fold(0.0, f32::max);
        if size < 1.25 * self.body_size {
            return None;
        }
        let of_title = |line: &Line| (line.size - size).abs() < 0.5;
        let first = page.iter().position(of_title)?;
        let lines: Vec<&str> = page[first..].iter().take_while(|line| of_title(line)).take(3).map(|line| line.text.as_str()).collect();
        Some(lines.join(" "))
    }

    /// Finds the lines that the bookmarks name.
    fn headings_of_bookmarks(&self, bookmarks: &[Bookmark]) -> HashMap<Place, (u8, usize)> {
        let mut found: HashMap<Place, (u8, usize)> = HashMap::new();
        let mut keys: HashMap<usize, Vec<String>> = HashMap::new();
        for bookmark in bookmarks {
            let wanted = key(&bookmark.title);
            if wanted.is_empty() {
                continue;
            }
            // A chapter may begin a page after its place.
            let place = (bookmark.page..(bookmark.page + 2).min(self.pages.len())).find_map(|page| {
                let keys = keys.entry(page).or_insert_with(|| self.pages[page].iter().map(|line| key(&line.text)).collect());
                let (line, lines) = find_title(keys, &wanted, |line| found.contains_key(&(page, line)))?;
                Some(((page, line), lines))
            });
            if let Some((place, lines)) = place {
                found.insert(place, (bookmark.level, lines));
            }
        }
        found
    }

    /// Finds headings by the size of the font, or for numbered ones by bold letters.
    fn headings_by_size(&self) -> HashMap<Place, (u8, usize)> {
        let is_large = |line: &Line| line.size >= HEADING_SIZE * self.body_size;
        let is_bold_and_numbered = |line: &Line| line.is_bold && line.size >= 0.97 * self.body_size && numbered_level(&line.text).is_some();
        let mut groups: Vec<(Place, usize, f32, Option<u8>)> = Vec::new();
        for (page, lines) in self.pages.iter().enumerate() {
            let mut at = 0;
            while at < lines.len() {
                let first = &lines[at];
                let same = |line: &&Line| (line.size - first.size).abs() < 0.3 && line.is_bold == first.is_bold;
                let large = is_large(first);
                let count = if large { self.heading_lines(&lines[at..], &same) } else { 1 };
                let text: String = lines[at..at + count].iter().map(|line| line.text.as_str()).collect();
                let letters = text.chars().filter(|c| c.is_alphabetic()).count();
                let is_text = is_entry(&text)
                    || (first.has_cells && text.ends_with(|c: char| c.is_ascii_digit()))
                    || !first.is_upright
                    || first.is_monospace
                    || first.has_cells && !large
                    || is_mostly_numbers(&text)
                    || letters < 2;
                let length = text.chars().count();
                if (large || is_bold_and_numbered(first)) && !is_text && length <= MAX_HEADING && count <= MAX_HEADING_LINES {
                    groups.push(((page, at), count, first.size, numbered_level(&text)));
                }
                at += count;
            }
        }
        // The largest size is the highest level.
        let mut sizes: Vec<i32> = groups.iter().map(|group| half_points(group.2)).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.dedup();
        let depth = |size: f32| sizes.iter().position(|s| *s == half_points(size)).map_or(6, |at| u8::try_from(at + 1).unwrap_or(6).min(6));
        let level = |size: f32, numbered: Option<u8>| {
            if size < HEADING_SIZE * self.body_size { numbered.unwrap_or(6).max(depth(size)) } else { depth(size) }
        };
        groups.into_iter().map(|(place, count, size, numbered)| (place, (level(size, numbered), count))).collect()
    }

    /// The number of lines of a heading.
    fn heading_lines(&self, lines: &[Line], same: &dyn Fn(&&Line) -> bool) -> usize {
        let near = |two: &&[Line]| {
            let distance = (two[1].y - two[0].y) / two[0].size;
            same(&&two[1]) && (0.0..1.6).contains(&distance) && numbered_level(&two[1].text).is_none()
        };
        1 + lines.windows(2).take_while(near).count()
    }

    /// The blocks of the document in reading order.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut builder = Builder { flow: self, blocks: Vec::new(), open: None };
        for (page, lines) in self.pages.iter().enumerate() {
            let mut at = 0;
            while at < lines.len() {
                let heading = self.headings.get(&(page, at)).copied();
                match heading {
                    Some((level, count)) => {
                        let count = count.min(lines.len() - at);
                        builder.heading(level, &lines[at..at + count], page);
                        at += count;
                    }
                    None => {
                        builder.line(&lines[at], page);
                        at += 1;
                    }
                }
            }
        }
        builder.close();
        builder.blocks
    }
}

/// A paragraph while it is built.
struct Paragraph<'d> {
    block: Block,
    last: &'d Line,
    last_page: usize,
    lines: usize,
    is_item: bool,
    /// The left edge of its lines.
    left: f32,
}

struct Builder<'f, 'd> {
    flow: &'f Flow<'d>,
    blocks: Vec<Block>,
    open: Option<Paragraph<'d>>,
}

/// How a line goes on from the one before.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// The same paragraph, without a line break.
    Joined,
    /// The same block on a new line: code.
    NewLine,
    Separate,
}

impl<'d> Builder<'_, 'd> {
    fn close(&mut self) {
        self.blocks.extend(self.open.take().map(|paragraph| paragraph.block));
    }

    fn heading(&mut self, level: u8, lines: &[Line], page: usize) {
        self.close();
        let mut text = String::new();
        for line in lines {
            self.flow.words.join(&mut text, &line.text);
        }
        self.blocks.push(Block { kind: Kind::Heading(level), text, pages: vec![(0, number(page))] });
    }

    fn line(&mut self, line: &'d Line, page: usize) {
        let is_item = starts_item(&line.text) && !line.is_monospace;
        let next = self.open.as_ref().map_or(Next::Separate, |open| self.next(open, line, page, is_item));
        let Some(open) = self.open.as_mut().filter(|_| next != Next::Separate) else {
            self.close();
            let kind = if is_item || line.has_cells || is_entry(&line.text) { Kind::Line } else { Kind::Paragraph };
            let block = Block { kind, text: line.text.clone(), pages: vec![(0, number(page))] };
            self.open = Some(Paragraph { block, last: line, last_page: page, lines: 1, is_item, left: line.x });
            return;
        };
        let text = &mut open.block.text;
        if next == Next::NewLine {
            text.push('\n');
            let width = (line.end - line.x) / line.text.chars().count().max(1) as f32;
            let indent = ((line.x - open.left) / width.max(1.0)).round().clamp(0.0, 60.0);
            text.push_str(&" ".repeat(indent as usize));
            text.push_str(&line.text);
        } else {
            self.flow.words.join(text, &line.text);
        }
        if page != open.last_page {
            open.block.pages.push((text.len() - line.text.len().min(text.len()), number(page)));
        }
        open.left = open.left.min(line.x);
        (open.last, open.last_page) = (line, page);
        open.lines += 1;
    }

    fn next(&self, open: &Paragraph<'d>, line: &Line, page: usize, is_item: bool) -> Next {
        let last = open.last;
        let size = last.size.max(line.size);
        let distance = line.y - last.y;
        let apart = distance > PARAGRAPH_DISTANCE * self.flow.leading * size;
        let elsewhere = page != open.last_page || distance < -0.5 * size || line.x > last.end;
        if line.is_upright != last.is_upright || line.is_monospace != last.is_monospace {
            // A word of code in a sentence is part of its line, so a whole line is something else.
            return Next::Separate;
        }
        if line.is_monospace {
            return if apart || elsewhere { Next::Separate } else { Next::NewLine };
        }
        if is_entry(&line.text) || is_entry(&last.text) {
            return Next::Separate;
        }
        if line.has_cells || last.has_cells || (line.size - last.size).abs() > 0.15 * size {
            return Next::Separate;
        }
        let ends = last.text.trim_end_matches(['"', '”', '’', ')', '»']).ends_with(['.', '!', '?', ':']);
        let reaches_right = last.end > last.right - 0.12 * (last.right - open.left);
        let starts_low = line.text.chars().next().is_some_and(char::is_lowercase);
        if elsewhere {
            // A page may end with a short line in the middle of a sentence: "… is called", "Rosa Lind."
            let is_prose = page != open.last_page && !open.is_item && open.block.text.split_whitespace().count() >= PROSE_WORDS;
            let stops_low = last.text.rsplit(' ').next().is_some_and(|word| word.len() > 1 && word.chars().all(char::is_lowercase));
            let goes_on = starts_low || (!ends && (reaches_right || (is_prose && stops_low)) && !is_item);
            return if goes_on && page <= open.last_page + 1 { Next::Joined } else { Next::Separate };
        }
        // A dash or a number may also begin a line in the middle of a sentence.
        let has_bullet = line.text.starts_with(['•', '‣', '◦', '▪', '■', '●', '○']);
        if apart || has_bullet || (is_item && (open.is_item || !reaches_right || ends)) {
            return Next::Separate;
        }
        // The first line of a paragraph is indented, unless the lines of an item hang under its text.
        let indented = line.x > last.x + INDENT * size && !(open.is_item && open.lines == 1);
        if indented && !starts_low {
            return Next::Separate;
        }
        if !reaches_right && ends && !starts_low {
            return Next::Separate;
        }
        Next::Joined
    }
}

fn number(page: usize) -> u32 {
    u32::try_from(page + 1).unwrap_or(u32::MAX)
}

fn half_points(size: f32) -> i32 {
    (size * 2.0).round() as i32
}

/// The most frequent value, rounded to `step`, of values with their weights.
fn most_frequent(values: impl Iterator<Item = (f32, usize)>, step: f32) -> Option<f32> {
    let mut counts: HashMap<i32, usize> = HashMap::new();
    for (value, weight) in values {
        *counts.entry((value / step).round() as i32).or_default() += weight;
    }
    counts.into_iter().max_by_key(|(value, count)| (*count, *value)).map(|(value, _)| value as f32 * step)
}

/// The letters and digits of a text, to compare titles.
fn key(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(200).collect()
}

/// Finds the lines of a title among the keys of a page's lines. Returns the first line and their number.
fn find_title(keys: &[String], title: &str, is_taken: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
    let mut best = None;
    for first in (0..keys.len()).filter(|first| !keys[*first].is_empty() && !is_taken(*first)) {
        let mut text = String::new();
        for lines in 1..=MAX_HEADING_LINES.min(keys.len() - first) {
            text.push_str(&keys[first + lines - 1]);
            if text == title {
                return Some((first, lines));
            }
            // The bookmark or the heading may lack the number.
            let rest = text.strip_suffix(title).or_else(|| title.strip_suffix(text.as_str()));
            if rest.is_some_and(is_number) {
                best.get_or_insert((first, lines));
            }
        }
    }
    best
}

/// Whether the key of a text is the number of a heading, such as `2.1` or `Chapter 3`.
fn is_number(key: &str) -> bool {
    let number =
        ["chapter", "appendix", "section", "part", "kapitel", "anhang"].iter().find_map(|word| key.strip_prefix(word)).unwrap_or(key);
    let letters = number.chars().filter(|c| !c.is_numeric()).count();
    number.chars().count() <= 8 && letters <= 1
}

/// Whether a line is a row of a table: most of its words are numbers or percent signs.
fn is_mostly_numbers(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number =
        |word: &&&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '%' | '.' | ',' | '±' | '+' | '-' | '–'));
    let numbers = words.iter().filter(is_number).count();
    numbers >= ROW_NUMBERS && 2 * numbers >= words.len()
}

/// Whether a line is an entry of a table of contents, with points up to the number of the page.
fn is_entry(text: &str) -> bool {
    text.contains("....") || text.contains(". . .")
}

#[cfg(test)]
mod tests;
