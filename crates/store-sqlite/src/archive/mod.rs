//! Archives: exports all rows of one user, and imports them into a store.
//!
//! The statements are built from the shapes in the port, so each column is named once for all stores.

mod adopt;
mod read;
mod write;

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{bytes, signed},
    failure::Failure,
    rows::Columns,
};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{
    StoreError,
    archive::{Admitted, Archive, ArchiveError, Owner, Record, Restored, SHAPES, Snapshot},
};

pub(super) use adopt::adopt;

/// A write that can end with an archive error without a failure of the store.
type Outcome<T> = Result<T, ArchiveError>;

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
        Ok(Box::new(read::ArchiveReader::begin(self, user).await?))
    }

    async fn admit(&self, owner: &Owner) -> Result<Admitted, ArchiveError> {
        let owner = *owner;
        let is_importing = flatten(self.write(move |c| Box::pin(async move { write::admit(c, &owner).await })).await)?;
        Ok(Admitted { caller: Caller::verified(owner.user, ViewerRole::User), is_importing })
    }

    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        let (user, records, epoch) = (caller.user().0, records.to_vec(), epoch.to_owned());
        flatten(self.write(move |c| Box::pin(async move { write::restore(c, user, &records, &epoch).await })).await)
    }

    async fn restored(&self, caller: &Caller, counts: &[u64]) -> Result<(), ArchiveError> {
        let user = caller.user().0;
        let expected: Vec<_> = SHAPES.iter().zip(counts).map(|(shape, n)| (shape, signed(*n))).collect();
        flatten(self.write(move |c| Box::pin(async move { write::finish_import(c, user, &expected).await })).await)
    }
}

fn flatten<T>(written: Result<Outcome<T>, Failure>) -> Outcome<T> {
    written.map_err(|e| ArchiveError::Store(e.into()))?
}

/// The user id in the form that every statement binds.
fn owner(user: &uuid::Uuid) -> &[u8] {
    bytes(user)
}
