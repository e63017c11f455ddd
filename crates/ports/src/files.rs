//! Files of documents outside the store.
//!
//! The store knows all files in the folder at any time. A file is registered before it is written, then a document takes it, and when the
//! document is deleted it becomes due for deletion. So a crash between two steps neither loses a file nor leaves one behind.

use std::io;

use async_trait::async_trait;

use super::{SpooledFile, StoreError};
use recall_domain::{Caller, DocumentId, FileId, Timestamp};

/// The file of a document to add.
#[derive(Clone, Debug)]
pub enum Original {
    /// The store holds it: pieces of [`PIECE_BYTES`](super::documents::PIECE_BYTES).
    Pieces(Vec<Vec<u8>>),
    /// A [`FileFolder`] holds it, and it is registered.
    File(FileId),
}

/// Holds files. A server of several shares the folder with the others.
#[async_trait]
pub trait FileFolder: Send + Sync {
    /// Writes a file from the current position of `from` on. When this returns, the file survives a power failure.
    async fn write(&self, id: FileId, from: &mut dyn SpooledFile) -> io::Result<()>;
    /// Returns a piece of [`PIECE_BYTES`](super::documents::PIECE_BYTES), counted from 0; `None` after the last, or if there is no such file.
    async fn read(&self, id: FileId, piece: u32) -> io::Result<Option<Vec<u8>>>;
    /// Deletes a file. Does nothing if there is no such file.
    ///
    /// # Errors
    /// If the folder is missing: then it cannot tell whether it had the file.
    async fn delete(&self, id: FileId) -> io::Result<()>;
}

/// Knows the files in the folder. Files that no document has belong to no user.
#[async_trait]
pub trait FileRegistry: Send + Sync {
    /// Returns the file of a document; `None` if it is in the store, or deleted.
    async fn original_file(&self, caller: &Caller, id: DocumentId) -> Result<Option<FileId>, StoreError>;
    /// Registers a file that no document has. It is deleted at `due` unless a document takes it before.
    async fn register_file(&self, file: FileId, due: Timestamp) -> Result<(), StoreError>;
    /// Returns up to `limit` files to delete. No document can take them any more. They are returned again at `retry`.
    async fn take_due_files(&self, now: Timestamp, retry: Timestamp, limit: u32) -> Result<Vec<FileId>, StoreError>;
    /// Forgets files that are deleted.
    async fn forget_files(&self, files: &[FileId]) -> Result<(), StoreError>;
}
