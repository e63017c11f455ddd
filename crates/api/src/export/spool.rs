//! A temporary file between a database snapshot and a client.
//!
//! With it, a slow client holds no database connection. The file has no name, so nothing is left when the process is killed.

use std::{io, path::PathBuf};

use axum::body::Bytes;
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncWriteExt},
    sync::watch,
};

/// Maximum number of bytes read at a time.
const MAX_CHUNK_BYTES: u64 = 64 * 1024;

/// Progress of the writer.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    bytes: u64,
    is_whole: bool,
}

/// The write end.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    progress: watch::Sender<Progress>,
}

/// The read end.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    read: u64,
    progress: watch::Receiver<Progress>,
}

/// Creates a file in `folder`, or in the system's temporary folder if that fails.
pub(super) async fn open(folder: PathBuf) -> io::Result<(Writer, Reader)> {
    let files = tokio::task::spawn_blocking(move || {
        // The folder may be read-only, for example in a container with PostgreSQL.
        let named = tempfile::NamedTempFile::new_in(&folder).or_else(|_| tempfile::NamedTempFile::new())?;
        let read = named.reopen()?;
        let (written, path) = named.into_parts();
        path.close()?;
        io::Result::Ok((written, read))
    });
    let (written, read) = files.await.map_err(io::Error::other)??;
    let (sender, receiver) = watch::channel(Progress::default());
    Ok((Writer { file: File::from_std(written), progress: sender }, Reader { file: File::from_std(read), read: 0, progress: receiver }))
}

impl Writer {
    pub(super) async fn append(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes()).await?;
        // Without a flush, tokio may still buffer the bytes.
        self.file.flush().await?;
        self.progress.send_modify(|progress| progress.bytes += text.len() as u64);
        Ok(())
    }

    /// Marks the file as complete. A writer that is dropped without this call has failed.
    pub(super) fn finish(self) {
        self.progress.send_modify(|progress| progress.is_whole = true);
    }
}

impl Reader {
    /// Waits for the next bytes; `None` at the end.
    ///
    /// # Errors
    /// When the writer has failed, or the file cannot be read.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let closed = self.progress.has_changed().is_err();
            let progress = *self.progress.borrow_and_update();
            let available = (progress.bytes - self.read).min(MAX_CHUNK_BYTES);
            if available > 0 {
                let mut chunk = vec![0; usize::try_from(available).unwrap_or_default()];
                self.file.read_exact(&mut chunk).await?;
                self.read += available;
                return Ok(Some(chunk.into()));
            }
            if progress.is_whole {
                return Ok(None);
            }
            if closed || self.progress.changed().await.is_err() && !self.has_more() {
                return Err(io::Error::other("the export was cut off"));
            }
        }
    }

    fn has_more(&self) -> bool {
        let progress = *self.progress.borrow();
        progress.is_whole || progress.bytes > self.read
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn spool_keeps_order_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path().join("missing")).await.is_ok(), "the temporary folder is used");
        let (mut writer, mut reader) = open(folder.path().to_owned()).await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let text = "0123456789abcdef".repeat(10_000);
        let writing = tokio::spawn(async move {
            for part in 0..10 {
                writer.append(&format!("{part}{text}")).await.unwrap();
                tokio::task::yield_now().await;
            }
            writer.finish();
            text
        });
        let mut all = Vec::new();
        while let Some(chunk) = reader.next().await.unwrap() {
            assert!(chunk.len() <= 64 * 1024);
            all.extend_from_slice(&chunk);
        }
        let text = writing.await.unwrap();
        let expected: String = (0..10).map(|part| format!("{part}{text}")).collect();
        assert!(all == expected.as_bytes());
    }

    #[tokio::test]
    async fn reader_of_failed_writer_gets_rest_and_then_error() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, mut reader) = open(folder.path().to_owned()).await.unwrap();
        writer.append("half").await.unwrap();
        drop(writer);
        assert_eq!(reader.next().await.unwrap().as_deref(), Some(&b"half"[..]));
        assert!(reader.next().await.is_err());
    }
}
