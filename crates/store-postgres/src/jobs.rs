//! The durable job queue.
//!
//! `recall-store` describes the lanes and ends the jobs. `round_robin` shares the workers among users.
//!
//! A transaction that queues or ends a job locks the session's row. Otherwise one transaction could see a last job that another is
//! removing, and the lane would be left without a head.
//!
//! The queue uses the clock of the database; see `queue_time` in the migrations.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, Word, column, interval, time},
    comparisons::ProgressRow as ComparisonProgressRow,
    documents::ProgressRow,
    failure::Failure,
    round_robin,
    row_security::RowAccess,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{
    Caller, ComparisonId, ComparisonProgress, DocumentId, DocumentProgress, EventDraft, MessageId, SessionId, Timestamp, UserId,
};
use recall_ports::{Claim, CommitError, Job, JobQueue, StoreError};
use recall_store::{HeldJob, JobStatements, KnowledgeStatements, Lane, NewJob, id_and_token, job_work};

/// A row of `jobs`.
pub(super) struct JobRow {
    pub(super) id: i64,
    pub(super) token: i64,
    pub(super) user_id: Uuid,
    pub(super) role: String,
    pub(super) session_id: Uuid,
    pub(super) lane: String,
    pub(super) message_id: Uuid,
    pub(super) answer: bool,
    pub(super) document: Option<bool>,
    pub(super) attempts: i64,
    pub(super) queued_at: Timestamp,
    /// Whether round robin selected the job.
    pub(super) fair: bool,
}

#[async_trait]
impl JobQueue for PostgresStore {
    async fn claim(&self, now: Timestamp, lease: Duration, limit: u32) -> Result<Vec<Job>, StoreError> {
        let rows = round_robin::claim(self, now, lease, limit).await?;
        let mut jobs = rows.into_iter().map(job).collect::<Result<Vec<_>, _>>()?;
        jobs.sort_by_key(|job| job.claim.job);
        Ok(jobs)
    }

    async fn recover(&self, _now: Timestamp) -> Result<u64, StoreError> {
        // Another live process may hold the claims.
        Ok(0)
    }

    async fn extend(&self, claim: &Claim, now: Timestamp, lease: Duration) -> Result<bool, StoreError> {
        let (job, token) = id_and_token(claim);
        // Checks the claim without waiting for a lock. A locked row is most likely being ended by the very worker that holds this
        // lease, and that worker could wait for this statement.
        let ours = sqlx::query_scalar!(
            r#"WITH free AS MATERIALIZED (
                 SELECT id FROM jobs WHERE id = $2 AND token = $3 AND state = 'live' FOR UPDATE SKIP LOCKED),
             loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
             prolonged AS (UPDATE jobs SET ready_at = queue_time($1) + $4 FROM free, loosely WHERE jobs.id = free.id)
             SELECT EXISTS (SELECT 1 FROM jobs WHERE id = $2 AND token = $3 AND state = 'live') AS "ours!""#,
            time(now),
            job,
            token,
            interval(lease),
        );
        Ok(ours.fetch_one(self.pool.writing(RowAccess::Queue)).await.map_err(Failure::from)?)
    }

    async fn retry(&self, claim: &Claim, now: Timestamp, delay: Duration, code: &str) -> Result<(), CommitError> {
        let (job, token) = id_and_token(claim);
        let done = sqlx::query!(
            "UPDATE jobs SET ready_at = queue_time($1) + $2, token = token + 1, code = $3, holder = NULL
             WHERE id = $4 AND token = $5 AND state = 'live'",
            time(now),
            interval(delay),
            code,
            job,
            token,
        );
        let done = done.execute(self.pool.writing(RowAccess::Queue)).await.map_err(Failure::from)?;
        match done.rows_affected() {
            0 => Err(CommitError::NotOurs),
            _ => Ok(()),
        }
    }

    async fn release(&self, claims: &[Claim]) -> Result<(), StoreError> {
        let (jobs, tokens): (Vec<_>, Vec<_>) = claims.iter().map(id_and_token).unzip();
        let released = sqlx::query!(
            "UPDATE jobs SET ready_at = queued_at, token = jobs.token + 1, attempts = attempts - 1, holder = NULL
             FROM unnest($1::bigint[], $2::bigint[]) AS c (id, token)
             WHERE jobs.id = c.id AND jobs.token = c.token AND state = 'live'",
            &jobs[..],
            &tokens[..],
        );
        released.execute(self.pool.writing(RowAccess::Queue)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn release_lost(&self, held: &[Claim], now: Timestamp) -> Result<u64, StoreError> {
        let held: Vec<_> = held.iter().map(|claim| id_and_token(claim).0).collect();
        let released = sqlx::query!(
            "UPDATE jobs SET ready_at = queue_time($1), token = token + 1, attempts = greatest(attempts - 1, 0), holder = NULL
             WHERE head AND ready_at > queue_time($1) AND holder = $2 AND id <> ALL ($3)",
            time(now),
            self.instance,
            &held[..],
        );
        Ok(released.execute(self.pool.writing(RowAccess::Queue)).await.map_err(Failure::from)?.rows_affected())
    }

    async fn bury(&self, caller: &Caller, claim: &Claim, event: &EventDraft, code: &str, now: Timestamp) -> Result<(), CommitError> {
        let input = (caller.user(), claim, event, code, now);
        let buried = self.write(caller, &input, |c, &(user, claim, event, code, now)| {
            Box::pin(async move { recall_store::bury(&mut WriteTransaction(c), user, claim, event, code, now).await })
        });
        let session = buried.await?;
        self.notifications.committed(caller, session);
        Ok(())
    }

    async fn cancel_answer(&self, caller: &Caller, question: MessageId, event: &EventDraft, now: Timestamp) -> Result<bool, StoreError> {
        let input = (caller.user(), question, event, now);
        let cancelled = self.write(caller, &input, |c, &(user, question, event, now)| {
            Box::pin(async move { recall_store::cancel_answer(&mut WriteTransaction(c), user, question, event, now).await })
        });
        let session = cancelled.await?;
        if let Some(session) = session {
            self.notifications.committed(caller, session);
        }
        Ok(session.is_some())
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Duration>, StoreError> {
        let wait = sqlx::query_scalar!(
            r#"SELECT ceil(extract(epoch FROM ready_at - queue_time($1)) * 1000)::bigint AS "wait!" FROM jobs
             WHERE head ORDER BY ready_at LIMIT 1"#,
            time(now)
        );
        let wait = wait.fetch_optional(self.pool.reading(RowAccess::Queue)).await.map_err(Failure::from)?;
        Ok(wait.map(|ms| Duration::from_millis(ms.try_into().unwrap_or(0))))
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        let row = sqlx::query!(
            r#"SELECT (SELECT count(*) FROM jobs WHERE state = 'live') AS "live!", (SELECT count(*) FROM jobs WHERE state = 'dead') AS "dead!""#,
        );
        let row = row.fetch_one(self.pool.reading(RowAccess::Queue)).await.map_err(Failure::from)?;
        Ok((row.live.unsigned_abs(), row.dead.unsigned_abs()))
    }

    async fn oldest(&self, now: Timestamp) -> Result<Option<Duration>, StoreError> {
        let age = sqlx::query_scalar!(
            "SELECT floor(extract(epoch FROM queue_time($1) - min(queued_at)) * 1000)::bigint FROM jobs WHERE head",
            time(now)
        );
        let age = age.fetch_one(self.pool.reading(RowAccess::Queue)).await.map_err(Failure::from)?;
        Ok(age.map(|ms| Duration::from_millis(ms.try_into().unwrap_or(0))))
    }
}

fn job(row: JobRow) -> Result<Job, Failure> {
    let of = |column| Column("jobs", column);
    Ok(Job {
        claim: Claim { job: of("id").count(row.id)?, token: of("token").count(row.token)? },
        // The identity was verified when the job was queued, so the store vouches for it.
        caller: Caller::verified(UserId(row.user_id), of("role").word(&row.role)?),
        session: SessionId(row.session_id),
        work: job_work(of("lane").word(&row.lane)?, MessageId(row.message_id), row.answer, row.document == Some(true)),
        attempts: of("attempts").small(row.attempts)?,
        queued_at: row.queued_at,
    })
}

/// The columns of a held job.
pub(super) struct HeldRow {
    pub(super) id: i64,
    pub(super) session_id: Uuid,
    pub(super) lane: String,
    pub(super) message_id: Uuid,
    pub(super) answer: bool,
    pub(super) document: Option<bool>,
}

impl HeldRow {
    pub(super) fn read(self, user: UserId) -> Result<HeldJob, Failure> {
        let (session, message) = (SessionId(self.session_id), MessageId(self.message_id));
        let (lane, document) = (Column("jobs", "lane").word(&self.lane)?, self.document == Some(true));
        Ok(HeldJob { id: self.id, user, session, lane, message, answer: self.answer, document })
    }
}

#[async_trait]
impl JobStatements for WriteTransaction<'_> {
    async fn insert_jobs(&mut self, caller: &Caller, session: SessionId, lane: Lane, jobs: &[NewJob]) -> Result<(), Failure> {
        // Sorted before the insert, so that the numbers follow the order of the messages.
        let insert = sqlx::query!(
            "INSERT INTO jobs (user_id, session_id, lane, message_id, role, ready_at, queued_at, answer, document, head)
             SELECT $1, $2, $3, message, $4, queue_time(at), queue_time(at), answer, document, place = 1 AND NOT EXISTS (
                 SELECT 1 FROM jobs WHERE user_id = $1 AND session_id = $2 AND lane = $3 AND state = 'live')
             FROM unnest($5::uuid[], $6::timestamptz[], $7::boolean[], $8::boolean[]) WITH ORDINALITY AS w (message, at, answer, document, place)
             ORDER BY place",
            caller.user().0,
            session.0,
            lane.word(),
            caller.role().word(),
            &column(jobs, |job| job.message.0)[..],
            &column(jobs, |job| time(job.at))[..],
            &column(jobs, |job| job.answer)[..],
            &column(jobs, |job| job.document.then_some(true)) as &[Option<bool>],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    /// Locks the session and then the job, so no other process can take the job before this transaction ends.
    ///
    /// A job is only locked after it was compared with the locked session. The comparison with the claim is repeated then, because the
    /// job may have changed while this waited for the session. Deleting a session also deletes its jobs.
    async fn claimed_job(&mut self, user: UserId, claim: &Claim) -> Result<Option<HeldJob>, Failure> {
        let (id, token) = id_and_token(claim);
        let held = sqlx::query_as!(
            HeldRow,
            "WITH locked AS MATERIALIZED (
                 SELECT id FROM visible_sessions WHERE user_id = $3 AND id = (
                     SELECT session_id FROM jobs WHERE id = $1 AND token = $2 AND user_id = $3 AND state = 'live')
                 FOR NO KEY UPDATE)
             SELECT id, session_id, lane, message_id, answer, document FROM jobs
             WHERE id = $1 AND token = $2 AND user_id = $3 AND state = 'live' AND session_id = (SELECT id FROM locked) FOR UPDATE",
            id,
            token,
            user.0,
        );
        held.fetch_optional(&mut *self.0).await?.map(|row| row.read(user)).transpose()
    }

    async fn jobs_behind(&mut self, job: &HeldJob, limit: u32) -> Result<Vec<HeldJob>, Failure> {
        let behind = sqlx::query_as!(
            HeldRow,
            "SELECT id, session_id, lane, message_id, answer, document FROM jobs
             WHERE user_id = $1 AND session_id = $2 AND lane = $3 AND state = 'live' AND id > $4 ORDER BY id LIMIT $5 FOR UPDATE",
            job.user.0,
            job.session.0,
            job.lane.word(),
            job.id,
            i64::from(limit),
        );
        behind.fetch_all(&mut *self.0).await?.into_iter().map(|row| row.read(job.user)).collect()
    }

    /// Locks the session before the job, like every transaction. A worker that is ending the job holds the session, so this waits for
    /// it.
    async fn answering_job(&mut self, user: UserId, question: MessageId) -> Result<Option<HeldJob>, Failure> {
        let session = sqlx::query_scalar!(
            r#"SELECT session_id AS "session_id!" FROM visible_messages WHERE user_id = $1 AND id = $2"#,
            user.0,
            question.0
        );
        let Some(session) = session.fetch_optional(&mut *self.0).await? else { return Ok(None) };
        if !self.lock_session(user, SessionId(session)).await? {
            return Ok(None);
        }
        let job = sqlx::query_as!(
            HeldRow,
            "SELECT id, session_id, lane, message_id, answer, document FROM jobs
             WHERE user_id = $1 AND message_id = $2 AND state = 'live' AND document IS NULL AND (lane = 'answer' OR answer) FOR UPDATE",
            user.0,
            question.0,
        );
        job.fetch_optional(&mut *self.0).await?.map(|row| row.read(user)).transpose()
    }

    async fn delete_job(&mut self, job: &HeldJob) -> Result<(), Failure> {
        sqlx::query!("DELETE FROM jobs WHERE id = $1", job.id).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn promote_next(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Failure> {
        let next = sqlx::query!(
            "UPDATE jobs SET head = true, ready_at = greatest(ready_at, queue_time($4)) WHERE id = (
                 SELECT min(id) FROM jobs WHERE user_id = $1 AND session_id = $2 AND lane = $3 AND state = 'live')",
            job.user.0,
            job.session.0,
            job.lane.word(),
            time(now),
        );
        next.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn mark_dead(&mut self, job: &HeldJob, code: &str) -> Result<(), Failure> {
        let dead = sqlx::query!(
            "UPDATE jobs SET state = 'dead', head = false, token = token + 1, code = $1, holder = NULL WHERE id = $2",
            code,
            job.id
        );
        dead.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn withdraw_answer(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Failure> {
        let queued = sqlx::query!(
            "UPDATE jobs SET answer = false, token = token + 1, attempts = greatest(attempts - 1, 0), holder = NULL,
                 ready_at = least(ready_at, queue_time($1))
             WHERE id = $2",
            time(now),
            job.id,
        );
        queued.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn mark_message_failed(&mut self, user: UserId, message: MessageId) -> Result<(), Failure> {
        let failed = sqlx::query!("UPDATE messages SET status = 'failed' WHERE user_id = $1 AND id = $2", user.0, message.0);
        failed.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn mark_document_failed(
        &mut self,
        user: UserId,
        document: DocumentId,
        error: &str,
        now: Timestamp,
    ) -> Result<Option<DocumentProgress>, Failure> {
        let failed = sqlx::query_as!(
            ProgressRow,
            "UPDATE documents SET status = 'failed', error = $3, updated_at = $4
             WHERE user_id = $1 AND id = $2 AND status IN ('pending', 'processing')
             RETURNING id, status, error, chunk_count, stored, understood",
            user.0,
            document.0,
            &*codec::text(error),
            time(now),
        );
        failed.fetch_optional(&mut *self.0).await?.map(ProgressRow::read).transpose()
    }

    async fn mark_comparison_failed(
        &mut self,
        user: UserId,
        comparison: ComparisonId,
        error: &str,
        now: Timestamp,
    ) -> Result<Option<ComparisonProgress>, Failure> {
        let failed = sqlx::query_as!(
            ComparisonProgressRow,
            "UPDATE comparisons SET status = 'failed', error = $3, passages = '[]', updated_at = $4
             WHERE user_id = $1 AND id = $2 AND status IN ('pending', 'processing') RETURNING id, status, error, done, total",
            user.0,
            comparison.0,
            &*codec::text(error),
            time(now),
        );
        failed.fetch_optional(&mut *self.0).await?.map(ComparisonProgressRow::read).transpose()
    }

    async fn advance_understood(
        &mut self,
        user: UserId,
        document: DocumentId,
        count: u32,
        now: Timestamp,
    ) -> Result<Option<DocumentProgress>, Failure> {
        let advanced = sqlx::query_as!(
            ProgressRow,
            "UPDATE documents SET understood = understood + $3, updated_at = $4,
                 status = CASE WHEN status = 'processing' AND understood + $3 >= chunk_count THEN 'completed' ELSE status END
             WHERE user_id = $1 AND id = $2 RETURNING id, status, error, chunk_count, stored, understood",
            user.0,
            document.0,
            i64::from(count),
            time(now),
        );
        advanced.fetch_optional(&mut *self.0).await?.map(ProgressRow::read).transpose()
    }
}
