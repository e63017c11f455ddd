//! Adds, finds and deletes documents. `upload` receives their files, and `parse` is the work of their jobs. `passages` orders their
//! chunks for a question.

mod originals;
mod parse;
mod retrieval;
mod upload;

use std::sync::Arc;

use super::{check, error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{
    Caller, Document, DocumentId, DocumentStatus, EventId, MessageId, Role, Timestamp, UserText, context::SearchSources,
    document::DEFAULT_COLLECTION,
};
use recall_ports::{AddedDocument, Chunking, DocumentParser, FollowUp, NewDocument, NewMessage, Original, SessionDeleted, Spool};

pub use originals::{OriginalReader, OriginalSettings, WholeSnapshot};
pub use upload::Upload;

/// Longest path of a document, in bytes.
const MAX_PATH_BYTES: usize = 1_000;
/// Longest name of a file, in bytes. A longer one is cut.
const MAX_FILENAME_BYTES: usize = 200;

/// What documents need.
#[derive(Clone)]
pub struct DocumentSettings {
    /// Reads files.
    pub parser: Arc<dyn DocumentParser>,
    /// Holds files that are being received or parsed.
    pub spool: Arc<dyn Spool>,
    /// Where files stay.
    pub originals: OriginalSettings,
    /// Largest file, in bytes.
    pub max_bytes: u64,
    /// How texts are split.
    pub chunking: Chunking,
}

/// A document to add.
#[derive(Clone, Debug, Default)]
pub struct AddDocument {
    /// Its collection; default: `default`.
    pub collection: Option<String>,
    /// Where the owner keeps it. The same path with other content makes a new version.
    pub path: Option<String>,
    /// The name of its file; default: the last part of the path.
    pub filename: Option<String>,
}

impl UseCases {
    fn document_settings(&self) -> Result<&DocumentSettings, UseCaseError> {
        let message = "This server takes no documents.";
        self.parts.documents.as_ref().ok_or(UseCaseError::Refused { code: "DOCUMENTS_DISABLED", message })
    }

    /// Returns the size of the largest file that the server takes, in bytes.
    pub fn max_document_bytes(&self) -> u64 {
        self.parts.documents.as_ref().map_or(0, |settings| settings.max_bytes)
    }

    /// Begins to receive a file.
    ///
    /// # Errors
    /// `Refused` if the server takes no documents, `Forbidden` if the caller may not write.
    pub async fn begin_upload(&self, caller: &Caller) -> Result<Upload, UseCaseError> {
        shared::may_write(caller)?;
        let settings = self.document_settings()?;
        Upload::begin(settings.spool.as_ref(), settings.max_bytes).await
    }

    /// Stores a received file as a document and queues its processing. Returns the known document, and true, if the collection has the
    /// same content already.
    ///
    /// # Errors
    /// `Invalid` for bad input. Nothing is stored on an error.
    pub async fn add_document(&self, caller: &Caller, upload: Upload, new: AddDocument) -> Result<(Document, bool), UseCaseError> {
        shared::may_write(caller)?;
        let chunking = self.document_settings()?.chunking;
        let collection = collection(new.collection)?;
        let path = new.path.map(path).transpose()?;
        let filename = filename(new.filename.as_deref().or(path.as_deref()).unwrap_or_default());
        let (file, bytes, sha256) = upload.finish().await?;
        let (p, filename) = (&self.parts, UserText::from(filename));
        let now = p.clock.now();
        let id = DocumentId(p.ids.fresh());
        let prepared = self.prepare(std::slice::from_ref(&filename)).await?.into_iter().next();
        let prepared = prepared.ok_or_else(|| UseCaseError::Internal { cause: "no vector came back".into() })?;
        let document = Document {
            id,
            collection,
            path: path.map(UserText::from),
            version: 1,
            is_current: true,
            filename: filename.clone(),
            media_type: None,
            bytes,
            sha256,
            status: DocumentStatus::Pending,
            error: None,
            title: None,
            summary: None,
            pages: None,
            links: Vec::new(),
            chunk_count: 0,
            stored: 0,
            understood: 0,
            chunk_chars: u32::try_from(chunking.size).unwrap_or(u32::MAX),
            chunk_overlap: u32::try_from(chunking.overlap).unwrap_or(u32::MAX),
            has_original: true,
            created_at: now,
            updated_at: now,
            viewed_at: None,
        };
        let message = NewMessage {
            id: MessageId(p.ids.fresh()),
            session: id.session(),
            role: Role::Document,
            speaker: None,
            text: filename,
            sent_at: now,
            created_at: now,
            source_metadata: None,
            external_id: None,
            resources: Vec::new(),
            prepared,
            mining: FollowUp::Parse,
            answer_from: SearchSources::default(),
            kind: None,
            event: EventId(p.ids.fresh()),
            title: None,
            answers: None,
        };
        let epoch = format!("{:08x}", (p.ids.fresh().as_u128() & 0xffff_ffff) as u32);
        let original = self.keep_original(file).await?;
        let file = if let Original::File(id) = &original { Some(*id) } else { None };
        let new = NewDocument { document, original, message, epoch, event: EventId(p.ids.fresh()) };
        match p.store.add_document(caller, new).await {
            // A failed transaction may still have been committed. Then the document has the file, and it cannot be discarded.
            Err(e) => Err(e.into()),
            Ok(AddedDocument::Duplicate(known)) => {
                self.discard_file(file).await;
                Ok((known, true))
            }
            Ok(AddedDocument::Added(document)) => {
                if caller.is_shared() {
                    self.shared_in_use.note(true);
                }
                metrics::counter!("recall_documents_total").increment(1);
                p.wake.notify_one();
                Ok((document, false))
            }
        }
    }

    /// Stores a text as a document, as [`Self::add_document`] does with a file.
    ///
    /// # Errors
    /// As [`Self::add_document`].
    pub async fn add_text_document(&self, caller: &Caller, text: &str, new: AddDocument) -> Result<(Document, bool), UseCaseError> {
        let mut upload = self.begin_upload(caller).await?;
        upload.write(text.as_bytes()).await?;
        self.add_document(caller, upload, new).await
    }

    /// Returns the document, if it is the caller's.
    ///
    /// # Errors
    /// `NotFound` otherwise.
    pub async fn document(&self, caller: &Caller, id: DocumentId) -> Result<Document, UseCaseError> {
        let found = self.parts.store.documents_by_id(caller, &[id]).await?;
        found.into_iter().next().ok_or(UseCaseError::NotFound { noun: "document" })
    }

    /// Records that the caller views a document of the own memory, or of shared memory. Returns the time.
    ///
    /// # Errors
    /// `NotFound` if it is not stored there.
    pub async fn mark_viewed(&self, caller: &Caller, id: DocumentId, is_shared: bool) -> Result<Timestamp, UseCaseError> {
        let (store, now) = (&self.parts.store, self.now());
        let viewed = match is_shared {
            true => store.view_shared_document(caller, id, now).await,
            false => store.view_document(caller, id, now).await,
        };
        viewed.map_err(|e| UseCaseError::of(e, "document"))?;
        Ok(now)
    }

    /// Deletes a document with its file, chunks and evidence. Facts with other evidence stay and are re-weighed.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's.
    pub async fn delete_document(&self, caller: &Caller, id: DocumentId) -> Result<SessionDeleted, UseCaseError> {
        shared::may_write(caller)?;
        self.document(caller, id).await?;
        self.delete_session(caller, id.session()).await
    }

    /// Deletes the file of a document and keeps its chunks.
    ///
    /// # Errors
    /// `NotFound` if the document is not the caller's, `Refused` while it is being processed.
    pub async fn delete_original(&self, caller: &Caller, id: DocumentId) -> Result<Document, UseCaseError> {
        shared::may_write(caller)?;
        let document = self.document(caller, id).await?;
        if matches!(document.status, DocumentStatus::Pending) || document.chunk_count > document.stored {
            let message = "The document is still being read. Delete its file when that is done.";
            return Err(UseCaseError::Refused { code: "DOCUMENT_IN_PROGRESS", message });
        }
        let store = &self.parts.store;
        store.delete_original(caller, id, self.now()).await.map_err(|e| UseCaseError::of(e, "document"))?;
        self.document(caller, id).await
    }
}

/// Checks the name of a collection.
fn collection(name: Option<String>) -> Result<String, UseCaseError> {
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| DEFAULT_COLLECTION.to_owned());
    check::collection(&name, "collection")?;
    Ok(name)
}

/// Checks a path and returns it trimmed.
fn path(path: String) -> Result<String, UseCaseError> {
    check::path(&path, MAX_PATH_BYTES)?;
    Ok(path.trim().to_owned())
}

/// Returns the last part of a path, without control characters and not too long.
fn filename(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).find(|part| !part.trim().is_empty()).unwrap_or("document");
    let plain: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.trim();
    let mut end = plain.len().min(MAX_FILENAME_BYTES);
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    plain.get(..end).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filename_is_the_last_part_of_a_path() {
        let cases = [
            ("a/b/report.pdf", "report.pdf"),
            ("C:\\Users\\me\\notes.md", "notes.md"),
            ("../../etc/passwd", "passwd"),
            ("", "document"),
            ("a/", "a"),
            ("x\0y\n.txt", "x y .txt"),
        ];
        for (path, name) in cases {
            assert_eq!(filename(path), name, "{path}");
        }
        assert!(filename(&"ä".repeat(500)).len() <= MAX_FILENAME_BYTES);
    }

    #[test]
    fn collection_defaults_and_is_checked() {
        assert_eq!(collection(None).ok().as_deref(), Some(DEFAULT_COLLECTION));
        assert_eq!(collection(Some(String::new())).ok().as_deref(), Some(DEFAULT_COLLECTION));
        assert_eq!(collection(Some("a b".to_owned())).map_err(|e| e.code()), Err("COLLECTION_NAME"));
    }
}
