//! The log of who did what. Entries belong to no user: they outlive the deletion of whom they speak of.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{AuditAction, AuditDraft, AuditEntry, Caller, Page, Slice, Timestamp, UserId};

/// The audit log.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Keeps an entry.
    async fn audit(&self, entry: &AuditDraft) -> Result<(), StoreError>;
    /// Entries, the latest first: those of one actor, or of all. Whoever is no administrator is shown their own, whatever is asked.
    async fn audited(&self, caller: &Caller, actor: Option<UserId>, page: &Page) -> Result<Slice<AuditEntry>, StoreError>;
    /// Which of some actions the caller did last.
    async fn last_of(&self, caller: &Caller, actions: &[AuditAction]) -> Result<Option<String>, StoreError>;
    /// Forgets what is older than `before` or beyond the newest `keep`, at most `limit` entries; how many went.
    async fn forget_audited(&self, before: Timestamp, keep: u64, limit: u32) -> Result<u64, StoreError>;
}
