//! The work of a document's job: parse its file, and store its chunks step by step.
//!
//! Each step is one transaction that checks how many chunks are stored. After a crash the next attempt parses the file again and
//! continues behind the last step.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use ring::digest::{Context, SHA256};

use super::{DocumentSettings, OriginalReader};
use crate::{failure::Failure, resources::standard_link, use_cases::UseCases, work::Done};
use recall_domain::{Chunk, Document, DocumentId, EventId, MessageId, PageRange, Role, Section, UserText};
use recall_ports::{
    Chunking, CommitError, DocumentOutline, DocumentStep, FollowUp, Job, NewMessage, ParseError, ParsedDocument, SpooledFile, StoreError,
};
use recall_text::{summarize, terms};

/// Chunks that one transaction stores.
const STEP: usize = 32;
/// After this time, an attempt gives the job back and continues later, so that no attempt reaches the limit of the processor.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Enclosing headings that chunks are found by, nearest first. A bound, because a hostile document nests them deeply.
const HEADINGS: usize = 4;
/// Most links that a document keeps.
const MAX_LINKS: usize = 1_000;
/// Longest summary in characters, and how much of the text is read for it, in bytes.
const SUMMARY_CHARS: usize = 600;
const SUMMARIZED_BYTES: usize = 256 * 1024;

/// Why a document cannot be processed, for its owner.
const NO_ORIGINAL: &str = "The file is no longer stored. Add it again.";
const CHANGED: &str = "The server was changed while it read the file. Delete the document and add it again.";
const LIMIT: &str = "Visitor limit reached. Log in to continue.";

impl UseCases {
    /// Parses a document and stores its chunks.
    pub(crate) async fn parse_document(&self, job: &Job) -> Result<Done, Failure> {
        let started = Instant::now();
        let id = DocumentId::from(job.session);
        let Some(settings) = &self.parts.documents else {
            return Err(Failure::Transient("PARSER", "documents are disabled".to_owned()));
        };
        // The document was deleted in the meantime, with its jobs.
        let document = self.parts.store.documents_by_id(&job.caller, &[id]).await?.into_iter().next().ok_or(Failure::NotOurs)?;
        let Some(file) = self.spool(job, settings, id).await? else { return self.fail(job, id, NO_ORIGINAL.to_owned()).await };
        let chunking = Chunking { size: document.chunk_chars as usize, overlap: document.chunk_overlap as usize };
        let parsed = settings.parser.parse(file.path(), document.filename.as_str(), chunking).await;
        drop(file);
        metrics::histogram!("recall_document_parse_seconds").record(started.elapsed().as_secs_f64());
        let parsed = match parsed {
            Ok(parsed) if parsed.chunks.is_empty() => return self.fail(job, id, ParseError::NoText.to_string()).await,
            Ok(parsed) => parsed,
            Err(ParseError::Transient(cause)) => return Err(Failure::Transient("PARSER", cause)),
            Err(e) => return self.fail(job, id, e.to_string()).await,
        };
        if parsed.chunks.iter().any(|chunk| chunk.section as usize >= parsed.sections.len()) {
            return Err(Failure::Permanent("PARSER", "the parser returned a chunk without a section".to_owned()));
        }
        let outline = self.outline(id, &parsed);
        let mut stored = match self.parts.store.begin_document(&job.caller, &job.claim, &outline).await {
            Ok(stored) => stored as usize,
            Err(CommitError::Stale) => return self.fail(job, id, CHANGED.to_owned()).await,
            Err(CommitError::Store(StoreError::QuotaUsed)) => return self.fail(job, id, LIMIT.to_owned()).await,
            Err(e) => return Err(e.into()),
        };
        let paths = heading_paths(&parsed);
        while stored < parsed.chunks.len() {
            if started.elapsed() > ATTEMPT {
                return Ok(Done::Paused);
            }
            let step = self.step(&document, &parsed, &paths, stored).await?;
            let count = step.chunks.len();
            self.parts.store.store_chunks(&job.caller, &job.claim, &step).await?;
            stored += count;
        }
        // The chunks wait behind this job.
        self.parts.wake.notify_one();
        Ok(Done::Jobs(1))
    }

    /// Writes the file of a document to the spool folder; `None` if it is not stored.
    async fn spool(&self, job: &Job, settings: &DocumentSettings, id: DocumentId) -> Result<Option<Box<dyn SpooledFile>>, Failure> {
        let failed = |e: std::io::Error| Failure::Transient("DISK", e.to_string());
        let mut file = settings.spool.create().await.map_err(failed)?;
        let mut original = OriginalReader::open(&self.parts.store, &settings.originals, &job.caller, id).await?;
        let mut is_stored = false;
        while let Some(piece) = original.next().await? {
            file.write(&piece).await.map_err(failed)?;
            is_stored = true;
        }
        file.rewind().await.map_err(failed)?;
        Ok(is_stored.then_some(file))
    }

    async fn fail(&self, job: &Job, id: DocumentId, error: String) -> Result<Done, Failure> {
        let (event, now) = (EventId(self.parts.ids.fresh()), self.now());
        self.parts.store.fail_document(&job.caller, &job.claim, id, &error, event, now).await?;
        Ok(Done::Jobs(1))
    }

    fn outline(&self, document: DocumentId, parsed: &ParsedDocument) -> DocumentOutline {
        let mut seen = HashSet::new();
        let links = parsed.links.iter().filter_map(|link| standard_link(link)).filter(|link| seen.insert(link.clone())).take(MAX_LINKS);
        DocumentOutline {
            document,
            media_type: parsed.format.to_string(),
            title: parsed.title.clone(),
            summary: summarize(beginning(parsed), SUMMARY_CHARS).map(UserText::from),
            pages: parsed.pages,
            links: links.map(UserText::from).collect(),
            chunk_count: u32::try_from(parsed.chunks.len()).unwrap_or(u32::MAX),
            digest: digest(parsed),
            event: EventId(self.parts.ids.fresh()),
            now: self.now(),
        }
    }

    /// Embeds the chunks after the first `stored` ones, at most [`STEP`]. `paths` has the headings above each section.
    async fn step(
        &self,
        document: &Document,
        parsed: &ParsedDocument,
        paths: &[Vec<usize>],
        stored: usize,
    ) -> Result<DocumentStep, Failure> {
        let end = parsed.chunks.len().min(stored + STEP);
        let chunks = parsed.chunks.get(stored..end).unwrap_or_default();
        let texts: Vec<UserText> = chunks.iter().map(|chunk| chunk.text.clone()).collect();
        let mut prepared = self.prepare(&texts).await?;
        for (entry, chunk) in prepared.iter_mut().zip(chunks) {
            let path = paths.get(chunk.section as usize).map_or(&[][..], Vec::as_slice);
            let headings = path.iter().rev().take(HEADINGS).filter_map(|n| parsed.sections.get(*n));
            // The first chunk of a section begins with the heading.
            let headings =
                headings.filter(|section| section.char_offset != chunk.char_offset).filter_map(|section| section.heading.as_ref());
            for heading in headings.chain(&parsed.title) {
                add_terms(&mut entry.terms, heading.as_str());
            }
        }
        let (ids, now) = (&self.parts.ids, self.now());
        let id = document.id;
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let new = chunks.iter().zip(prepared).zip(stored..).map(|((chunk, prepared), position)| {
            let message = NewMessage {
                id: MessageId(ids.fresh()),
                session: id.session(),
                role: Role::Document,
                speaker: None,
                text: chunk.text.clone(),
                sent_at: document.created_at,
                created_at: now,
                source_metadata: None,
                external_id: None,
                resources: Vec::new(),
                prepared,
                mining: FollowUp::Facts,
                answer_from: recall_domain::context::SearchSources::default(),
                kind: None,
                event: EventId(ids.fresh()),
                title: None,
                answers: None,
            };
            let place = Chunk {
                id: message.id,
                document: id,
                position: number(position),
                section: chunk.section,
                heading: None,
                char_offset: chunk.char_offset,
                pages: chunk.pages.as_ref().map(|pages| PageRange { first: *pages.start(), last: *pages.end() }),
                text: chunk.text.clone(),
            };
            (message, place)
        });
        let mut named: Vec<usize> = chunks.iter().map(|chunk| chunk.section as usize).collect();
        named.dedup();
        let sections = named.into_iter().filter_map(|n| Some((n, parsed.sections.get(n)?)));
        let sections = sections.map(|(n, section)| Section {
            position: number(n),
            heading: section.heading.clone(),
            level: section.level,
            char_offset: section.char_offset,
            chars: section.text.as_str().chars().count() as u64,
            pages: section.pages.as_ref().map(|pages| PageRange { first: *pages.start(), last: *pages.end() }),
        });
        Ok(DocumentStep {
            document: id,
            first: number(stored),
            sections: sections.collect(),
            chunks: new.collect(),
            event: EventId(ids.fresh()),
            now,
        })
    }
}

/// Returns the sections with headings that enclose each section, outermost first and itself last. A section without a heading belongs
/// to the one before.
fn heading_paths(parsed: &ParsedDocument) -> Vec<Vec<usize>> {
    let mut path: Vec<(u8, usize)> = Vec::new();
    let numbered = parsed.sections.iter().enumerate();
    numbered
        .map(|(n, section)| {
            if section.heading.is_some() {
                path.retain(|(level, _)| *level < section.level);
                path.push((section.level, n));
            }
            path.iter().map(|(_, n)| *n).collect()
        })
        .collect()
}

/// Adds the terms of a heading or title to those of a chunk below it, which is about it and may not name it.
fn add_terms(of_chunk: &mut Vec<(String, u32)>, heading: &str) {
    for (term, count) in terms(heading) {
        match of_chunk.iter_mut().find(|(known, _)| *known == term) {
            Some((_, known)) => *known += count,
            None => of_chunk.push((term, count)),
        }
    }
}

/// Returns the texts of the first sections, without the end of a large document.
fn beginning(parsed: &ParsedDocument) -> impl Iterator<Item = &str> {
    parsed.sections.iter().scan(SUMMARIZED_BYTES, |room, section| {
        let text = section.text.as_str();
        let text = text.get(..text.floor_char_boundary(*room)).filter(|_| *room > 0)?;
        *room -= text.len();
        Some(text)
    })
}

/// A digest of the chunks: their texts and offsets.
fn digest(parsed: &ParsedDocument) -> String {
    let mut hash = Context::new(&SHA256);
    for chunk in &parsed.chunks {
        hash.update(&chunk.char_offset.to_be_bytes());
        hash.update(&(chunk.text.as_str().len() as u64).to_be_bytes());
        hash.update(chunk.text.as_str().as_bytes());
    }
    hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use recall_ports::{DocumentFormat, ParsedSection};

    use super::*;

    fn section(heading: Option<&str>, level: u8) -> ParsedSection {
        ParsedSection { heading: heading.map(Into::into), level, text: "".into(), char_offset: 0, pages: None }
    }

    #[test]
    fn section_is_enclosed_by_earlier_sections_of_higher_levels() {
        let sections = vec![
            section(None, 0),
            section(Some("3 The root"), 1),
            section(Some("3.11 /media"), 2),
            section(Some("3.11.1 Purpose"), 3),
            section(None, 0),
            section(Some("4 The /usr hierarchy"), 1),
        ];
        let parsed =
            ParsedDocument { format: DocumentFormat::PlainText, title: None, pages: None, sections, chunks: Vec::new(), links: Vec::new() };
        let expected: [&[usize]; 6] = [&[], &[1], &[1, 2], &[1, 2, 3], &[1, 2, 3], &[5]];
        assert_eq!(heading_paths(&parsed), expected);
    }

    #[test]
    fn heading_adds_its_terms_once_each() {
        let mut of_chunk = terms("The key must be kept. Lost keys cost 20 euros.");
        add_terms(&mut of_chunk, "2. Keys of the office");
        let count = |term: &str| of_chunk.iter().filter(|(known, _)| known == term).map(|(_, count)| *count).collect::<Vec<_>>();
        assert_eq!((count("key"), count("offic"), count("the")), (vec![3], vec![1], vec![]));
    }
}
