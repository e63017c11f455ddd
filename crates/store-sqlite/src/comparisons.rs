//! Comparisons of documents.

use async_trait::async_trait;
use rusqlite::params;

use super::{
    SqliteStore,
    codec::{Word, json, millis},
    failure::Failure,
    keys,
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use recall_domain::{
    Caller, Comparison, ComparisonId, ComparisonProgress, ComparisonStatus, DocumentId, EventId, Page, Slice, Timestamp, UserId, UserText,
};
use recall_ports::{Claim, CommitError, ComparisonStep, ComparisonStore, NewComparison, StoreError};
use recall_store::ComparisonStatements;

/// The comparisons of a user, and with `?2` only those of this document.
macro_rules! of_document {
    ($select:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $select,
            " FROM visible_comparisons WHERE user_id = ?1 AND (?2 IS NULL OR EXISTS (SELECT 1 FROM json_each(documents) WHERE value = ?2)) ",
            $rest
        )
    };
}

#[async_trait]
impl ComparisonStore for SqliteStore {
    async fn add_comparison(&self, caller: &Caller, new: NewComparison) -> Result<Comparison, StoreError> {
        let caller = *caller;
        Ok(self.write(move |tx| run(recall_store::add_comparison(tx, &caller, &new))).await?)
    }

    async fn comparisons_by_id(&self, caller: &Caller, ids: &[ComparisonId]) -> Result<Vec<Comparison>, StoreError> {
        let values = (caller.user().0, super::codec::id_list(ids.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_comparisons WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
            db.rows("comparisons", sql, values, comparison)
        });
        Ok(found.await?)
    }

    async fn list_comparisons(&self, caller: &Caller, document: Option<DocumentId>, page: &Page) -> Result<Slice<Comparison>, StoreError> {
        let (created_at, id) = keys::latest_before(page.after.as_deref())?;
        let (user, document, limit) = (caller.user().0, document.map(|id| id.to_string()), keys::limit(page));
        let found = self.read(caller, move |db| {
            let sql = of_document!("*", "AND (created_at, id) < (?3, ?4) ORDER BY created_at DESC, id DESC LIMIT ?5");
            db.rows("comparisons", sql, params![user, document, created_at, id, limit], comparison)
        });
        let key = |comparison: &Comparison| keys::time_and_id(comparison.created_at, comparison.id.0);
        Ok(keys::page(found.await?.into_iter().map(Ok::<_, Failure>), page, key)?)
    }

    async fn count_comparisons(&self, caller: &Caller, document: Option<DocumentId>) -> Result<u64, StoreError> {
        let (user, document) = (caller.user().0, document.map(|id| id.to_string()));
        let count = self.read(caller, move |db| db.number(of_document!("COUNT(*)", ""), params![user, document]));
        Ok(count.await?.unsigned_abs())
    }

    async fn save_comparison(&self, caller: &Caller, claim: &Claim, step: &ComparisonStep) -> Result<(), CommitError> {
        let (user, claim, step) = (caller.user(), claim.clone(), step.clone());
        Ok(self.write(move |tx| run(recall_store::save_comparison(tx, user, &claim, &step))).await?)
    }

    async fn fail_comparison(
        &self,
        caller: &Caller,
        claim: &Claim,
        comparison: ComparisonId,
        error: &str,
        event: EventId,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let (user, claim, error) = (caller.user(), claim.clone(), error.to_owned());
        let failed = self.write(move |tx| run(recall_store::fail_comparison(tx, user, &claim, comparison, (&error, event, now))));
        Ok(failed.await?)
    }
}

#[async_trait]
impl ComparisonStatements for WriteTransaction<'_> {
    async fn insert_comparison(&mut self, user: UserId, c: &Comparison) -> Result<(), Failure> {
        self.0.execute(
            "INSERT INTO comparisons (user_id, id, question, documents, status, error, done, total, comparer, passages, points, created_at,
                                      updated_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                user.0,
                c.id.0,
                c.question.as_ref().map(UserText::as_str),
                json(&c.documents, "documents")?,
                c.status.word(),
                c.error,
                c.done,
                c.total,
                c.comparer,
                json(&c.groups, "passages")?,
                json(&c.points, "points")?,
                millis(c.created_at),
                millis(c.updated_at),
            ],
        )?;
        Ok(())
    }

    async fn lock_comparison(&mut self, user: UserId, comparison: ComparisonId) -> Result<Option<ComparisonProgress>, Failure> {
        let sql = "SELECT id, status, error, done, total FROM visible_comparisons WHERE user_id = ? AND id = ?";
        self.0.row("comparisons", sql, (user.0, comparison.0), progress)
    }

    async fn save_step(&mut self, user: UserId, step: &ComparisonStep, status: ComparisonStatus) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE comparisons SET status = ?3, done = ?4, total = ?5, comparer = ?6, passages = ?7, points = ?8, updated_at = ?9
             WHERE user_id = ?1 AND id = ?2",
            params![
                user.0,
                step.comparison.0,
                status.word(),
                step.before.saturating_add(1),
                step.total,
                step.comparer,
                json(&step.groups, "passages")?,
                json(&step.points, "points")?,
                millis(step.now),
            ],
        )?;
        Ok(())
    }
}

/// Reads all columns of `visible_comparisons`.
fn comparison(c: &Columns<'_, '_>) -> Result<Comparison, Failure> {
    Ok(Comparison {
        id: ComparisonId(c.id("id")?),
        question: c.opt_text("question")?.map(UserText::from),
        documents: c.json("documents")?,
        status: c.word("status")?,
        error: c.opt_text("error")?,
        done: c.small("done")?,
        total: c.small("total")?,
        comparer: c.opt_text("comparer")?,
        groups: c.json("passages")?,
        points: c.json("points")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
    })
}

/// Reads the columns of [`ComparisonProgress`].
pub(super) fn progress(c: &Columns<'_, '_>) -> Result<ComparisonProgress, Failure> {
    Ok(ComparisonProgress {
        comparison: ComparisonId(c.id("id")?),
        status: c.word("status")?,
        done: c.small("done")?,
        total: c.small("total")?,
        error: c.opt_text("error")?,
    })
}
