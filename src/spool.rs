//! Implements the spool of documents: temporary files in a folder.

use std::{
    io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use tempfile::TempPath;
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt},
};

use recall_ports::{Spool, SpooledFile};

/// Creates files in one folder, which only the owner of the process may read.
pub struct FolderSpool {
    folder: PathBuf,
}

struct NamedFile {
    file: File,
    path: TempPath,
}

impl FolderSpool {
    /// Creates a spool in `folder`, which need not exist. Files that an earlier process left there are deleted.
    pub fn new(folder: PathBuf) -> Self {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|file| file.modified()).map(|at| at.elapsed().unwrap_or_default());
            // Another server may share the folder.
            if age.is_ok_and(|age| age > MAX_AGE) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Self { folder }
    }
}

/// Longest time for which a file may be in use.
const MAX_AGE: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

#[async_trait]
impl Spool for FolderSpool {
    async fn create(&self) -> io::Result<Box<dyn SpooledFile>> {
        let folder = self.folder.clone();
        let create = move || {
            std::fs::create_dir_all(&folder)?;
            // With permissions for the owner only.
            tempfile::Builder::new().prefix("document-").tempfile_in(&folder)
        };
        let (file, path) = tokio::task::spawn_blocking(create).await.map_err(io::Error::other)??.into_parts();
        Ok(Box::new(NamedFile { file: File::from_std(file), path }))
    }
}

#[async_trait]
impl SpooledFile for NamedFile {
    fn path(&self) -> &Path {
        &self.path
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).await
    }

    async fn rewind(&mut self) -> io::Result<()> {
        self.file.flush().await?;
        self.file.rewind().await.map(drop)
    }

    async fn read(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.file).take(most as u64).read_to_end(&mut bytes).await?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn file_reads_back_and_is_deleted_on_drop() {
        let folder = tempfile::tempdir().unwrap();
        let spool = FolderSpool::new(folder.path().join("new"));
        let mut file = spool.create().await.unwrap();
        file.write(b"ab").await.unwrap();
        file.write(b"c").await.unwrap();
        file.rewind().await.unwrap();
        assert_eq!((file.read(2).await.unwrap(), file.read(2).await.unwrap()), (b"ab".to_vec(), b"c".to_vec()));
        assert!(file.read(2).await.unwrap().is_empty());
        let path = file.path().to_owned();
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());
    }
}
