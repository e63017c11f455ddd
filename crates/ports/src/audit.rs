//! The audit log. Entries belong to no user, and remain after the user's data is deleted.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{AuditAction, AuditDraft, AuditEntry, Caller, Page, Slice, Timestamp, UserId};

/// The audit log.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Stores an entry.
    async fn audit(&self, entry: &AuditDraft) -> Result<(), StoreError>;
    /// Lists entries, latest first, of one actor or of all. A caller who is no administrator gets only their own.
    async fn audited(&self, caller: &Caller, actor: Option<UserId>, page: &Page) -> Result<Slice<AuditEntry>, StoreError>;
    /// Returns which of these actions the caller did last.
    async fn last_of(&self, caller: &Caller, actions: &[AuditAction]) -> Result<Option<String>, StoreError>;
    /// Deletes entries older than `before` or beyond the newest `keep`, at most `limit`. Returns their number.
    async fn forget_audited(&self, before: Timestamp, keep: u64, limit: u32) -> Result<u64, StoreError>;
}
