//! Comparisons of documents.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, JsonText, Word, column, json, time},
    failure::Failure,
    keys,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{
    Caller, Comparison, ComparisonId, ComparisonProgress, ComparisonStatus, DocumentId, EventId, Page, Slice, Timestamp, UserId, UserText,
};
use recall_ports::{Claim, CommitError, ComparisonStep, ComparisonStore, NewComparison, StoreError};
use recall_store::ComparisonStatements;

/// A row of `visible_comparisons`.
struct ComparisonRow {
    id: Uuid,
    question: Option<String>,
    documents: JsonText,
    status: String,
    error: Option<String>,
    done: i64,
    total: i64,
    comparer: Option<String>,
    passages: JsonText,
    points: JsonText,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// Selects comparisons, except those under deletion.
macro_rules! comparisons {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            ComparisonRow,
            r#"SELECT id AS "id!", question, documents AS "documents!", status AS "status!", error, done AS "done!", total AS "total!", comparer,
                    passages AS "passages!", points AS "points!", created_at AS "created_at!", updated_at AS "updated_at!"
             FROM visible_comparisons "# + $rest $(, $value)*
        )
    };
}

impl ComparisonRow {
    fn read(self) -> Result<Comparison, Failure> {
        let of = |column| Column("comparisons", column);
        Ok(Comparison {
            id: ComparisonId(self.id),
            question: of("question").opt_text(self.question)?.map(UserText::from),
            documents: of("documents").json(&self.documents)?,
            status: of("status").word(&self.status)?,
            error: of("error").opt_text(self.error)?,
            done: of("done").small(self.done)?,
            total: of("total").small(self.total)?,
            comparer: of("comparer").opt_text(self.comparer)?,
            groups: of("passages").json(&self.passages)?,
            points: of("points").json(&self.points)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

/// The columns of a comparison's progress.
pub(super) struct ProgressRow {
    pub(super) id: Uuid,
    pub(super) status: String,
    pub(super) error: Option<String>,
    pub(super) done: i64,
    pub(super) total: i64,
}

impl ProgressRow {
    pub(super) fn read(self) -> Result<ComparisonProgress, Failure> {
        let of = |column| Column("comparisons", column);
        Ok(ComparisonProgress {
            comparison: ComparisonId(self.id),
            status: of("status").word(&self.status)?,
            done: of("done").small(self.done)?,
            total: of("total").small(self.total)?,
            error: of("error").opt_text(self.error)?,
        })
    }
}

#[async_trait]
impl ComparisonStore for PostgresStore {
    async fn add_comparison(&self, caller: &Caller, new: NewComparison) -> Result<Comparison, StoreError> {
        let input = (caller, &new);
        let added = self.write(caller, &input, |c, &(caller, new)| {
            Box::pin(async move { recall_store::add_comparison(&mut WriteTransaction(c), caller, new).await })
        });
        let added = added.await?;
        self.notifications.queued(caller, added.id.session());
        Ok(added)
    }

    async fn comparisons_by_id(&self, caller: &Caller, ids: &[ComparisonId]) -> Result<Vec<Comparison>, StoreError> {
        let found = comparisons!("WHERE user_id = $1 AND id = ANY($2)", caller.user().0, &column(ids, |id| id.0)[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(ComparisonRow::read).collect::<Result<_, _>>()?)
    }

    async fn list_comparisons(&self, caller: &Caller, document: Option<DocumentId>, page: &Page) -> Result<Slice<Comparison>, StoreError> {
        let (created_at, id) = codec::latest_before(page.after.as_deref())?;
        let found = comparisons!(
            "WHERE user_id = $1 AND ($2::text IS NULL OR documents::jsonb ? $2) AND (created_at, id) < ($3, $4)
             ORDER BY created_at DESC, id DESC LIMIT $5",
            caller.user().0,
            document.map(|id| id.to_string()),
            created_at,
            id,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let key = |comparison: &Comparison| keys::time_and_id(comparison.created_at, comparison.id.0);
        Ok(keys::page(found.into_iter().map(ComparisonRow::read), page, key)?)
    }

    async fn count_comparisons(&self, caller: &Caller, document: Option<DocumentId>) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM visible_comparisons WHERE user_id = $1 AND ($2::text IS NULL OR documents::jsonb ? $2)"#,
            caller.user().0,
            document.map(|id| id.to_string()),
        );
        Ok(count.fetch_one(self.pool.reading(caller)).await.map_err(Failure::from)?.unsigned_abs())
    }

    async fn save_comparison(&self, caller: &Caller, claim: &Claim, step: &ComparisonStep) -> Result<(), CommitError> {
        let input = (caller.user(), claim, step);
        let saved = self.write(caller, &input, |c, &(user, claim, step)| {
            Box::pin(async move { recall_store::save_comparison(&mut WriteTransaction(c), user, claim, step).await })
        });
        saved.await?;
        self.notifications.committed(caller, step.comparison.session());
        Ok(())
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
        let input = (caller.user(), claim, comparison, error, event, now);
        let failed = self.write(caller, &input, |c, &(user, claim, comparison, error, event, now)| {
            Box::pin(
                async move { recall_store::fail_comparison(&mut WriteTransaction(c), user, claim, comparison, (error, event, now)).await },
            )
        });
        failed.await?;
        self.notifications.committed(caller, comparison.session());
        Ok(())
    }
}

#[async_trait]
impl ComparisonStatements for WriteTransaction<'_> {
    async fn insert_comparison(&mut self, user: UserId, c: &Comparison) -> Result<(), Failure> {
        let [question, error, comparer] =
            [c.question.as_ref().map(UserText::as_str), c.error.as_deref(), c.comparer.as_deref()].map(codec::opt_text);
        let insert = sqlx::query!(
            "INSERT INTO comparisons (user_id, id, question, documents, status, error, done, total, comparer, passages, points, created_at,
                                      updated_at)
             VALUES ($1, $2, $3, $4::text::json, $5, $6, $7, $8, $9, $10::text::json, $11::text::json, $12, $13)",
            user.0,
            c.id.0,
            question.as_deref(),
            json(&c.documents, "documents")?,
            c.status.word(),
            error.as_deref(),
            i64::from(c.done),
            i64::from(c.total),
            comparer.as_deref(),
            json(&c.groups, "passages")?,
            json(&c.points, "points")?,
            time(c.created_at),
            time(c.updated_at),
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn lock_comparison(&mut self, user: UserId, comparison: ComparisonId) -> Result<Option<ComparisonProgress>, Failure> {
        let found = sqlx::query_as!(
            ProgressRow,
            "SELECT id, status, error, done, total FROM comparisons
             WHERE user_id = $1 AND id = $2 AND id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1) FOR UPDATE",
            user.0,
            comparison.0,
        );
        found.fetch_optional(&mut *self.0).await?.map(ProgressRow::read).transpose()
    }

    async fn save_step(&mut self, user: UserId, step: &ComparisonStep, status: ComparisonStatus) -> Result<(), Failure> {
        let comparer = codec::opt_text(step.comparer.as_deref());
        let save = sqlx::query!(
            "UPDATE comparisons SET status = $3, done = $4, total = $5, comparer = $6, passages = $7::text::json, points = $8::text::json,
                 updated_at = $9 WHERE user_id = $1 AND id = $2",
            user.0,
            step.comparison.0,
            status.word(),
            i64::from(step.before.saturating_add(1)),
            i64::from(step.total),
            comparer.as_deref(),
            json(&step.groups, "passages")?,
            json(&step.points, "points")?,
            time(step.now),
        );
        save.execute(&mut *self.0).await?;
        Ok(())
    }
}
