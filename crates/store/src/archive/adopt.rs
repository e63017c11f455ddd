//! Moves a visitor's data to an account: all archive records, and also the event logs.

use async_trait::async_trait;

use super::{ArchiveReader, ImportStatements, restore_records};
use crate::{AccountDeletionStatements, Refusal, UserStatements, begin_account_deletion, reject_while_locked, signed};
use recall_domain::{Adopted, Adoption, Caller, Timestamp, UserId, Word};
use recall_ports::archive::handover::Handover;

/// Number of records that are read and written together.
const BATCH: u32 = 200;

/// Statements that move data from a visitor to an account.
#[async_trait]
pub trait AdoptionStatements: ImportStatements + UserStatements + AccountDeletionStatements {
    /// What [`AdoptionStatements::read_logs`] keeps of the event logs until they are written.
    type Logs: Send;

    /// Reads the event logs of a user, except those of sessions under deletion.
    async fn read_logs(&mut self, user: UserId) -> Result<Self::Logs, Self::Error>;
    /// Deletes all jobs of a user.
    async fn delete_jobs(&mut self, user: UserId) -> Result<(), Self::Error>;
    /// Takes the files outside the store from the documents of a user, so that others can have them.
    async fn release_files(&mut self, user: UserId) -> Result<(), Self::Error>;

    /// Adds rows to the feed of an account, and returns the row of the newest message; `None` if the user is locked.
    ///
    /// Indexes of the account read the new rows from the feed as usual. The knowledge gets a new version, which makes concurrent plans
    /// stale. An account without messages takes over the model of the vectors.
    async fn extend_feed(&mut self, user: UserId, rows: i64, model: Option<&str>) -> Result<Option<i64>, Self::Error>;
    /// Whether an entity stands for the user.
    async fn has_viewer(&mut self, user: UserId) -> Result<bool, Self::Error>;
    /// Writes event logs, whose sessions exist and have none.
    async fn write_logs(&mut self, user: UserId, logs: Self::Logs) -> Result<(), Self::Error>;
    /// Records entities that must be compared with the account's entities.
    async fn insert_adopted(&mut self, user: UserId, entities: &[Adopted]) -> Result<(), Self::Error>;
}

/// Moves all data of a visitor to an account, voids the visitor's jobs, and begins the deletion of the visitor.
///
/// All data is read into memory first, because a transaction may be restricted to one user at a time. Quotas bound what a visitor may have.
///
/// # Errors
/// `SessionBeingDeleted` if a session of the visitor is being deleted, `BeingErased` or `BeingImported` if the account is locked.
pub async fn adopt_visit<T: AdoptionStatements>(
    tx: &mut T,
    visitor: UserId,
    account: &Caller,
    now: Timestamp,
) -> Result<Adoption, T::Error> {
    let mut reader = ArchiveReader::begin(&mut *tx.reads(), visitor).await?;
    let mut pages = Vec::new();
    loop {
        let page = reader.next(&mut *tx.reads(), BATCH).await?;
        if page.is_empty() {
            break;
        }
        pages.push(page);
    }
    let logs = tx.read_logs(visitor).await?;
    // The data belongs to the account now. This voids a worker's claim at once; the deletion may run later.
    tx.delete_jobs(visitor).await?;
    tx.release_files(visitor).await?;
    // Also ends the visit.
    begin_account_deletion(tx, visitor, now).await?;

    let user = account.user();
    tx.act_for(user).await?;
    tx.ensure_user(user).await?;
    let rows = signed(reader.state().owner.feed_head);
    let Some(head) = tx.extend_feed(user, rows, reader.state().embedding_model.as_deref()).await? else {
        reject_while_locked(tx, user).await?;
        return Err(Refusal::BeingErased.into());
    };
    let mut handover = Handover::new(visitor, head - rows, tx.has_viewer(user).await?, account.role().word());
    for mut records in pages {
        records.iter_mut().for_each(|record| handover.take(record));
        restore_records(tx, user, &records, "").await?.map_err(|_| Refusal::Unstorable("what a visitor had"))?;
    }
    tx.set_lane_heads(user).await?;
    tx.write_logs(user, logs).await?;
    tx.insert_adopted(user, &handover.entities).await?;
    Ok(handover.adoption)
}
