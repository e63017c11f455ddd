//! Archives: exports all rows of one user, and imports them into a store.

mod adopt;
mod read;
mod write;

use async_trait::async_trait;

use super::{SqliteStore, failure::Failure, rows::Columns, transaction::WriteTransaction};
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
        let found = sqlx::query("SELECT id, visitor FROM users WHERE id > ? ORDER BY id LIMIT ?")
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        let caller = |row| {
            let c = Columns::of(row, "users");
            let role = if c.flag("visitor")? { ViewerRole::Anonymous } else { ViewerRole::User };
            Ok(Caller::verified(UserId(c.id("id")?), role))
        };
        Ok(found.iter().map(caller).collect::<Result<_, Failure>>()?)
    }

    async fn snapshot(&self, user: UserId) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(read::ArchiveSnapshot::begin(self, user).await?))
    }

    async fn admit(&self, owner: &Owner) -> Result<Admitted, ArchiveError> {
        let owner = *owner;
        flatten(self.write(move |c| Box::pin(async move { archive::admit(&mut WriteTransaction(c), &owner).await })).await)
    }

    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        archive::restore(self, caller, records, epoch).await
    }

    async fn restored(&self, caller: &Caller, counts: &[u64]) -> Result<(), ArchiveError> {
        let (user, counts) = (caller.user(), counts.to_vec());
        flatten(self.write(move |c| Box::pin(async move { archive::finish_import(&mut WriteTransaction(c), user, &counts).await })).await)
    }
}

#[async_trait]
impl RestoreBatch for SqliteStore {
    async fn restore_batch(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        let (user, records, epoch) = (caller.user(), records.to_vec(), epoch.to_owned());
        let done =
            self.write(move |c| Box::pin(async move { archive::restore_records(&mut WriteTransaction(c), user, &records, &epoch).await }));
        match done.await {
            Err(failure) if failure.violates_constraint() => Err(ArchiveError::Inconsistent(0)),
            done => flatten(done),
        }
    }
}
