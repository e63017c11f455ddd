//! Reads the outline of a PDF file: titles with their depth and page.

use std::collections::{HashMap, HashSet};

use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::object::{Array, Dict, MaybeRef, Object, ObjectIdentifier, String as PdfString};

use super::{decode_text, object};

/// Most bookmarks and named places that are read.
const MAX_ENTRIES: usize = 50_000;
/// Deepest nesting of bookmarks and of the tree of named places.
const MAX_DEPTH: u8 = 12;

/// An entry of the outline.
#[derive(Debug, PartialEq)]
pub(super) struct Bookmark {
    pub(super) title: String,
    /// The depth from 1.
    pub(super) level: u8,
    /// The index of the page.
    pub(super) page: usize,
}

/// Reads the outline in its order.
pub(super) fn read(pdf: &Pdf) -> Vec<Bookmark> {
    let Some(catalog) = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()) else { return Vec::new() };
    let pages = pdf.pages().iter().enumerate().filter_map(|(index, page)| Some((page.raw().obj_id()?, index)));
    let mut reader = Reader { pages: pages.collect(), places: HashMap::new(), seen: HashSet::new(), bookmarks: Vec::new() };
    let Some(outline) = catalog.get::<Dict<'_>>(b"Outlines".as_slice()) else { return Vec::new() };
    if let Some(places) = catalog.get::<Dict<'_>>(b"Dests".as_slice()) {
        for (name, _) in places.entries().take(MAX_ENTRIES) {
            if let Some(page) = object(&places, &name).and_then(|place| reader.page_of_place(place)) {
                reader.places.insert(name.to_vec(), page);
            }
        }
    }
    if let Some(tree) = catalog.get::<Dict<'_>>(b"Names".as_slice()).and_then(|names| names.get::<Dict<'_>>(b"Dests".as_slice())) {
        reader.read_places(&tree, MAX_DEPTH);
    }
    reader.read_level(&outline, 1);
    reader.bookmarks
}

struct Reader {
    pages: HashMap<ObjectIdentifier, usize>,
    /// The pages of named places.
    places: HashMap<Vec<u8>, usize>,
    /// Entries that were read, because a damaged outline may be a circle.
    seen: HashSet<ObjectIdentifier>,
    bookmarks: Vec<Bookmark>,
}

impl Reader {
    fn read_places(&mut self, node: &Dict<'_>, depth: u8) {
        if depth == 0 || node.obj_id().is_some_and(|id| !self.seen.insert(id)) {
            return;
        }
        if let Some(names) = node.get::<Array<'_>>(b"Names".as_slice()) {
            let mut entries = names.flex_iter();
            while let Some(name) = entries.next::<PdfString<'_>>() {
                let Some(place) = entries.next::<Object<'_>>() else { break };
                if self.places.len() >= MAX_ENTRIES {
                    return;
                }
                if let Some(page) = self.page_of_place(place) {
                    self.places.insert(name.as_bytes().to_vec(), page);
                }
            }
        }
        for kid in node.get::<Array<'_>>(b"Kids".as_slice()).iter().flat_map(|kids| kids.iter::<Dict<'_>>()) {
            self.read_places(&kid, depth - 1);
        }
    }

    fn read_level(&mut self, parent: &Dict<'_>, level: u8) {
        let mut next = parent.get::<Dict<'_>>(b"First".as_slice());
        while let Some(item) = next {
            let again = item.obj_id().is_some_and(|id| !self.seen.insert(id));
            if again || self.bookmarks.len() >= MAX_ENTRIES || level > MAX_DEPTH {
                return;
            }
            let title = item.get::<PdfString<'_>>(b"Title".as_slice()).map(|title| decode_text(title.as_bytes()));
            let place = object(&item, b"Dest").or_else(|| object(&item.get::<Dict<'_>>(b"A".as_slice())?, b"D"));
            if let (Some(title), Some(page)) = (title, place.and_then(|place| self.page_of_place(place))) {
                self.bookmarks.push(Bookmark { title, level, page });
            }
            self.read_level(&item, level + 1);
            next = item.get::<Dict<'_>>(b"Next".as_slice());
        }
    }

    /// The page of a place: a page with a position, a dictionary with one, or a name.
    fn page_of_place(&self, place: Object<'_>) -> Option<usize> {
        let named = |name: &[u8]| self.places.get(name).copied();
        let place = match place {
            Object::Dict(place) => place.get::<Array<'_>>(b"D".as_slice())?,
            Object::Array(place) => place,
            Object::String(name) => return named(name.as_bytes()),
            Object::Name(name) => return named(&name),
            _ => return None,
        };
        match place.raw_iter().next()? {
            MaybeRef::Ref(page) => self.pages.get(&page.into()).copied(),
            // The number of the page, which is meant for other files.
            MaybeRef::NotRef(Object::Number(number)) => usize::try_from(number.as_i64()).ok(),
            MaybeRef::NotRef(_) => None,
        }
    }
}
