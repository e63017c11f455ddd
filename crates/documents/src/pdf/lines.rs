//! Joins glyphs to fragments: parts of lines without a wide gap.

use super::glyphs::{Font, Glyph};
use super::script;
use crate::notes::{ends_before_note, is_note_number};

/// Gap between two glyphs that is a space, in sizes of the font.
const SPACE: f32 = 0.17;
/// Gap that ends a fragment: to the next cell or column.
const WIDE: f32 = 0.9;
/// Largest step back within a word, as for kerning.
const STEP_BACK: f32 = 0.5;
/// Largest distance between base lines of the same line, as for indices.
const RAISED: f32 = 0.55;
/// Shortest text whose widths show that a font is monospaced, in characters.
const MIN_MONOSPACE: usize = 6;

/// Largest size of the number of a note, and how far it is raised at least, in sizes of the text.
const NOTE_SIZE: f32 = 0.85;
const NOTE_RAISED: f32 = 0.15;

/// A part of a line, or after [`super::order`] a whole line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) x: f32,
    pub(super) end: f32,
    /// The base line.
    pub(super) y: f32,
    /// The size of most of its glyphs.
    pub(super) size: f32,
    pub(super) is_bold: bool,
    pub(super) is_monospace: bool,
    /// The width of all of its glyphs in sizes of the font, if they are equally wide.
    pub(super) glyph_width: Option<f32>,
    /// Whether the text is not turned.
    pub(super) is_upright: bool,
    /// Whether it consists of cells with wide gaps, as a row of a table does.
    pub(super) has_cells: bool,
    /// The right edge of its column.
    pub(super) right: f32,
}

/// A fragment while it is built.
struct Open {
    text: String,
    first: Glyph,
    end: f32,
    /// The text of each size and font, in characters.
    sizes: Vec<(f32, usize)>,
    bold: usize,
    monospace: usize,
    chars: usize,
    /// The least and the greatest width of a glyph, in sizes of the font.
    widths: (f32, f32),
    ends_with_space: bool,
}

/// Joins the glyphs of a page to fragments, in the order in which they are drawn.
pub(super) fn fragments(glyphs: Vec<Glyph>) -> Vec<Line> {
    let mut fragments = Vec::new();
    let mut open: Option<Open> = None;
    for glyph in glyphs {
        let is_space = glyph.text.chars().all(char::is_whitespace);
        match &mut open {
            Some(fragment) if fragment.takes(&glyph) => fragment.add(&glyph, is_space),
            _ if is_space => {}
            _ => {
                fragments.extend(open.take().and_then(Open::close));
                open = Some(Open::new(glyph));
            }
        }
    }
    fragments.extend(open.and_then(Open::close));
    fragments
}

impl Open {
    fn new(glyph: Glyph) -> Self {
        let mut open = Self {
            text: String::new(),
            end: glyph.x,
            first: glyph.clone(),
            sizes: Vec::new(),
            bold: 0,
            monospace: 0,
            chars: 0,
            widths: (f32::MAX, 0.0),
            ends_with_space: true,
        };
        open.add(&glyph, false);
        open
    }

    /// Whether a glyph belongs to this fragment.
    fn takes(&self, glyph: &Glyph) -> bool {
        let size = glyph.size.max(self.first.size);
        let (gap, raised) = (glyph.x - self.end, (glyph.y - self.first.y).abs());
        glyph.turns == self.first.turns && raised <= RAISED * size && gap <= WIDE * size && gap >= -STEP_BACK * size
    }

    fn add(&mut self, glyph: &Glyph, is_space: bool) {
        let gap = glyph.x - self.end;
        // Bold text is sometimes drawn twice, slightly displaced.
        let is_again = !is_space && gap < -0.8 * (glyph.end - glyph.x) && self.text.ends_with(&glyph.text);
        if is_again {
            return;
        }
        let wanted = is_space || gap > SPACE * glyph.size.min(self.first.size);
        if wanted && !self.ends_with_space {
            self.text.push(' ');
            self.ends_with_space = true;
        }
        self.end = self.end.max(glyph.end);
        if is_space {
            return;
        }
        if self.is_note_mark(glyph) {
            self.ends_with_space |= gap > SPACE * glyph.size;
            return;
        }
        self.ends_with_space = false;
        script::append(&mut self.text, &glyph.text, gap < -0.25 * glyph.size);
        self.chars += 1;
        let Font { is_bold, is_monospace } = glyph.font;
        self.bold += usize::from(is_bold);
        self.monospace += usize::from(is_monospace);
        let width = (glyph.end - glyph.x) / glyph.size;
        self.widths = (self.widths.0.min(width), self.widths.1.max(width));
        match self.sizes.iter_mut().find(|(size, _)| (size - glyph.size).abs() < 0.1) {
            Some((_, count)) => *count += 1,
            None => self.sizes.push((glyph.size, 1)),
        }
        // The base line is that of the larger glyphs, not of an index at the beginning.
        if glyph.size > self.first.size * 1.2 && self.chars <= 3 {
            (self.first.y, self.first.size) = (glyph.y, glyph.size);
        }
    }

    /// Whether a glyph is the raised number of a note: small digits behind a word or a sentence, not an exponent or the end of a unit.
    fn is_note_mark(&self, glyph: &Glyph) -> bool {
        let is_small = glyph.size < NOTE_SIZE * self.first.size && self.first.y - glyph.y > NOTE_RAISED * self.first.size;
        is_small && is_note_number(&glyph.text) && ends_before_note(&self.text)
    }

    fn close(self) -> Option<Line> {
        let text = self.text.trim_end().to_owned();
        let size = self.sizes.iter().max_by_key(|(_, count)| *count)?.0;
        let glyph_width = (self.widths.1 - self.widths.0 < 0.01).then_some(self.widths.1);
        let equal_widths = self.chars >= MIN_MONOSPACE && glyph_width.is_some();
        (!text.is_empty()).then_some(Line {
            text,
            x: self.first.x,
            end: self.end,
            y: self.first.y,
            size,
            is_bold: self.bold * 2 > self.chars,
            is_monospace: equal_widths || self.monospace * 2 > self.chars,
            glyph_width,
            is_upright: self.first.turns == 0,
            has_cells: false,
            right: self.end,
        })
    }
}
