//! `recall parse`: shows what the parser reads in a document. Also the child process of the parser.

use std::{fmt::Write, ops::RangeInclusive, path::Path};

use anyhow::Context;
use clap::Args;

use super::{adapters, output};
use crate::config::Config;
use recall_documents::{ChildLimits, TextKind, child};
use recall_ports::{Chunking, ParsedDocument};

/// Characters of a chunk that are shown.
const SHOWN: usize = 100;

/// The arguments that the parser of documents gives its child process.
#[derive(Args)]
pub(super) struct ChildArgs {
    #[arg(long)]
    markdown: bool,
    /// Whether the file is a table of separated values, by the ending of its name.
    #[arg(long)]
    table: bool,
    #[arg(long)]
    chunk_chars: usize,
    #[arg(long)]
    chunk_overlap: usize,
    #[arg(long)]
    memory: u64,
    #[arg(long)]
    seconds: u32,
}

impl ChildArgs {
    /// Parses standard input.
    pub(super) fn run(self) -> anyhow::Result<()> {
        let chunking = Chunking { size: self.chunk_chars, overlap: self.chunk_overlap };
        let kind = match (self.markdown, self.table) {
            (true, _) => TextKind::Markdown,
            (_, true) => TextKind::SeparatedValues,
            _ => TextKind::Plain,
        };
        Ok(child::run(kind, chunking, ChildLimits { memory: self.memory, seconds: self.seconds, children: 1 })?)
    }
}

/// The chunks of the configuration.
pub(super) fn chunking(config: &Config) -> Chunking {
    Chunking { size: config.documents.chunk_chars, overlap: config.documents.chunk_overlap }
}

/// Parses a file and prints the result.
pub(super) async fn run(config: &Config, file: &Path, json: bool) -> anyhow::Result<()> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parser = adapters::document_parser(config)?;
    let document = parser.parse(file, name, chunking(config)).await.with_context(|| file.display().to_string())?;
    let text = if json { serde_json::to_string_pretty(&document)? + "\n" } else { describe(&document)? };
    output::print(format_args!("{text}"))
}

/// Describes a document for people.
fn describe(document: &ParsedDocument) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let chars: usize = document.sections.iter().map(|section| section.text.as_str().chars().count()).sum();
    writeln!(text, "format    {}", document.format)?;
    writeln!(text, "title     {}", document.title.as_ref().map_or("-", |title| title.as_str()))?;
    writeln!(text, "pages     {}", document.pages.map_or_else(|| "-".to_owned(), |pages| pages.to_string()))?;
    writeln!(text, "text      {chars} characters in {} sections and {} chunks", document.sections.len(), document.chunks.len())?;
    writeln!(text, "links     {}", document.links.len())?;
    let mut chunks = document.chunks.iter().peekable();
    for (index, section) in document.sections.iter().enumerate() {
        let heading = section.heading.as_ref().map_or("(no heading)", |heading| heading.as_str());
        let mark = "#".repeat(usize::from(section.level));
        writeln!(text, "\n{mark} {heading}{}", describe_pages(section.pages.as_ref()))?;
        while let Some(chunk) = chunks.next_if(|chunk| usize::try_from(chunk.section) == Ok(index)) {
            let chunk_text = chunk.text.as_str();
            let shown: String = chunk_text.chars().take(SHOWN).map(|c| if c == '\n' { ' ' } else { c }).collect();
            let rest = if chunk_text.chars().nth(SHOWN).is_some() { " …" } else { "" };
            writeln!(
                text,
                "  {}+{}{}: {shown}{rest}",
                chunk.char_offset,
                chunk_text.chars().count(),
                describe_pages(chunk.pages.as_ref())
            )?;
        }
    }
    Ok(text)
}

fn describe_pages(pages: Option<&RangeInclusive<u32>>) -> String {
    match pages {
        None => String::new(),
        Some(pages) if pages.start() == pages.end() => format!(" (page {})", pages.start()),
        Some(pages) => format!(" (pages {} to {})", pages.start(), pages.end()),
    }
}
