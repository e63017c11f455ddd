//! The files of documents, as they were added: in the store, or outside it in a folder.
//!
//! The setting decides where new files go. What a document has is read from where it is, so both kinds exist together.

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use chrono::TimeDelta;
use uuid::Uuid;

use super::upload::disk;
use crate::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{Caller, DocumentId, FileId};
use recall_ports::{
    FileFolder, Original, SpooledFile, Store, StoreError,
    archive::{Owner, Record, Shape, Snapshot, Value},
    documents::PIECE_BYTES,
};

/// A file that no document has after this time is deleted. Far longer than the transaction that adds a document may take.
const REGISTERED: TimeDelta = TimeDelta::hours(1);
/// When the deletion of a file is tried again.
const RETRY: TimeDelta = TimeDelta::minutes(1);
/// Files that are deleted at a time.
const BATCH: u32 = 100;

/// Where the files of documents are.
#[derive(Clone)]
pub struct OriginalSettings {
    /// Holds files outside the store. It is used for documents that have one, whatever the setting is now.
    pub folder: Arc<dyn FileFolder>,
    /// Whether new files go there.
    pub in_folder: bool,
}

/// Reads the file of one document, piece by piece.
pub struct OriginalReader {
    store: Arc<dyn Store>,
    caller: Caller,
    document: DocumentId,
    outside: Option<(FileId, Arc<dyn FileFolder>)>,
    next: u32,
}

impl OriginalReader {
    pub(super) async fn open(
        store: &Arc<dyn Store>,
        settings: &OriginalSettings,
        caller: &Caller,
        document: DocumentId,
    ) -> Result<Self, StoreError> {
        let outside = store.original_file(caller, document).await?.map(|file| (file, settings.folder.clone()));
        Ok(Self { store: store.clone(), caller: *caller, document, outside, next: 0 })
    }

    /// Returns the next piece; `None` after the last, or if the file is not stored.
    ///
    /// # Errors
    /// If the store or the folder cannot be read.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let piece = match &self.outside {
            None => self.store.original_piece(&self.caller, self.document, self.next).await?,
            Some((file, folder)) => folder.read(*file, self.next).await.map_err(unreadable)?,
        };
        self.next += 1;
        Ok(piece)
    }
}

impl UseCases {
    /// Puts a received file where its document will have it.
    pub(super) async fn keep_original(&self, mut file: Box<dyn SpooledFile>) -> Result<Original, UseCaseError> {
        let settings = &self.document_settings()?.originals;
        if settings.in_folder {
            let id = FileId(self.parts.ids.fresh());
            self.parts.store.register_file(id, self.now() + REGISTERED).await?;
            settings.folder.write(id, file.as_mut()).await.map_err(disk)?;
            return Ok(Original::File(id));
        }
        let mut pieces = Vec::new();
        loop {
            let piece = file.read(PIECE_BYTES).await.map_err(disk)?;
            if piece.is_empty() {
                return Ok(Original::Pieces(pieces));
            }
            pieces.push(piece);
        }
    }

    /// Makes a file due that no document took.
    pub(super) async fn discard_file(&self, file: Option<FileId>) {
        if let Some(file) = file
            && let Err(e) = self.parts.store.register_file(file, self.now()).await
        {
            tracing::warn!(error = %e, "a file that no document has is deleted later");
        }
    }

    /// Opens the file of a document for reading.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn open_original(&self, caller: &Caller, document: DocumentId) -> Result<OriginalReader, UseCaseError> {
        let settings = &self.document_settings()?.originals;
        Ok(OriginalReader::open(&self.parts.store, settings, caller, document).await?)
    }

    /// Adds the files outside the store to a snapshot.
    pub fn whole_snapshot(&self, inner: Box<dyn Snapshot>) -> Box<dyn Snapshot> {
        match &self.parts.documents {
            Some(settings) => Box::new(WholeSnapshot::new(inner, settings.originals.folder.clone())),
            None => inner,
        }
    }

    /// Deletes files outside the store that no document has any more. Returns how many.
    ///
    /// # Errors
    /// If the store fails. A file that cannot be deleted is tried again later.
    pub async fn delete_due_files(&self) -> Result<u64, UseCaseError> {
        let Some(settings) = &self.parts.documents else { return Ok(0) };
        let mut count = 0;
        loop {
            let now = self.now();
            let due = self.parts.store.take_due_files(now, now + RETRY, BATCH).await?;
            let (mut deleted, mut failure) = (Vec::new(), None);
            for file in &due {
                match settings.originals.folder.delete(*file).await {
                    Ok(()) => deleted.push(*file),
                    Err(e) => failure = Some(e),
                }
            }
            if let Some(e) = &failure {
                let files = due.len() - deleted.len();
                tracing::warn!(error = %e, files, "files of documents cannot be deleted and are tried again later");
            }
            if !deleted.is_empty() {
                self.parts.store.forget_files(&deleted).await?;
            }
            count += deleted.len() as u64;
            // Failed files are due again soon. They must not keep the caller from its other work.
            if due.len() < BATCH as usize || failure.is_some() {
                return Ok(count);
            }
        }
    }
}

/// The folder may be there again later.
fn unreadable(e: std::io::Error) -> StoreError {
    StoreError::Transient(e.into())
}

/// A snapshot whose files outside the store are records too, as if the store held them.
pub struct WholeSnapshot {
    inner: Box<dyn Snapshot>,
    folder: Arc<dyn FileFolder>,
    /// The files that follow, each with its document and its next piece.
    files: VecDeque<(Uuid, FileId, u32)>,
}

impl WholeSnapshot {
    /// Reads the files from `folder`.
    pub fn new(inner: Box<dyn Snapshot>, folder: Arc<dyn FileFolder>) -> Self {
        Self { inner, folder, files: VecDeque::new() }
    }

    /// Returns the next piece of the files that were found. A file that was deleted meanwhile has none.
    async fn piece(&mut self) -> Result<Option<Record>, StoreError> {
        let shape = Shape::named("original");
        while let (Some((document, file, piece)), Some(shape)) = (self.files.front_mut(), shape) {
            let read = self.folder.read(*file, *piece).await.map_err(unreadable)?;
            let Some(bytes) = read else {
                self.files.pop_front();
                continue;
            };
            let mut record = Record { shape, values: vec![Value::Missing; shape.fields.len()] };
            record.set("document_id", Value::Id(*document));
            record.set("piece", Value::Count(i64::from(*piece)));
            record.set("data", Value::Bytes(bytes));
            *piece += 1;
            return Ok(Some(record));
        }
        Ok(None)
    }
}

#[async_trait]
impl Snapshot for WholeSnapshot {
    fn owner(&self) -> Owner {
        self.inner.owner()
    }

    async fn next(&mut self, limit: u32) -> Result<Vec<Record>, StoreError> {
        loop {
            if let Some(record) = self.piece().await? {
                return Ok(vec![record]);
            }
            let page = self.inner.next(limit).await?;
            if page.first().is_none_or(|record| record.shape.name != "file") {
                return Ok(page);
            }
            let files = page.iter().filter_map(|record| Some((record.id("document_id")?, FileId(record.id("file")?), 0)));
            self.files.extend(files);
        }
    }
}
