//! Implements the folder of documents' files: one file for each document, named by an id that says nothing about it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom},
};

use recall_domain::FileId;
use recall_ports::{FileFolder, SpooledFile, documents::PIECE_BYTES};

/// Marks the folder. Where it is missing, a volume may not be mounted, and absent files prove nothing.
const MARK: &str = "recall-originals";

/// Files in subfolders of one folder. Several servers may share it. Only the owner of the process may read it.
pub struct OriginalsFolder {
    folder: Arc<Path>,
}

impl OriginalsFolder {
    /// Creates the adapter. It neither reads nor creates anything yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder: folder.into() }
    }

    /// Creates the folder if there is none, and checks that files can be written.
    ///
    /// # Errors
    /// If they cannot, or if the folder exists without the mark: it may be the mount point of a volume with the files.
    pub fn prepare(&self) -> io::Result<()> {
        if !self.folder.exists() {
            create_folder(&self.folder)?;
            std::fs::write(self.folder.join(MARK), "Files of documents of Relevantic Recall. The database knows their names.\n")?;
            sync(&self.folder)?;
        }
        std::fs::metadata(self.folder.join(MARK)).map_err(|e| unmarked(&e))?;
        tempfile::tempfile_in(&self.folder).map(drop)
    }

    /// The path consists of the digits of the id, so it cannot leave the folder. The last digits are random; the first are a time.
    fn path(&self, id: FileId) -> PathBuf {
        let name = id.0.simple().to_string();
        self.folder.join(name.get(name.len() - 2..).unwrap_or_default()).join(name)
    }

    /// Fails unless this is the folder that files were written to.
    async fn must_exist(&self) -> io::Result<()> {
        tokio::fs::metadata(self.folder.join(MARK)).await.map(drop).map_err(|e| unmarked(&e))
    }

    /// Creates an empty file and its subfolder.
    async fn create(&self, path: PathBuf) -> io::Result<File> {
        self.must_exist().await?;
        let folder = self.folder.clone();
        let create = move || {
            let parent = path.parent().unwrap_or(&folder);
            if !parent.exists() {
                create_folder(parent)?;
                sync(&folder)?;
            }
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&path)
        };
        Ok(File::from_std(tokio::task::spawn_blocking(create).await.map_err(io::Error::other)??))
    }
}

#[async_trait]
impl FileFolder for OriginalsFolder {
    async fn write(&self, id: FileId, from: &mut dyn SpooledFile) -> io::Result<()> {
        let path = self.path(id);
        let mut file = self.create(path.clone()).await?;
        loop {
            let piece = from.read(PIECE_BYTES).await?;
            if piece.is_empty() {
                break;
            }
            file.write_all(&piece).await?;
        }
        file.flush().await?;
        file.sync_all().await?;
        // The name survives a power failure only if its folder is written, too.
        let parent = path.parent().map_or_else(|| self.folder.to_path_buf(), Path::to_owned);
        tokio::task::spawn_blocking(move || sync(&parent)).await.map_err(io::Error::other)?
    }

    async fn read(&self, id: FileId, piece: u32) -> io::Result<Option<Vec<u8>>> {
        let mut file = match File::open(self.path(id)).await {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return self.must_exist().await.map(|()| None),
            Err(e) => return Err(e),
        };
        file.seek(SeekFrom::Start(u64::from(piece) * PIECE_BYTES as u64)).await?;
        let mut bytes = Vec::new();
        file.take(PIECE_BYTES as u64).read_to_end(&mut bytes).await?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    async fn delete(&self, id: FileId) -> io::Result<()> {
        let path = self.path(id);
        match tokio::fs::remove_file(&path).await {
            Err(e) if e.kind() == io::ErrorKind::NotFound => self.must_exist().await?,
            deleted => deleted?,
        }
        // After a power failure, a file whose deletion was not synced would be there again, and nothing would know it.
        let sync_parent = move || match path.parent().filter(|parent| parent.exists()) {
            Some(parent) => sync(parent),
            None => Ok(()),
        };
        tokio::task::spawn_blocking(sync_parent).await.map_err(io::Error::other)?
    }
}

/// The error of a folder without the mark.
fn unmarked(e: &io::Error) -> io::Error {
    let message = format!("the file {MARK} is missing ({e}); mount the volume with the files, or create that file if there are none yet");
    io::Error::new(e.kind(), message)
}

/// Creates a folder that only its owner can read.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the names in a folder survive a power failure.
fn sync(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::spool::FolderSpool;
    use recall_ports::Spool;

    async fn spooled(folder: &Path, bytes: &[u8]) -> Box<dyn SpooledFile> {
        let mut file = FolderSpool::new(folder.join("spool")).create().await.unwrap();
        file.write(bytes).await.unwrap();
        file.rewind().await.unwrap();
        file
    }

    #[tokio::test]
    async fn file_reads_back_in_pieces_until_it_is_deleted() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = OriginalsFolder::new(temporary.path().join("new/originals"));
        folder.prepare().unwrap();
        let bytes: Vec<u8> = (0..PIECE_BYTES + 3).map(|n| n as u8).collect();
        let id = FileId(Uuid::from_u128(7));
        folder.write(id, spooled(temporary.path(), &bytes).await.as_mut()).await.unwrap();
        let pieces = [folder.read(id, 0).await.unwrap().unwrap(), folder.read(id, 1).await.unwrap().unwrap()];
        assert_eq!((pieces[0].len(), pieces.concat()), (PIECE_BYTES, bytes));
        assert_eq!(folder.read(id, 2).await.unwrap(), None);
        // Nothing is overwritten.
        assert!(folder.write(id, spooled(temporary.path(), b"other").await.as_mut()).await.is_err());
        folder.delete(id).await.unwrap();
        folder.delete(id).await.unwrap();
        assert_eq!(folder.read(id, 0).await.unwrap(), None);
    }

    #[tokio::test]
    async fn missing_folder_is_an_error_and_not_a_missing_file() {
        let temporary = tempfile::tempdir().unwrap();
        // Empty, such as the place of a volume that is not mounted.
        let mounted = tempfile::tempdir().unwrap();
        let folder = OriginalsFolder::new(mounted.path().to_owned());
        let id = FileId(Uuid::from_u128(7));
        assert!(folder.read(id, 0).await.is_err() && folder.delete(id).await.is_err());
        assert!(folder.prepare().is_err() && folder.write(id, spooled(temporary.path(), b"x").await.as_mut()).await.is_err());
        assert_eq!(std::fs::read_dir(mounted.path()).unwrap().count(), 0);
    }

    #[test]
    fn folder_that_cannot_be_written_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(OriginalsFolder::new(file).prepare().is_err());
        let new = temporary.path().join("new/originals");
        OriginalsFolder::new(new.clone()).prepare().unwrap();
        assert!(new.join(MARK).exists());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn other_users_of_the_machine_cannot_read_files() {
        use std::os::unix::fs::PermissionsExt;
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().join("originals");
        let folder = OriginalsFolder::new(root.clone());
        folder.prepare().unwrap();
        let id = FileId(Uuid::from_u128(7));
        folder.write(id, spooled(temporary.path(), b"x").await.as_mut()).await.unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = folder.path(id);
        assert_eq!((mode(&root), mode(path.parent().unwrap()), mode(&path)), (0o700, 0o700, 0o600));
    }
}
