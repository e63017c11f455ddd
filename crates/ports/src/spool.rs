//! Files that exist while a document is received or parsed.

use std::{io, path::Path};

use async_trait::async_trait;

/// Creates temporary files.
#[async_trait]
pub trait Spool: Send + Sync {
    /// Creates an empty file, which is deleted when it is dropped.
    async fn create(&self) -> io::Result<Box<dyn SpooledFile>>;
}

/// A temporary file. Dropping it deletes the file.
#[async_trait]
pub trait SpooledFile: Send + Sync {
    /// Returns where it is.
    fn path(&self) -> &Path;
    /// Appends bytes.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Completes the writes and returns to the beginning.
    async fn rewind(&mut self) -> io::Result<()>;
    /// Reads up to `most` bytes; fewer at the end only, and none after it.
    async fn read(&mut self, most: usize) -> io::Result<Vec<u8>>;
}
