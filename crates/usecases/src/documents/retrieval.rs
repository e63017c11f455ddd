//! What retrieval needs of documents: which ones a search looks at, and the chunks of its hits.

use std::collections::{HashMap, HashSet};

use crate::passages::Relevance;
use crate::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{
    Caller, Chunk, Citation, CitedChunk, Document, DocumentId, FactStatus, MessageId, Stance, UserText,
    context::{RankedChunk, RankedFact, SearchSource, SearchSources},
};
use recall_ports::{DocumentFilter, IndexHit, IndexSources, IndexedDocuments, StoreError};

/// Most characters of a passage, and most chunks that are read for it.
const PASSAGE_CHARS: usize = 4_000;
const PASSAGE_CHUNKS: u32 = 33;

impl UseCases {
    /// Returns which messages and documents a search looks at.
    pub(crate) async fn index_sources(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        sources: &SearchSources,
    ) -> Result<IndexSources, UseCaseError> {
        let messages = sources.include(SearchSource::Messages);
        if !sources.include(SearchSource::Documents) {
            return Ok(IndexSources { messages, documents: IndexedDocuments::None });
        }
        if !sources.names_documents() {
            return Ok(IndexSources { messages, documents: IndexedDocuments::AllBut(Vec::new()) });
        }
        let filter = DocumentFilter {
            collections: sources.collections.clone(),
            ids: sources.documents.clone(),
            // A document that the query names is searched whatever its version.
            current: sources.documents.is_empty(),
            ..DocumentFilter::default()
        };
        let mut found = self.parts.store.document_ids(caller, &filter).await?;
        if let Some(shared) = shared {
            found.extend(self.parts.store.document_ids(shared, &filter).await?);
        }
        Ok(IndexSources { messages, documents: IndexedDocuments::Only(found) })
    }

    /// Returns all documents with a newer version, if a hit is a chunk of one of them.
    pub(crate) async fn superseded(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        hits: &[IndexHit],
    ) -> Result<Vec<DocumentId>, UseCaseError> {
        let mut superseded = Vec::new();
        for (whose, is_second) in [(Some(caller), false), (shared, true)] {
            let Some(whose) = whose.filter(|_| hits.iter().any(|hit| hit.is_chunk && hit.is_second == is_second)) else { continue };
            superseded.extend(self.parts.store.superseded_documents(whose).await?);
        }
        if superseded.is_empty() {
            return Ok(superseded);
        }
        let chunks = self.chunks_of(caller, shared, hits).await?;
        let is_old = |hit: &IndexHit| chunks.get(&hit.message).is_some_and(|chunk| superseded.contains(&chunk.document));
        Ok(if hits.iter().any(is_old) { superseded } else { Vec::new() })
    }

    /// Loads the chunks of the hits, in order. Those deleted in the meantime are left out, and so are the first messages of documents.
    pub(crate) async fn ranked_chunks(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        hits: Vec<IndexHit>,
        relevance: &Relevance,
    ) -> Result<Vec<RankedChunk>, UseCaseError> {
        let mut chunks = self.chunks_of(caller, shared, &hits).await?;
        let mut documents: HashMap<DocumentId, Document> = HashMap::new();
        for (whose, is_second) in [(Some(caller), false), (shared, true)] {
            let of_hit = |hit: &IndexHit| chunks.get(&hit.message).map(|chunk| chunk.document);
            let ids: HashSet<DocumentId> = hits.iter().filter(|hit| hit.is_second == is_second).filter_map(of_hit).collect();
            if let Some(whose) = whose.filter(|_| !ids.is_empty()) {
                let ids: Vec<DocumentId> = ids.into_iter().collect();
                documents.extend(self.parts.store.documents_by_id(whose, &ids).await?.into_iter().map(|d| (d.id, d)));
            }
        }
        let ranked = |hit: IndexHit| {
            let chunk = chunks.remove(&hit.message)?;
            let document = documents.get(&chunk.document)?.clone();
            let shared = hit.is_second || caller.is_shared();
            let relevance = relevance.get(&hit.message).copied().map(f64::from);
            Some(RankedChunk { chunk, document, score: f64::from(hit.score), relevance, methods: hit.methods, shared })
        };
        Ok(hits.into_iter().filter_map(ranked).collect())
    }

    async fn chunks_of(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        hits: &[IndexHit],
    ) -> Result<HashMap<MessageId, Chunk>, UseCaseError> {
        let mut chunks = HashMap::new();
        for (whose, is_second) in [(Some(caller), false), (shared, true)] {
            let wanted = hits.iter().filter(|hit| hit.is_chunk && hit.is_second == is_second);
            let ids: Vec<MessageId> = wanted.map(|hit| hit.message).collect();
            if let Some(whose) = whose.filter(|_| !ids.is_empty()) {
                chunks.extend(self.parts.store.chunks_by_id(whose, &ids).await?.into_iter().map(|chunk| (chunk.id, chunk)));
            }
        }
        Ok(chunks)
    }

    /// Returns the facts with evidence in the sources of a query, without other evidence.
    pub(crate) async fn facts_of_sources(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        mut facts: Vec<RankedFact>,
        sources: &SearchSources,
    ) -> Result<Vec<RankedFact>, UseCaseError> {
        if sources.is_all() {
            return Ok(facts);
        }
        // Whether each document is one of the sources.
        let mut documents: HashMap<DocumentId, bool> = HashMap::new();
        for is_shared in [false, true] {
            let whose = if is_shared == caller.is_shared() { Some(caller) } else { shared.filter(|_| is_shared) };
            let evidence = facts.iter().filter(|f| f.shared == is_shared).flat_map(|f| &f.evidence);
            let ids: HashSet<DocumentId> = evidence.map(|e| DocumentId::from(e.session)).collect();
            let ids: Vec<DocumentId> = ids.into_iter().collect();
            if let Some(whose) = whose.filter(|_| !ids.is_empty()) {
                let found = self.parts.store.documents_by_id(whose, &ids).await?;
                documents.extend(found.into_iter().map(|d| (d.id, sources.include_document(d.id, &d.collection))));
            }
        }
        let messages = sources.include(SearchSource::Messages);
        facts.retain_mut(|fact| {
            // What only sources outside of the search say must not be told.
            let stated_by = stating_stance(fact);
            fact.evidence.retain(|evidence| documents.get(&evidence.session.into()).copied().unwrap_or(messages));
            fact.evidence.iter().any(|evidence| evidence.stance == stated_by)
        });
        Ok(facts)
    }

    /// Makes citations of chunks out of citations of the messages that store them: facts cite the message of their evidence.
    pub(crate) async fn cite_documents(&self, caller: &Caller, citations: &mut [Citation]) -> Result<(), StoreError> {
        for shared in [false, true] {
            let of_facts = citations.iter().filter(|c| c.shared == shared && c.fact_id.is_some());
            let ids: Vec<MessageId> = of_facts.filter_map(|c| c.message_id).collect();
            let whose = if shared { caller.shared_reader() } else { Some(*caller) };
            let Some(whose) = whose.filter(|_| !ids.is_empty()) else { continue };
            let chunks = self.parts.store.chunks_by_id(&whose, &ids).await?;
            if chunks.is_empty() {
                continue;
            }
            let documents: Vec<DocumentId> = chunks.iter().map(|chunk| chunk.document).collect();
            let documents = self.parts.store.documents_by_id(&whose, &documents).await?;
            for citation in citations.iter_mut().filter(|c| c.shared == shared) {
                let chunk = citation.message_id.and_then(|id| chunks.iter().find(|chunk| chunk.id == id));
                let document = chunk.and_then(|chunk| documents.iter().find(|document| document.id == chunk.document));
                if let Some((chunk, document)) = chunk.zip(document) {
                    let (chunk_id, document_id, filename) = (chunk.id, document.id, document.filename.clone());
                    citation.excerpt = chunk.without_headings(citation.excerpt.as_str()).into();
                    citation.cite(CitedChunk { chunk_id, document_id, filename, pages: chunk.pages });
                }
            }
        }
        Ok(())
    }

    /// Returns the passage around a chunk: the text of its section, or as much of it as fits.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn passage(&self, caller: &Caller, chunk: &Chunk) -> Result<UserText, UseCaseError> {
        let first = chunk.position.saturating_sub(PASSAGE_CHUNKS / 2);
        let around = self.parts.store.chunks_from(caller, chunk.document, first, PASSAGE_CHUNKS).await?;
        Ok(UserText::from(join(chunk, &around, PASSAGE_CHARS)))
    }
}

/// Returns the stance of the evidence that says what is told of a fact: that it holds, that it ended, or that it is denied.
///
/// A fact that only rivals oppose is contested, not denied.
fn stating_stance(ranked: &RankedFact) -> Stance {
    let fact = &ranked.fact;
    let is_denied = || ranked.evidence.iter().any(|e| e.stance == Stance::Opposes && e.span.is_some());
    match fact.status {
        FactStatus::Ended => Stance::Ends,
        _ if fact.opposition > fact.support && (fact.support == 0.0 || is_denied()) => Stance::Opposes,
        _ => Stance::Supports,
    }
}

/// Joins the chunks of a section around one of them, without repeating where they overlap.
///
/// Chunks are added after and before it in turn, while the text is not longer than `most` characters.
fn join(chunk: &Chunk, around: &[Chunk], most: usize) -> String {
    let same: Vec<&Chunk> = around.iter().filter(|c| c.section == chunk.section).collect();
    let Some(at) = same.iter().position(|c| c.position == chunk.position) else { return chunk.text.as_str().to_owned() };
    let end = |c: &Chunk| c.char_offset + c.text.as_str().chars().count() as u64;
    let (mut first, mut last) = (at, at);
    loop {
        let length = |a: usize, b: usize| same.get(a).zip(same.get(b)).map_or(u64::MAX, |(a, b)| end(b).saturating_sub(a.char_offset));
        let fits = |a: usize, b: usize| length(a, b) <= most as u64;
        let (before, after) = (first, last);
        if last + 1 < same.len() && fits(first, last + 1) {
            last += 1;
        }
        if first > 0 && fits(first - 1, last) {
            first -= 1;
        }
        if (before, after) == (first, last) {
            break;
        }
    }
    let mut text = String::new();
    let mut next = same.get(first).map_or(0, |c| c.char_offset);
    for c in same.get(first..=last).unwrap_or_default() {
        let repeated = usize::try_from(next.saturating_sub(c.char_offset)).unwrap_or(usize::MAX);
        // The splitter drops white space between chunks.
        if c.char_offset > next {
            text.push('\n');
        }
        text.extend(c.text.as_str().chars().skip(repeated));
        next = next.max(end(c));
    }
    text
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn chunk(position: u32, section: u32, char_offset: u64, text: &str) -> Chunk {
        Chunk {
            id: MessageId(Uuid::from_u128(position.into())),
            document: DocumentId(Uuid::nil()),
            position,
            section,
            heading: None,
            char_offset,
            pages: None,
            text: text.into(),
        }
    }

    #[test]
    fn passage_joins_the_section_without_repetition() {
        let all = [
            chunk(0, 0, 0, "Intro."),
            chunk(1, 1, 10, "One two three"),
            chunk(2, 1, 18, "three four"),
            chunk(3, 1, 30, "five"),
            chunk(4, 2, 40, "Next."),
        ];
        assert_eq!(join(&all[2], &all, 100), "One two three four\nfive");
        assert_eq!(join(&all[2], &all, 16), "three four\nfive");
        assert_eq!(join(&all[2], &all, 5), "three four");
        assert_eq!(join(&all[0], &all, 100), "Intro.");
        assert_eq!(join(&all[0], &[], 100), "Intro.");
    }
}
