//! Reads PDF: hayro finds the glyphs and their places, this module finds lines, columns, paragraphs and headings.

mod bookmarks;
mod flow;
mod glyphs;
mod lines;
mod order;
mod script;

use std::borrow::Cow;

use hayro_interpret::hayro_syntax::content::TypedIter;
use hayro_interpret::hayro_syntax::object::{Array, Dict, Object, Stream, String as PdfString};
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::Rect;
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, TransformExt, interpret};
use recall_ports::ParseError;

use crate::draft::{Draft, Kind};
use crate::furniture::{EdgeLine, running_lines};
use crate::title;
use glyphs::GlyphCollector;
use lines::Line;

/// Most pages that are read.
const MAX_PAGES: usize = 20_000;
/// Longest content of a page when it is unpacked, in bytes. More is a bomb.
const MAX_CONTENT: usize = 128 << 20;
/// Lines at either end of a page among which headers and footers are looked for.
const EDGE_LINES: usize = 3;
/// Fewest letters of a text that shows whether it is readable.
const MIN_LETTERS: usize = 120;
/// The share of vowels among the letters A to Z below which a text is no language. That of languages is 0.33 to 0.5, that of codes of glyphs 0.15.
const MIN_VOWELS: f32 = 0.22;
/// Bytes at the end of a file among which it states its end.
const END: usize = 1024;
/// Distance of a header to the text, in line heights.
const EDGE_DISTANCE: f32 = 1.3;

/// Reads a PDF file.
///
/// # Errors
/// [`ParseError::Damaged`], [`ParseError::Encrypted`], [`ParseError::TooComplex`].
pub(crate) fn read(bytes: Vec<u8>) -> Result<Draft, ParseError> {
    let is_cut = !bytes.get(bytes.len().saturating_sub(END)..).unwrap_or_default().windows(5).any(|end| end == b"%%EOF");
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected | DecryptionError::UnsupportedAlgorithm) => ParseError::Encrypted,
        _ => ParseError::Damaged,
    })?;
    let pages = pdf.pages();
    if pages.len() > MAX_PAGES {
        return Err(ParseError::TooComplex);
    }
    if pages.is_empty() {
        return Err(ParseError::Damaged);
    }
    let cache = InterpreterCache::new();
    let mut draft = Draft { pages: u32::try_from(pages.len()).ok(), ..Draft::default() };
    let mut lines = Vec::with_capacity(pages.len());
    for page in pages.iter() {
        let (width, height) = page.render_dimensions();
        let transform = page.initial_transform(true).to_kurbo();
        let area = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let mut context = Context::new(transform, area, &cache, pdf.xref(), InterpreterSettings::default());
        let mut collector = GlyphCollector::new(area);
        let content = content(page)?;
        interpret(TypedIter::new(&content), page.resources(), &mut context, &mut collector);
        lines.push(order::reading_order(lines::fragments(collector.into_glyphs()), width));
        draft.links.extend(linked(page));
    }
    remove_running_lines(&mut lines);
    let bookmarks = bookmarks::read(&pdf);
    let stated = pdf.metadata().title.as_deref().map(decode_text);
    let flow = flow::Flow::new(&lines, &bookmarks);
    draft.title = title::stated(stated).or_else(|| flow.title());
    draft.blocks = flow.blocks();
    if !is_readable(draft.blocks.iter().map(|block| block.text.as_str())) {
        // Fonts without a table of characters are like pictures; a cut file has lost its tables.
        return Err(if is_cut { ParseError::Damaged } else { ParseError::NoText });
    }
    if draft.title.is_none() {
        draft.title = draft.blocks.iter().find(|block| matches!(block.kind, Kind::Heading(_))).map(|block| block.text.clone());
    }
    Ok(draft)
}

/// Whether texts in Latin letters are words, not the codes of glyphs whose font does not say what they mean. Texts with other letters, or with as many digits as
/// letters, such as lists of parts, are not judged.
fn is_readable<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let (mut letters, mut vowels, mut others) = (0, 0, 0);
    for c in texts.flat_map(str::chars).filter(|c| c.is_alphanumeric()) {
        letters += usize::from(c.is_ascii_alphabetic());
        vowels += usize::from(matches!(c.to_ascii_lowercase(), 'a' | 'e' | 'i' | 'o' | 'u' | 'y'));
        others += usize::from(!c.is_ascii_alphabetic());
    }
    letters < MIN_LETTERS || others * 4 > letters || vowels as f32 >= MIN_VOWELS * letters as f32
}

/// The instructions of a page. hayro would keep those of all pages in memory.
fn content<'a>(page: &Page<'a>) -> Result<Cow<'a, [u8]>, ParseError> {
    let decoded = |stream: &Stream<'a>| stream.decoded_data().unwrap_or_default();
    let dict = page.raw();
    if let Some(stream) = dict.get::<Stream<'a>>(b"Contents".as_slice()) {
        let content = decoded(&stream);
        return if content.len() > MAX_CONTENT { Err(ParseError::TooComplex) } else { Ok(content) };
    }
    let mut all = Vec::new();
    for stream in dict.get::<Array<'a>>(b"Contents".as_slice()).iter().flat_map(|array| array.iter::<Stream<'a>>()) {
        all.extend_from_slice(&decoded(&stream));
        all.push(b'\n');
        if all.len() > MAX_CONTENT {
            return Err(ParseError::TooComplex);
        }
    }
    Ok(Cow::Owned(all))
}

/// The addresses of the links of a page.
fn linked(page: &Page<'_>) -> Vec<String> {
    let annotations = page.raw().get::<Array<'_>>(b"Annots".as_slice());
    let annotations = annotations.iter().flat_map(|array| array.iter::<Dict<'_>>());
    let target = |annotation: Dict<'_>| {
        annotation.get::<Dict<'_>>(b"A".as_slice())?.get::<PdfString<'_>>(b"URI".as_slice()).map(|uri| decode_text(uri.as_bytes()))
    };
    annotations.filter_map(target).collect()
}

/// Decodes a text of the document's structure: UTF-16 or UTF-8 with a byte order mark, or else nearly Latin-1.
fn decode_text(bytes: &[u8]) -> String {
    match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding.decode(bytes).0.into_owned(),
        None => encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned(),
    }
}

/// Removes headers, footers and page numbers.
fn remove_running_lines(pages: &mut [Vec<Line>]) {
    let edges: Vec<_> = pages.iter().map(|page| edge_lines(page)).collect();
    let running = running_lines(&edges);
    // Pages that differ only in a number, as labels do.
    if pages.iter().zip(&running).all(|(page, running)| running.len() == page.len()) {
        return;
    }
    for (page, running) in pages.iter_mut().zip(running) {
        let mut index = 0;
        page.retain(|_| {
            index += 1;
            !running.contains(&(index - 1))
        });
    }
}

/// The lines at the top and the bottom of a page that stand apart from the text.
fn edge_lines(page: &[Line]) -> Vec<EdgeLine> {
    let mut by_height: Vec<usize> = (0..page.len()).filter(|at| page[*at].is_upright).collect();
    by_height.sort_by(|a, b| page[*a].y.total_cmp(&page[*b].y));
    let mut edges = Vec::new();
    let mut add = |order: &mut dyn Iterator<Item = usize>, is_top: bool| {
        let order: Vec<usize> = order.collect();
        for (n, at) in order.iter().enumerate().take(EDGE_LINES) {
            let line = &page[*at];
            // The next line that is not beside this one.
            let next = order[n + 1..].iter().map(|next| &page[*next]).find(|next| (next.y - line.y).abs() > line.size * 0.5);
            let apart = next.is_none_or(|next| (next.y - line.y).abs() > EDGE_DISTANCE * line.size.max(next.size));
            if apart || line.text.chars().all(|c| c.is_ascii_digit()) {
                edges.push(EdgeLine::new(*at, &line.text, is_top, line.y));
            }
        }
    };
    add(&mut by_height.iter().copied(), true);
    add(&mut by_height.iter().rev().copied(), false);
    edges
}

/// Looks up an entry that may be missing, of any type.
fn object<'a>(dict: &Dict<'a>, key: &[u8]) -> Option<Object<'a>> {
    dict.get::<Object<'a>>(key)
}

#[cfg(test)]
mod tests;
