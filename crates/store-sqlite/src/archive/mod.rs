//! Archives: exports all rows of one user, and imports them into a store.

mod adopt;
mod read;
mod write;

use async_trait::async_trait;

use super::{SqliteStore, transaction::run};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{
    StoreError,
    archive::{Admitted, Archive, ArchiveError, Owner, Record, Restored, Snapshot},
};
use recall_store::archive::{self, RestoreBatch, flatten};

#[async_trait]
impl Archive for SqliteStore {
    async fn owners(&self, after: Option<UserId>, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let after = after.map(|u| u.0.as_bytes().to_vec()).unwrap_or_default();
        let owners = self.readers.for_server(move |db| {
            db.rows("users", "SELECT id, visitor FROM users WHERE id > ? ORDER BY id LIMIT ?", (after, limit), |c| {
                let role = if c.flag("visitor")? { ViewerRole::Anonymous } else { ViewerRole::User };
                Ok(Caller::verified(UserId(c.id("id")?), role))
            })
        });
        Ok(owners.await?)
    }

    async fn snapshot(&self, user: UserId) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(read::ArchiveSnapshot::begin(self, user).await?))
    }

    async fn admit(&self, owner: &Owner) -> Result<Admitted, ArchiveError> {
        let owner = *owner;
        flatten(self.write(move |tx| run(archive::admit(tx, &owner))).await)
    }

    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        archive::restore(self, caller, records, epoch).await
    }

    async fn restored(&self, caller: &Caller, counts: &[u64]) -> Result<(), ArchiveError> {
        let (user, counts) = (caller.user(), counts.to_vec());
        flatten(self.write(move |tx| run(archive::finish_import(tx, user, &counts))).await)
    }
}

#[async_trait]
impl RestoreBatch for SqliteStore {
    async fn restore_batch(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        let (user, records, epoch) = (caller.user(), records.to_vec(), epoch.to_owned());
        match self.write(move |tx| run(archive::restore_records(tx, user, &records, &epoch))).await {
            Err(failure) if failure.violates_constraint() => Err(ArchiveError::Inconsistent(0)),
            done => flatten(done),
        }
    }
}
