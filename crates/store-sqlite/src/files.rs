//! Files of documents outside the database. Triggers of `0031_files.sql` move them between the two tables.

use async_trait::async_trait;
use rusqlite::params;

use super::{
    SqliteStore,
    codec::{id_list, millis},
    failure::Failure,
    rows::Columns,
};
use recall_domain::{Caller, DocumentId, FileId, Timestamp};
use recall_ports::{FileRegistry, StoreError};

#[async_trait]
impl FileRegistry for SqliteStore {
    async fn original_file(&self, caller: &Caller, id: DocumentId) -> Result<Option<FileId>, StoreError> {
        let values = (caller.user().0, id.0);
        let found = self.read(caller, move |db| {
            let sql = "SELECT file FROM document_files WHERE user_id = ?1 AND document_id = ?2
                 AND document_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = ?1)";
            db.row("document_files", sql, values, file)
        });
        Ok(found.await?)
    }

    async fn register_file(&self, file: FileId, due: Timestamp) -> Result<(), StoreError> {
        let registered = self.write(move |tx| {
            let sql = "INSERT INTO unowned_files (file, due_at) VALUES (?, ?) ON CONFLICT (file) DO UPDATE SET due_at = excluded.due_at";
            tx.0.execute(sql, (file.0, millis(due)))
        });
        registered.await?;
        Ok(())
    }

    async fn take_due_files(&self, now: Timestamp, retry: Timestamp, limit: u32) -> Result<Vec<FileId>, StoreError> {
        // Most of the time there is none, and a reader does not wait for the writer.
        let due = self.readers.for_server(move |db| {
            let sql = "SELECT file FROM unowned_files WHERE due_at <= ? ORDER BY due_at LIMIT ?";
            db.rows("unowned_files", sql, (millis(now), limit), file)
        });
        if due.await?.is_empty() {
            return Ok(Vec::new());
        }
        let taken = self.write(move |tx| {
            let sql = "UPDATE unowned_files SET is_taken = 1, due_at = ?2
                 WHERE file IN (SELECT file FROM unowned_files WHERE due_at <= ?1 ORDER BY due_at LIMIT ?3) RETURNING file";
            tx.0.rows("unowned_files", sql, params![millis(now), millis(retry), limit], file)
        });
        Ok(taken.await?)
    }

    async fn forget_files(&self, files: &[FileId]) -> Result<(), StoreError> {
        let files = id_list(files.iter().map(|file| &file.0));
        let forgotten =
            self.write(move |tx| tx.0.execute("DELETE FROM unowned_files WHERE file IN (SELECT unhex(value) FROM json_each(?))", (files,)));
        forgotten.await?;
        Ok(())
    }
}

fn file(c: &Columns<'_, '_>) -> Result<FileId, Failure> {
    Ok(FileId(c.id("file")?))
}
