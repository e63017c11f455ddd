//! Imports an archive. An equal existing row is left alone; a different one is a conflict.

use async_trait::async_trait;

use super::ArchiveReads;
use crate::{Refusal, Transaction, signed};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{
    StoreError,
    archive::{Admitted, ArchiveError, Owner, Record, Restored, SHAPES, Shape},
};

/// The result of a transaction that is committed even if the archive is refused.
///
/// The records before the refused one are correct, and the next attempt finds them.
pub type Outcome<T> = Result<T, ArchiveError>;

/// Joins the two ways in which a transaction can fail.
///
/// # Errors
/// The failure of the store, or why the archive was refused.
pub fn flatten<T, E: Into<StoreError>>(written: Result<Outcome<T>, E>) -> Outcome<T> {
    written.map_err(|e| ArchiveError::Store(e.into()))?
}

/// Statements that write archives.
#[async_trait]
pub trait ImportStatements: Transaction {
    /// The statements that read an archive, in this transaction.
    fn reads(&mut self) -> Box<dyn ArchiveReads<Error = Self::Error> + '_>;
    /// Whether the user has sessions or entities. All other rows reference one of these.
    async fn has_data(&mut self, user: UserId) -> Result<bool, Self::Error>;
    /// Marks a user as being imported, with the counters of the archive. Indexes in memory rebuild.
    async fn mark_importing(&mut self, owner: &Owner) -> Result<(), Self::Error>;

    /// Inserts records of one shape, at least one, except those that conflict with an existing row. Returns how many it inserted.
    async fn insert_records(&mut self, user: UserId, records: &[Record], epoch: &str) -> Result<u64, Self::Error>;
    /// Inserts records of one shape, at least one, and overwrites existing rows that differ.
    async fn upsert_records(&mut self, user: UserId, records: &[Record]) -> Result<Restored, Self::Error>;
    /// Inserts a job that cannot be claimed yet, unless the message has one in its lane. Returns whether it did.
    async fn insert_job(&mut self, user: UserId, record: &Record) -> Result<bool, Self::Error>;
    /// Whether a row equals the record.
    async fn has_equal_row(&mut self, user: UserId, record: &Record) -> Result<bool, Self::Error>;

    /// Counts the rows of a shape.
    async fn count_rows(&mut self, user: UserId, shape: &Shape) -> Result<i64, Self::Error>;
    /// Whether the messages contradict the counters of the user or of a session.
    async fn has_wrong_counters(&mut self, user: UserId) -> Result<bool, Self::Error>;
    /// Makes the first job of each lane without a head its head. Workers claim heads only.
    async fn set_lane_heads(&mut self, user: UserId) -> Result<(), Self::Error>;
    /// Ends the import. Indexes in memory rebuild.
    ///
    /// The importer has re-embedded all vectors with the configured model. A background task verifies that later.
    async fn end_import(&mut self, user: UserId) -> Result<(), Self::Error>;
}

/// Begins or resumes the import of one user. The engine has locked the user.
///
/// # Errors
/// `BeingErased` if the user's data is being deleted. The outcome is `Unfinished` or `OtherData` if the user has other data.
pub async fn admit<T: ImportStatements>(tx: &mut T, new: &Owner) -> Result<Outcome<Admitted>, T::Error> {
    let admitted = |is_importing| Admitted { caller: Caller::verified(new.user, ViewerRole::User), is_importing };
    let known = tx.reads().user_state(new.user).await?;
    if let Some(known) = known {
        if known.erasing {
            return Err(Refusal::BeingErased.into());
        }
        let is_same = (known.owner.feed_head, known.owner.knowledge_version) == (new.feed_head, new.knowledge_version);
        if known.importing {
            return Ok(if is_same { Ok(admitted(true)) } else { Err(ArchiveError::Unfinished) });
        }
        if tx.has_data(new.user).await? {
            return Ok(if is_same { Ok(admitted(false)) } else { Err(ArchiveError::OtherData) });
        }
    }
    tx.mark_importing(new).await?;
    Ok(Ok(admitted(true)))
}

/// Writes records of one shape.
///
/// # Errors
/// If a statement fails, such as one that violates a constraint. The outcome is `Conflict` if a row differs from its record.
pub async fn restore_records<T: ImportStatements>(
    tx: &mut T,
    user: UserId,
    records: &[Record],
    epoch: &str,
) -> Result<Outcome<Restored>, T::Error> {
    let Some(shape) = records.first().map(|r| r.shape) else { return Ok(Ok(Restored::default())) };
    let mut restored = Restored::default();
    if shape.name == "job" {
        for record in records {
            restored.new += u64::from(tx.insert_job(user, record).await?);
        }
    } else if shape.derived {
        restored = tx.upsert_records(user, records).await?;
    } else {
        restored.new = tx.insert_records(user, records, epoch).await?;
        if restored.new < records.len() as u64 {
            for (at, record) in records.iter().enumerate() {
                if !tx.has_equal_row(user, record).await? {
                    return Ok(Err(ArchiveError::Conflict(at)));
                }
            }
        }
    }
    Ok(Ok(restored))
}

/// An engine that restores records in one transaction.
#[async_trait]
pub trait RestoreBatch: Sync {
    /// Runs [`restore_records`]. Fails with `Inconsistent` if the engine rejects a statement because of the data.
    async fn restore_batch(&self, caller: &Caller, records: &[Record], epoch: &str) -> Outcome<Restored>;
}

/// Writes records of one shape, and finds the record that makes the engine reject them.
///
/// # Errors
/// `Inconsistent` or `Conflict` with the place of the record, or the failure of the store.
pub async fn restore<S: RestoreBatch>(store: &S, caller: &Caller, records: &[Record], epoch: &str) -> Outcome<Restored> {
    let together = store.restore_batch(caller, records, epoch).await;
    if !matches!(together, Err(ArchiveError::Inconsistent(_))) {
        return together;
    }
    // The batch was rejected as a whole, so each record is tried alone.
    let mut restored = Restored::default();
    for (at, record) in records.iter().enumerate() {
        restored += store.restore_batch(caller, std::slice::from_ref(record), epoch).await.map_err(|e| match e {
            ArchiveError::Inconsistent(_) => ArchiveError::Inconsistent(at),
            ArchiveError::Conflict(_) => ArchiveError::Conflict(at),
            e => e,
        })?;
    }
    Ok(restored)
}

/// Checks the imported data as a whole, by the number of records of each shape, and ends the import.
///
/// # Errors
/// If a statement fails. The outcome is `OtherData` or `Counters` if the data is not that of the archive.
pub async fn finish_import<T: ImportStatements>(tx: &mut T, user: UserId, counts: &[u64]) -> Result<Outcome<()>, T::Error> {
    for (shape, expected) in SHAPES.iter().zip(counts).filter(|(shape, _)| !shape.internal) {
        if tx.count_rows(user, shape).await? != signed(*expected) {
            return Ok(Err(ArchiveError::OtherData));
        }
    }
    if tx.has_wrong_counters(user).await? {
        return Ok(Err(ArchiveError::Counters));
    }
    tx.set_lane_heads(user).await?;
    tx.end_import(user).await?;
    Ok(Ok(()))
}
