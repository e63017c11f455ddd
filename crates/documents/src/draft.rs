//! What the parser of a format finds, before it is split into sections and chunks.

/// The text of a document as a list of blocks.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// The title that the document states.
    pub(crate) title: Option<String>,
    /// The number of pages, if the format has pages.
    pub(crate) pages: Option<u32>,
    /// The blocks in reading order.
    pub(crate) blocks: Vec<Block>,
    /// Addresses that the document links to, without those that its text names.
    pub(crate) links: Vec<String>,
}

/// A heading, a paragraph or a line.
#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    /// The pages of the text: the byte at which each begins, and its number from 1. Empty if the format has no pages.
    pub(crate) pages: Vec<(usize, u32)>,
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A heading, with its depth from 1.
    Heading(u8),
    /// A paragraph, separated from its neighbours by an empty line.
    Paragraph,
    /// A list item or a row of a table. Neighbouring lines are separated by a line break.
    Line,
}

impl Block {
    /// A block of a format without pages.
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), pages: Vec::new() }
    }
}

impl Draft {
    /// Adds a block of a format without pages, unless it has no text.
    pub(crate) fn push(&mut self, kind: Kind, text: &str) {
        if !text.trim().is_empty() {
            self.blocks.push(Block::new(kind, text));
        }
    }
}
