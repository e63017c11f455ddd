//! Files of documents outside the database. The trigger of `0031_files.sql` moves them between the two tables.

use async_trait::async_trait;

use super::{
    PostgresStore,
    codec::{column, time},
    failure::Failure,
    row_security::RowAccess,
};
use recall_domain::{Caller, DocumentId, FileId, Timestamp};
use recall_ports::{FileRegistry, StoreError};

#[async_trait]
impl FileRegistry for PostgresStore {
    async fn original_file(&self, caller: &Caller, id: DocumentId) -> Result<Option<FileId>, StoreError> {
        let found = sqlx::query_scalar!(
            "SELECT file FROM document_files WHERE user_id = $1 AND document_id = $2
             AND document_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1)",
            caller.user().0,
            id.0,
        );
        Ok(found.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?.map(FileId))
    }

    async fn register_file(&self, file: FileId, due: Timestamp) -> Result<(), StoreError> {
        let registered = sqlx::query!(
            "INSERT INTO unowned_files (file, due_at) VALUES ($1, $2) ON CONFLICT (file) DO UPDATE SET due_at = excluded.due_at",
            file.0,
            time(due),
        );
        registered.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn take_due_files(&self, now: Timestamp, retry: Timestamp, limit: u32) -> Result<Vec<FileId>, StoreError> {
        let taken = sqlx::query_scalar!(
            "UPDATE unowned_files SET is_taken = true, due_at = $2 WHERE file = ANY(ARRAY(
                 SELECT file FROM unowned_files WHERE due_at <= $1 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING file",
            time(now),
            time(retry),
            i64::from(limit),
        );
        let taken = taken.fetch_all(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?;
        Ok(taken.into_iter().map(FileId).collect())
    }

    async fn forget_files(&self, files: &[FileId]) -> Result<(), StoreError> {
        let files = column(files, |file| file.0);
        let forgotten = sqlx::query!("DELETE FROM unowned_files WHERE file = ANY($1)", &files[..]);
        forgotten.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?;
        Ok(())
    }
}
