//! Compares documents: `select` chooses the passages, `work` is the job, `relate` finds connections in the graph, `narrow` keeps what bears
//! on the question, and `report` checks and orders the points.

mod narrow;
mod relate;
mod report;
mod select;
mod work;

use super::{check, error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{
    Caller, Chunk, Citation, CitedChunk, Comparison, ComparisonId, ComparisonPoint, ComparisonStatus, Document, DocumentId, DocumentStatus,
    EventId, MessageId, Page, Role, SessionId, UserText, comparison::COMPARED_DOCUMENTS,
};
use recall_ports::{ComparedDocument, FollowUp, NewComparison, NewMessage, StoreError};

/// Comparisons that are deleted in one page when one of their documents is.
const DELETED_AT_ONCE: u32 = 50;

/// Longest question, in characters. The demo accepts no longer one.
const MAX_QUESTION: usize = 1_000;

/// A document that is compared, and the caller that may read it.
pub(super) struct Compared {
    pub(super) document: ComparedDocument,
    pub(super) reader: Caller,
}

impl Compared {
    /// Returns a citation of the document, without headings before the words.
    fn citation(&self, index: u32, chunk: &Chunk, excerpt: &UserText) -> Citation {
        let ComparedDocument { document, shared } = &self.document;
        let excerpt = chunk.without_headings(excerpt.as_str()).into();
        let mut citation = Citation { index, message_id: None, chunk: None, fact_id: None, excerpt, shared: *shared };
        let filename = document.filename.clone();
        citation.cite(CitedChunk { chunk_id: chunk.id, document_id: chunk.document, filename, pages: chunk.pages });
        citation
    }
}

impl UseCases {
    /// Stores a comparison of documents and queues its work. The documents may belong to shared memory.
    ///
    /// # Errors
    /// `Invalid` for another number of documents, a bad question, or documents that are not searchable, `NotFound` for unknown documents.
    pub async fn compare_documents(
        &self,
        caller: &Caller,
        documents: Vec<DocumentId>,
        question: Option<String>,
    ) -> Result<Comparison, UseCaseError> {
        shared::may_write(caller)?;
        let mut different = documents.clone();
        different.sort_unstable();
        different.dedup();
        if different.len() != documents.len() || !COMPARED_DOCUMENTS.contains(&documents.len()) {
            let message = format!("Choose {} to {} different documents.", COMPARED_DOCUMENTS.start(), COMPARED_DOCUMENTS.end());
            return Err(UseCaseError::invalid("COMPARED_DOCUMENTS", "documentIds", message));
        }
        let question = question.filter(|question| !question.trim().is_empty());
        if let Some(question) = &question {
            check_question(question)?;
        }
        let compared = self.compared(caller, &documents).await?;
        if compared.len() != documents.len() {
            return Err(UseCaseError::NotFound { noun: "document" });
        }
        let is_read = |c: &Compared| {
            let document = &c.document.document;
            document.chunk_count > 0 && document.stored >= document.chunk_count && document.status != DocumentStatus::Failed
        };
        if let Some(unread) = compared.iter().find(|c| !is_read(c)) {
            return Err(unread_document(&unread.document.document));
        }
        let question = question.map(|question| self.masked(&question).into_owned());
        let title = question.clone().unwrap_or_else(|| names(&compared));
        let (p, now, id) = (&self.parts, self.now(), ComparisonId(self.parts.ids.fresh()));
        let title = UserText::from(check::title_of(&title));
        let prepared = self.prepare(std::slice::from_ref(&title)).await?.into_iter().next();
        let prepared = prepared.ok_or_else(|| UseCaseError::Internal { cause: "no vector came back".into() })?;
        let comparison = Comparison {
            id,
            question: question.map(UserText::from),
            documents,
            status: ComparisonStatus::Pending,
            error: None,
            done: 0,
            total: 0,
            comparer: None,
            groups: Vec::new(),
            points: Vec::new(),
            created_at: now,
            updated_at: now,
        };
        let message = NewMessage {
            id: MessageId(p.ids.fresh()),
            session: id.session(),
            role: Role::Document,
            speaker: None,
            text: title,
            sent_at: now,
            created_at: now,
            source_metadata: None,
            external_id: None,
            resources: Vec::new(),
            prepared,
            mining: FollowUp::Compare,
            answer_from: recall_domain::context::SearchSources::default(),
            kind: None,
            event: EventId(p.ids.fresh()),
            title: None,
            answers: None,
        };
        let epoch = format!("{:08x}", (p.ids.fresh().as_u128() & 0xffff_ffff) as u32);
        let new = NewComparison { comparison, message, epoch, event: EventId(p.ids.fresh()) };
        let comparison = p.store.add_comparison(caller, new).await?;
        metrics::counter!("recall_comparisons_total").increment(1);
        p.wake.notify_one();
        Ok(comparison)
    }

    /// Returns the documents that the caller may read, in the given order; others are left out.
    pub(super) async fn compared(&self, caller: &Caller, ids: &[DocumentId]) -> Result<Vec<Compared>, StoreError> {
        let mut found = Vec::new();
        for reader in [Some(*caller), self.shared_reader(caller).await?].into_iter().flatten() {
            for document in self.parts.store.documents_by_id(&reader, ids).await? {
                found.push(Compared { document: ComparedDocument { document, shared: reader.is_shared() }, reader });
            }
        }
        found.sort_by_key(|c| ids.iter().position(|id| *id == c.document.document.id));
        Ok(found)
    }

    /// Removes the points that cite a chunk that can no longer be read: its words were forgotten, or its document was deleted.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn readable_points(&self, caller: &Caller, points: Vec<ComparisonPoint>) -> Result<Vec<ComparisonPoint>, UseCaseError> {
        let mut cited: Vec<MessageId> = points.iter().flat_map(|p| &p.citations).filter_map(|c| Some(c.chunk.as_ref()?.chunk_id)).collect();
        cited.sort_unstable();
        cited.dedup();
        if cited.is_empty() {
            return Ok(points);
        }
        let mut readable = Vec::new();
        for reader in [Some(*caller), self.shared_reader(caller).await?].into_iter().flatten() {
            let chunks = self.parts.store.chunks_by_id(&reader, &cited).await?;
            readable.extend(chunks.into_iter().filter(|chunk| !chunk.text.as_str().is_empty()).map(|chunk| chunk.id));
        }
        let is_readable = |p: &ComparisonPoint| p.citations.iter().filter_map(|c| c.chunk.as_ref()).all(|c| readable.contains(&c.chunk_id));
        Ok(points.into_iter().filter(is_readable).collect())
    }

    /// Deletes a comparison.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's.
    pub async fn delete_comparison(&self, caller: &Caller, id: ComparisonId) -> Result<(), UseCaseError> {
        shared::may_write(caller)?;
        let found = self.parts.store.comparisons_by_id(caller, &[id]).await?;
        if found.is_empty() {
            return Err(UseCaseError::NotFound { noun: "comparison" });
        }
        self.delete_session(caller, id.session()).await?;
        Ok(())
    }

    /// Deletes the comparisons of a document that is about to be deleted: they quote it. Does nothing for a session of another kind.
    pub(super) async fn delete_comparisons_of(&self, caller: &Caller, session: SessionId) -> Result<(), UseCaseError> {
        let page = Page::first(DELETED_AT_ONCE);
        loop {
            let found = self.parts.store.list_comparisons(caller, Some(session.into()), &page).await?;
            if found.items.is_empty() {
                return Ok(());
            }
            for (_, comparison) in found.items {
                match Box::pin(self.delete_session(caller, comparison.id.session())).await {
                    // Another request deletes it.
                    Ok(_) | Err(UseCaseError::NotFound { .. }) => {}
                    Err(e) => return Err(e),
                }
            }
        }
    }
}

/// Checks the length and the characters of a question.
fn check_question(question: &str) -> Result<(), UseCaseError> {
    if question.chars().count() > MAX_QUESTION {
        let message = format!("The question is longer than {MAX_QUESTION} characters. Shorten it.");
        return Err(UseCaseError::invalid("QUERY_TOO_LONG", "question", message));
    }
    check::query(question).map_err(|e| match e {
        UseCaseError::Invalid { code, message, .. } => UseCaseError::Invalid { code, message, path: "question".into() },
        e => e,
    })
}

/// Says which document cannot be compared, and why.
fn unread_document(document: &Document) -> UseCaseError {
    let name = document.filename.as_str();
    let (code, message) = match document.status {
        DocumentStatus::Failed => ("DOCUMENT_FAILED", format!("“{name}” could not be read. Compare other documents, or add it again.")),
        _ => ("DOCUMENT_IN_PROGRESS", format!("“{name}” is still being read. Compare it when it is searchable.")),
    };
    UseCaseError::invalid(code, "documentIds", message)
}

/// Names the compared documents: "Compare a.pdf and b.pdf".
fn names(compared: &[Compared]) -> String {
    let names: Vec<&str> = compared.iter().map(|c| c.document.document.filename.as_str()).collect();
    format!("Compare {}", names.join(" and "))
}
