//! Collects the glyphs of a page with their places.

use hayro_interpret::font::{Glyph as PdfGlyph, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::hayro_syntax::object::{Dict, Name, String as PdfString};
use hayro_interpret::kurbo::{BezPath, Point, Rect};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};

use super::decode_text;

/// Most glyphs of a page. More is a bomb: a page of a telephone book has 20,000.
const MAX_GLYPHS: usize = 1_000_000;
/// Smallest size that is read, in points. Smaller text cannot be seen.
const MIN_SIZE: f64 = 0.5;
/// Width of a glyph whose font states none, in thousandths of its size.
const DEFAULT_WIDTH: f32 = 500.0;

/// A glyph. Coordinates are in points from the upper left corner of the page; for turned text from where it would stand if it were upright.
#[derive(Clone, Debug)]
pub(super) struct Glyph {
    pub(super) text: String,
    pub(super) x: f32,
    /// Where the next glyph stands if there is no gap.
    pub(super) end: f32,
    /// The base line.
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) font: Font,
    /// Quarter turns clockwise; text at another angle counts as turned by the nearest.
    pub(super) turns: u8,
}

/// What is known of a font.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Font {
    pub(super) is_bold: bool,
    pub(super) is_monospace: bool,
}

/// A device of the interpreter that draws nothing and collects glyphs.
pub(super) struct GlyphCollector {
    area: Rect,
    glyphs: Vec<Glyph>,
    /// The open marked contents.
    marked: Vec<Marked>,
}

/// What a marked content does to its glyphs.
enum Marked {
    Plain,
    /// A header or a footer.
    LeftOut,
    /// Replaces its glyphs, such as parts of a ligature; taken when the first glyph stands for all.
    Replaced(Option<String>),
}

impl GlyphCollector {
    pub(super) fn new(area: Rect) -> Self {
        Self { area, glyphs: Vec::new(), marked: Vec::new() }
    }

    pub(super) fn into_glyphs(self) -> Vec<Glyph> {
        self.glyphs
    }
}

impl<'a> Device<'a> for GlyphCollector {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
    fn draw_rect(&mut self, _: &Rect, _: DrawProps<'a>, _: &DrawMode) {}

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, mode: &DrawMode) {
        // Filled and stroked text comes twice. Text that is only stroked is rare, and then it comes once.
        let is_repeated = |glyphs: &[Glyph], first: &Glyph| {
            matches!(mode, DrawMode::Stroke(_))
                && glyphs.iter().rev().take(run.glyphs().len()).any(|g| (g.x, g.y) == (first.x, first.y) && g.text == first.text)
        };
        if self.marked.iter().any(|marked| matches!(marked, Marked::LeftOut)) {
            return;
        }
        let font = run.glyphs().first().map(|glyph| font_of(glyph)).unwrap_or_default();
        for (n, placed) in run.glyphs().iter().enumerate() {
            if self.glyphs.len() >= MAX_GLYPHS {
                return;
            }
            let replaced = self.marked.iter_mut().rev().find_map(|marked| match marked {
                Marked::Replaced(text) => Some(text.take().unwrap_or_default()),
                _ => None,
            });
            let text = replaced.unwrap_or_else(|| text_of(placed));
            let transform = props.transform * placed.transform();
            let origin = transform * Point::ZERO;
            let up = transform * Point::new(0.0, 1000.0) - origin;
            let width = match &**placed {
                PdfGlyph::Outline(glyph) => glyph.advance_width(),
                PdfGlyph::Type3(glyph) => glyph.advance_width(),
            };
            let along = transform * Point::new(f64::from(width.unwrap_or(DEFAULT_WIDTH)), 0.0) - origin;
            let size = up.hypot();
            let visible = self.area.inflate(2.0, 2.0).contains(origin);
            if text.is_empty() || !visible || !(MIN_SIZE..1e4).contains(&size) || !along.hypot().is_finite() {
                continue;
            }
            // The direction of the base line; the vertical axis points down.
            let (turns, x, y) = if up.y.abs() >= up.x.abs() {
                if up.y < 0.0 { (0, origin.x, origin.y) } else { (2, -origin.x, -origin.y) }
            } else if up.x > 0.0 {
                (1, origin.y, -origin.x)
            } else {
                (3, -origin.y, origin.x)
            };
            let (x, y, width) = (x as f32, y as f32, along.hypot() as f32);
            let glyph = Glyph { text, x, end: x + width, y, size: size as f32, font, turns };
            if n == 0 && is_repeated(&self.glyphs, &glyph) {
                return;
            }
            self.glyphs.push(glyph);
        }
    }

    fn begin_marked_content(&mut self, tag: &[u8], properties: Option<&Dict<'_>>) {
        let is_pagination = |p: &Dict<'_>| p.get::<Name<'_>>(b"Type".as_slice()).is_some_and(|kind| kind.as_str() == "Pagination");
        self.marked.push(match properties {
            Some(properties) if tag == b"Artifact" && is_pagination(properties) => Marked::LeftOut,
            Some(properties) => match properties.get::<PdfString<'_>>(b"ActualText".as_slice()) {
                Some(text) => Marked::Replaced(Some(decode_text(text.as_bytes()))),
                None => Marked::Plain,
            },
            None => Marked::Plain,
        });
    }

    fn end_marked_content(&mut self) {
        self.marked.pop();
    }
}

fn text_of(glyph: &PdfGlyph<'_>) -> String {
    match glyph.as_unicode() {
        Some(BfString::Char(c)) => c.to_string(),
        Some(BfString::String(text)) => text,
        None => String::new(),
    }
}

fn font_of(glyph: &PdfGlyph<'_>) -> Font {
    let PdfGlyph::Outline(outline) = glyph else { return Font::default() };
    let Some(data) = outline.font_data() else { return Font::default() };
    let name = data.postscript_name.unwrap_or_default().to_lowercase();
    let is_bold = data.weight.is_some_and(|weight| weight >= 600) || ["bold", "black", "heavy"].iter().any(|w| name.contains(w));
    Font { is_bold, is_monospace: data.is_monospace || ["mono", "courier"].iter().any(|w| name.contains(w)) }
}
