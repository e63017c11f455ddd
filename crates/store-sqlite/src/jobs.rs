//! The durable job queue.
//!
//! `recall-store` describes the lanes and ends the jobs. `round_robin` shares the workers among users.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{Word, deadline, id_list, millis},
    comparisons, documents,
    failure::Failure,
    round_robin::{self, NextUsers},
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use recall_domain::{
    Caller, ComparisonId, ComparisonProgress, DocumentId, DocumentProgress, EventDraft, MessageId, SessionId, Timestamp, UserId,
};
use recall_ports::{Claim, CommitError, Job, JobQueue, StoreError};
use recall_store::{HeldJob, JobStatements, Lane, NewJob, Refusal, id_and_token, job_work};

#[async_trait]
impl JobQueue for SqliteStore {
    async fn claim(&self, now: Timestamp, lease: Duration, limit: u32) -> Result<Vec<Job>, StoreError> {
        let (until, now) = (deadline(now, lease), millis(now));
        let last = self.round_robin.last();
        let next = self.readers.for_server(move |db| {
            // Workers poll often and mostly find nothing, so only a due job causes a write.
            if !db.exists("SELECT 1 FROM jobs WHERE head = 1 AND ready_at <= ? LIMIT 1", (now,))? {
                return Ok(None);
            }
            round_robin::next_users(db, last, now, limit).map(Some)
        });
        let Some(NextUsers { users, is_truncated }) = next.await? else { return Ok(Vec::new()) };
        let among = id_list(users.iter().map(|user| &user.0));
        // A claim need not outlive the worker that made it.
        let claimed = self.write_relaxed(move |tx| {
            let mut jobs = tx.0.rows("jobs", round_robin::CLAIM_OF_USERS, (now, until, limit, among), job)?;
            let left = i64::from(limit) - i64::try_from(jobs.len()).unwrap_or(i64::MAX);
            if is_truncated && left > 0 {
                jobs.extend(tx.0.rows("jobs", round_robin::CLAIM_OLDEST, (now, until, left), job)?);
            }
            Ok(jobs)
        });
        let mut jobs = claimed.await?;
        self.round_robin.served(last, users.into_iter().filter(|user| jobs.iter().any(|job| job.caller.user() == *user)));
        jobs.sort_by_key(|job| job.claim.job);
        Ok(jobs)
    }

    async fn recover(&self, now: Timestamp) -> Result<u64, StoreError> {
        // The previous process is dead. If it is not, its token is void now, and its commit will be refused.
        let recovered = self.write(move |tx| {
            let sql = "UPDATE jobs SET ready_at = ?1, token = token + 1, held = 0 WHERE head = 1 AND ready_at > ?1";
            tx.0.execute(sql, (millis(now),))
        });
        Ok(recovered.await?)
    }

    async fn extend(&self, claim: &Claim, now: Timestamp, lease: Duration) -> Result<bool, StoreError> {
        let (job, token) = id_and_token(claim);
        let until = deadline(now, lease);
        let extended = self.write_relaxed(move |tx| {
            tx.0.execute("UPDATE jobs SET ready_at = ? WHERE id = ? AND token = ? AND state = 'live'", (until, job, token))
        });
        Ok(extended.await? == 1)
    }

    async fn retry(&self, claim: &Claim, now: Timestamp, delay: Duration, code: &str) -> Result<(), CommitError> {
        let (job, token) = id_and_token(claim);
        let due = deadline(now, delay);
        let code = code.to_owned();
        let done = self.write(move |tx| {
            let sql = "UPDATE jobs SET ready_at = ?, token = token + 1, code = ?, held = 0 WHERE id = ? AND token = ? AND state = 'live'";
            match tx.0.execute(sql, (due, code, job, token))? {
                0 => Err(Refusal::NotOurs.into()),
                _ => Ok(()),
            }
        });
        Ok(done.await?)
    }

    async fn release(&self, claims: &[Claim]) -> Result<(), StoreError> {
        let claims: Vec<_> = claims.iter().map(id_and_token).collect();
        let done = self.write(move |tx| {
            for claim in claims {
                tx.0.execute(
                    "UPDATE jobs SET ready_at = queued_at, token = token + 1, attempts = attempts - 1, held = 0
                     WHERE id = ? AND token = ? AND state = 'live'",
                    claim,
                )?;
            }
            Ok(())
        });
        Ok(done.await?)
    }

    async fn release_lost(&self, held: &[Claim], now: Timestamp) -> Result<u64, StoreError> {
        let held = serde_json::Value::from(held.iter().map(|claim| claim.job).collect::<Vec<_>>()).to_string();
        let released = self.write(move |tx| {
            tx.0.execute(
                "UPDATE jobs SET ready_at = ?1, token = token + 1, attempts = max(attempts - 1, 0), held = 0
                 WHERE head = 1 AND ready_at > ?1 AND held = 1 AND id NOT IN (SELECT value FROM json_each(?2))",
                (millis(now), held),
            )
        });
        Ok(released.await?)
    }

    async fn bury(&self, caller: &Caller, claim: &Claim, event: &EventDraft, code: &str, now: Timestamp) -> Result<(), CommitError> {
        let (user, claim, event, code) = (caller.user(), claim.clone(), event.clone(), code.to_owned());
        self.write(move |tx| run(recall_store::bury(tx, user, &claim, &event, &code, now))).await?;
        Ok(())
    }

    async fn cancel_answer(&self, caller: &Caller, question: MessageId, event: &EventDraft, now: Timestamp) -> Result<bool, StoreError> {
        let (user, event) = (caller.user(), event.clone());
        let session = self.write(move |tx| run(recall_store::cancel_answer(tx, user, question, &event, now)));
        Ok(session.await?.is_some())
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Duration>, StoreError> {
        let due = self.readers.for_server(|db| {
            let sql = "SELECT ready_at FROM jobs WHERE head = 1 ORDER BY ready_at LIMIT 1";
            db.row("jobs", sql, (), |c| c.time("ready_at"))
        });
        Ok(due.await?.map(|at| (at - now).to_std().unwrap_or_default()))
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        let depth = self.readers.for_server(|db| {
            let sql =
                "SELECT (SELECT COUNT(*) FROM jobs WHERE state = 'live') AS live, (SELECT COUNT(*) FROM jobs WHERE state = 'dead') AS dead";
            db.only_row("jobs", sql, (), |c| Ok((c.count("live")?, c.count("dead")?)))
        });
        Ok(depth.await?)
    }

    async fn oldest(&self, now: Timestamp) -> Result<Option<Duration>, StoreError> {
        let queued = self.readers.for_server(|db| {
            let sql = "SELECT min(queued_at) AS queued_at FROM jobs WHERE head = 1";
            db.only_row("jobs", sql, (), |c| c.opt_time("queued_at"))
        });
        Ok(queued.await?.map(|at| (now - at).to_std().unwrap_or_default()))
    }
}

fn job(c: &Columns<'_, '_>) -> Result<Job, Failure> {
    Ok(Job {
        claim: Claim { job: c.count("id")?, token: c.count("token")? },
        // The identity was verified when the job was queued, so the store vouches for it.
        caller: Caller::verified(UserId(c.id("user_id")?), c.word("role")?),
        session: SessionId(c.id("session_id")?),
        work: job_work(c.word("lane")?, MessageId(c.id("message_id")?), c.count("answer")? == 1, c.opt_flag("document")?),
        attempts: c.small("attempts")?,
        queued_at: c.time("queued_at")?,
    })
}

pub(super) fn held_job(c: &Columns<'_, '_>) -> Result<HeldJob, Failure> {
    Ok(HeldJob {
        id: c.integer("id")?,
        user: UserId(c.id("user_id")?),
        session: SessionId(c.id("session_id")?),
        lane: c.word("lane")?,
        message: MessageId(c.id("message_id")?),
        answer: c.flag("answer")?,
        document: c.opt_flag("document")?,
    })
}

#[async_trait]
impl JobStatements for WriteTransaction<'_> {
    async fn insert_jobs(&mut self, caller: &Caller, session: SessionId, lane: Lane, jobs: &[NewJob]) -> Result<(), Failure> {
        let Some((first, rest)) = jobs.split_first() else { return Ok(()) };
        let (user, lane, role) = (caller.user(), lane.word(), caller.role().word());
        self.0.execute(
            "INSERT INTO jobs (user_id, session_id, lane, message_id, role, ready_at, queued_at, answer, document, head)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, NOT EXISTS (
                 SELECT 1 FROM jobs WHERE user_id = ?1 AND session_id = ?2 AND lane = ?3 AND state = 'live'))",
            (user.0, session.0, lane, first.message.0, role, millis(first.at), first.answer, first.document.then_some(true)),
        )?;
        for job in rest {
            self.0.execute(
                "INSERT INTO jobs (user_id, session_id, lane, message_id, role, ready_at, queued_at, answer, document, head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, 0)",
                (user.0, session.0, lane, job.message.0, role, millis(job.at), job.answer, job.document.then_some(true)),
            )?;
        }
        Ok(())
    }

    async fn claimed_job(&mut self, user: UserId, claim: &Claim) -> Result<Option<HeldJob>, Failure> {
        let (id, token) = id_and_token(claim);
        let sql = "SELECT * FROM jobs j WHERE id = ? AND token = ? AND user_id = ? AND state = 'live'
             AND EXISTS (SELECT 1 FROM visible_sessions s WHERE s.user_id = j.user_id AND s.id = j.session_id)";
        self.0.row("jobs", sql, (id, token, user.0), held_job)
    }

    async fn jobs_behind(&mut self, job: &HeldJob, limit: u32) -> Result<Vec<HeldJob>, Failure> {
        let sql = "SELECT * FROM jobs WHERE user_id = ? AND session_id = ? AND lane = ? AND state = 'live' AND id > ? ORDER BY id LIMIT ?";
        self.0.rows("jobs", sql, (job.user.0, job.session.0, job.lane.word(), job.id, limit), held_job)
    }

    async fn answering_job(&mut self, user: UserId, question: MessageId) -> Result<Option<HeldJob>, Failure> {
        let sql = "SELECT * FROM jobs WHERE user_id = ?1 AND message_id = ?2 AND state = 'live' AND document IS NULL AND (lane = 'answer' OR answer = 1)
             AND session_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = ?1)";
        self.0.row("jobs", sql, (user.0, question.0), held_job)
    }

    async fn delete_job(&mut self, job: &HeldJob) -> Result<(), Failure> {
        self.0.execute("DELETE FROM jobs WHERE id = ?", (job.id,))?;
        Ok(())
    }

    async fn promote_next(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE jobs SET head = 1, ready_at = MAX(ready_at, ?4) WHERE id = (
             SELECT MIN(id) FROM jobs WHERE user_id = ?1 AND session_id = ?2 AND lane = ?3 AND state = 'live')",
            (job.user.0, job.session.0, job.lane.word(), millis(now)),
        )?;
        Ok(())
    }

    async fn mark_dead(&mut self, job: &HeldJob, code: &str) -> Result<(), Failure> {
        self.0.execute("UPDATE jobs SET state = 'dead', head = 0, token = token + 1, code = ? WHERE id = ?", (code, job.id))?;
        Ok(())
    }

    async fn withdraw_answer(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE jobs SET answer = 0, token = token + 1, attempts = MAX(attempts - 1, 0), ready_at = MIN(ready_at, ?) WHERE id = ?",
            (millis(now), job.id),
        )?;
        Ok(())
    }

    async fn mark_message_failed(&mut self, user: UserId, message: MessageId) -> Result<(), Failure> {
        self.0.execute("UPDATE messages SET status = 'failed' WHERE user_id = ? AND id = ?", (user.0, message.0))?;
        Ok(())
    }

    async fn mark_document_failed(
        &mut self,
        user: UserId,
        document: DocumentId,
        error: &str,
        now: Timestamp,
    ) -> Result<Option<DocumentProgress>, Failure> {
        let sql = "UPDATE documents SET status = 'failed', error = ?3, updated_at = ?4
             WHERE user_id = ?1 AND id = ?2 AND status IN ('pending', 'processing')
             RETURNING id, status, chunk_count, stored, understood, error";
        self.0.row("documents", sql, (user.0, document.0, error, millis(now)), documents::progress)
    }

    async fn mark_comparison_failed(
        &mut self,
        user: UserId,
        comparison: ComparisonId,
        error: &str,
        now: Timestamp,
    ) -> Result<Option<ComparisonProgress>, Failure> {
        let sql = "UPDATE comparisons SET status = 'failed', error = ?3, passages = '[]', updated_at = ?4
             WHERE user_id = ?1 AND id = ?2 AND status IN ('pending', 'processing') RETURNING id, status, error, done, total";
        self.0.row("comparisons", sql, (user.0, comparison.0, error, millis(now)), comparisons::progress)
    }

    async fn advance_understood(
        &mut self,
        user: UserId,
        document: DocumentId,
        count: u32,
        now: Timestamp,
    ) -> Result<Option<DocumentProgress>, Failure> {
        let sql = "UPDATE documents SET understood = understood + ?3, updated_at = ?4,
                 status = CASE WHEN status = 'processing' AND understood + ?3 >= chunk_count THEN 'completed' ELSE status END
             WHERE user_id = ?1 AND id = ?2 RETURNING id, status, chunk_count, stored, understood, error";
        self.0.row("documents", sql, (user.0, document.0, count, millis(now)), documents::progress)
    }
}
