//! Archives: exports all rows of one user, and imports them into a store.
//!
//! A test prepares each statement that is built from a shape.

mod adopt;
mod read;
#[cfg(test)]
mod tests;
mod write;

use async_trait::async_trait;

use super::{PostgresStore, failure::Failure, row_security::RowAccess, transaction::WriteTransaction};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{
    StoreError,
    archive::{Admitted, Archive, ArchiveError, Owner, Record, Restored, Snapshot},
};
use recall_store::archive::{self, RestoreBatch, flatten};

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
        Ok(Box::new(read::ArchiveSnapshot::begin(self, user).await?))
    }

    async fn admit(&self, owner: &Owner) -> Result<Admitted, ArchiveError> {
        let admitted = self.write(owner.user, owner, |c, owner| {
            Box::pin(async move {
                sqlx::query_scalar!("SELECT id FROM users WHERE id = $1 FOR UPDATE", owner.user.0).fetch_optional(&mut *c).await?;
                archive::admit(&mut WriteTransaction(c), owner).await
            })
        });
        flatten(admitted.await)
    }

    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        archive::restore(self, caller, records, epoch).await
    }

    async fn restored(&self, caller: &Caller, counts: &[u64]) -> Result<(), ArchiveError> {
        let input = (caller.user(), counts);
        let finished = self.write(caller, &input, |c, &(user, counts)| {
            Box::pin(async move {
                // Counting all rows of a large user may take longer than the timeout.
                sqlx::query!("SET LOCAL statement_timeout = 0").execute(&mut *c).await?;
                archive::finish_import(&mut WriteTransaction(c), user, counts).await
            })
        });
        flatten(finished.await)
    }
}

#[async_trait]
impl RestoreBatch for PostgresStore {
    async fn restore_batch(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError> {
        let input = (caller.user(), records, epoch);
        let done = self.write(caller, &input, |c, &(user, records, epoch)| {
            Box::pin(async move { archive::restore_records(&mut WriteTransaction(c), user, records, epoch).await })
        });
        match done.await {
            Err(failure) if failure.violates_constraint() => Err(ArchiveError::Inconsistent(0)),
            done => {
                let restored = flatten(done)?;
                self.count_new_rows(records.len()).await;
                Ok(restored)
            }
        }
    }
}
