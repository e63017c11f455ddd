//! Archives: exports all rows of one user, and imports them into a store.
//!
//! The statements are built from the shapes in the port, so each column is named once for all stores. A test prepares each of them.

mod adopt;
mod read;
#[cfg(test)]
mod tests;
mod write;

use async_trait::async_trait;

use super::{PostgresStore, codec::signed, failure::Failure, row_security::RowAccess};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{
    StoreError,
    archive::{Admitted, Archive, ArchiveError, Owner, Record, Restored, SHAPES, Snapshot},
};

pub(super) use adopt::{adopt, read_visitor_data};

/// A write that can end with an archive error without a failure of the store.
type Outcome<T> = Result<T, ArchiveError>;

#[async_trait]
impl Archive for PostgresStore {
    async fn owners(&self, after: Option<UserId>, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let found = sqlx::query!(
            "SELECT id, visitor FROM users WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2",
            after.map(|u| u.0),
            i64::from(limit)
        );
        let found = found.fetch_all(self.pool.reading(RowAccess::Owners)).await.map_err(Failure::from)?;
        let role = |visitor: bool| if visitor { ViewerRole::Anonymous } else { ViewerRole::User };
        Ok(found.into_iter().map(|row| Caller::verified(UserId(row.id), role(row.visitor))).collect())
    }

    async fn snapshot(&self, user: UserId) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(read::ArchiveReader::begin(self, user).await?))
    }

    async fn admit(&self, owner: &Owner) -> Result<Admitted, ArchiveError> {
        let is_importing = flatten(self.write(owner.user, owner, |c, owner| Box::pin(write::admit(c, owner))).await)?;
        Ok(Admitted { caller: Caller::verified(owner.user, ViewerRole::User), is_importing })
    }

    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        match self.put(caller, records, epoch).await {
            // The server rejected the statement as a whole, so find the record that caused it.
            Err(failure) if write::violates_constraint(&failure) => {
                let mut restored = Restored::default();
                for (at, record) in records.iter().enumerate() {
                    match self.put(caller, std::slice::from_ref(record), epoch).await {
                        Err(failure) if write::violates_constraint(&failure) => return Err(ArchiveError::Inconsistent(at)),
                        Ok(Err(ArchiveError::Conflict(_))) => return Err(ArchiveError::Conflict(at)),
                        done => restored += flatten(done)?,
                    }
                }
                Ok(restored)
            }
            done => flatten(done),
        }
    }

    async fn restored(&self, caller: &Caller, counts: &[u64]) -> Result<(), ArchiveError> {
        let expected: Vec<_> = SHAPES.iter().zip(counts).map(|(shape, n)| (shape, signed(*n))).collect();
        let input = (caller.user().0, expected);
        flatten(self.write(caller, &input, |c, (user, expected)| Box::pin(write::finish_import(c, *user, expected))).await)
    }
}

impl PostgresStore {
    async fn put(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Outcome<Restored>, Failure> {
        let input = (caller.user().0, records, epoch);
        let done = self.write(caller, &input, |c, &(user, records, epoch)| Box::pin(write::restore(c, user, records, epoch))).await;
        if matches!(done, Ok(Ok(_))) {
            self.count_new_rows(records.len()).await;
        }
        done
    }
}

fn flatten<T>(written: Result<Outcome<T>, Failure>) -> Outcome<T> {
    written.map_err(|e| ArchiveError::Store(e.into()))?
}
