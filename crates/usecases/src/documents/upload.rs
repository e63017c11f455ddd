//! Receives a file: writes it to the spool and hashes it while it arrives.

use ring::digest::{Context, SHA256};

use crate::error::UseCaseError;
use recall_ports::{Spool, SpooledFile};

/// A file that is being received. Dropping it deletes the file.
pub struct Upload {
    file: Box<dyn SpooledFile>,
    hash: Context,
    bytes: u64,
    max_bytes: u64,
}

impl Upload {
    pub(super) async fn begin(spool: &dyn Spool, max_bytes: u64) -> Result<Self, UseCaseError> {
        Ok(Self { file: spool.create().await.map_err(disk)?, hash: Context::new(&SHA256), bytes: 0, max_bytes })
    }

    /// Adds the next bytes.
    ///
    /// # Errors
    /// `Invalid` if the file becomes too large.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), UseCaseError> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > self.max_bytes {
            let message = format!("The file is too large. This server takes files of up to {} bytes.", self.max_bytes);
            return Err(UseCaseError::invalid("DOCUMENT_TOO_LARGE", "file", message));
        }
        self.hash.update(bytes);
        self.file.write(bytes).await.map_err(disk)
    }

    /// Returns the file at its beginning, its size, and its SHA-256 in hexadecimal digits.
    pub(super) async fn finish(mut self) -> Result<(Box<dyn SpooledFile>, u64, String), UseCaseError> {
        if self.bytes == 0 {
            return Err(UseCaseError::invalid("DOCUMENT_EMPTY", "file", "The file is empty. Choose another one."));
        }
        self.file.rewind().await.map_err(disk)?;
        let digest = self.hash.finish();
        let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((self.file, self.bytes, hex))
    }
}

/// The disk may have space again later.
pub(super) fn disk(e: std::io::Error) -> UseCaseError {
    UseCaseError::Unavailable { retry_after: std::time::Duration::from_secs(5), cause: e.into() }
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use async_trait::async_trait;

    use super::*;

    struct Memory;

    #[derive(Default)]
    struct InMemory(Vec<u8>);

    #[async_trait]
    impl Spool for Memory {
        async fn create(&self) -> io::Result<Box<dyn SpooledFile>> {
            Ok(Box::new(InMemory::default()))
        }
    }

    #[async_trait]
    impl SpooledFile for InMemory {
        fn path(&self) -> &Path {
            Path::new("")
        }

        async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }

        async fn rewind(&mut self) -> io::Result<()> {
            Ok(())
        }

        async fn read(&mut self, most: usize) -> io::Result<Vec<u8>> {
            let rest = self.0.split_off(most.min(self.0.len()));
            Ok(std::mem::replace(&mut self.0, rest))
        }
    }

    #[tokio::test]
    async fn file_is_hashed() {
        let mut upload = Upload::begin(&Memory, 10).await.unwrap();
        upload.write(b"ab").await.unwrap();
        upload.write(b"c").await.unwrap();
        let (mut file, bytes, sha256) = upload.finish().await.unwrap();
        assert_eq!((file.read(9).await.unwrap(), bytes), (b"abc".to_vec(), 3));
        assert_eq!(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[tokio::test]
    async fn empty_and_too_large_files_are_refused() {
        let mut upload = Upload::begin(&Memory, 3).await.unwrap();
        assert_eq!(upload.write(b"abcd").await.map_err(|e| e.code()), Err("DOCUMENT_TOO_LARGE"));
        let upload = Upload::begin(&Memory, 3).await.unwrap();
        assert_eq!(upload.finish().await.map(|_| ()).map_err(|e| e.code()), Err("DOCUMENT_EMPTY"));
    }
}
