//! The durable job queue.
//!
//! `recall-store` describes the lanes and ends the jobs. `round_robin` shares the workers among users.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};

use super::{
    SqliteStore,
    codec::{Word, bytes, deadline, id_list, millis},
    failure::Failure,
    round_robin::{self, NextUsers},
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, EventDraft, MessageId, SessionId, Timestamp, UserId};
use recall_ports::{Claim, CommitError, Job, JobQueue, StoreError};
use recall_store::{HeldJob, JobStatements, Lane, NewJob, Refusal, id_and_token, job_work};

#[async_trait]
impl JobQueue for SqliteStore {
    async fn claim(&self, now: Timestamp, lease: Duration, limit: u32) -> Result<Vec<Job>, StoreError> {
        let (until, now) = (deadline(now, lease), millis(now));
        // Workers poll often and mostly find nothing, so only a due job causes a write.
        let due = sqlx::query("SELECT 1 FROM jobs WHERE head = 1 AND ready_at <= ? LIMIT 1").bind(now);
        if due.fetch_optional(self.readers.for_server()).await.map_err(Failure::from)?.is_none() {
            return Ok(Vec::new());
        }
        let last = self.round_robin.last();
        let mut reader = self.readers.for_server().acquire().await.map_err(Failure::from)?;
        let NextUsers { users, is_truncated } = round_robin::next_users(&mut reader, last, now, limit).await?;
        drop(reader);
        let among = id_list(users.iter().map(|user| &user.0));
        // A claim need not outlive the worker that made it.
        let claimed = self.write_relaxed(move |c| {
            Box::pin(async move {
                let fair = sqlx::query(round_robin::CLAIM_OF_USERS).bind(now).bind(until).bind(i64::from(limit)).bind(among);
                let mut rows = fair.fetch_all(&mut *c).await?;
                let left = i64::from(limit) - i64::try_from(rows.len()).unwrap_or(i64::MAX);
                if is_truncated && left > 0 {
                    rows.extend(sqlx::query(round_robin::CLAIM_OLDEST).bind(now).bind(until).bind(left).fetch_all(c).await?);
                }
                rows.iter().map(job).collect::<Result<Vec<_>, _>>()
            })
        });
        let mut jobs = claimed.await?;
        self.round_robin.served(last, users.into_iter().filter(|user| jobs.iter().any(|job| job.caller.user() == *user)));
        jobs.sort_by_key(|job| job.claim.job);
        Ok(jobs)
    }

    async fn recover(&self, now: Timestamp) -> Result<u64, StoreError> {
        // The previous process is dead. If it is not, its token is void now, and its commit will be refused.
        let recovered = self.write(move |c| {
            Box::pin(async move {
                let due = sqlx::query("UPDATE jobs SET ready_at = ?1, token = token + 1, held = 0 WHERE head = 1 AND ready_at > ?1");
                Ok(due.bind(millis(now)).execute(c).await?.rows_affected())
            })
        });
        Ok(recovered.await?)
    }

    async fn extend(&self, claim: &Claim, now: Timestamp, lease: Duration) -> Result<bool, StoreError> {
        let (job, token) = id_and_token(claim);
        let until = deadline(now, lease);
        let extended = self.write_relaxed(move |c| {
            Box::pin(async move {
                let done = sqlx::query("UPDATE jobs SET ready_at = ? WHERE id = ? AND token = ? AND state = 'live'");
                Ok(done.bind(until).bind(job).bind(token).execute(c).await?.rows_affected() == 1)
            })
        });
        Ok(extended.await?)
    }

    async fn retry(&self, claim: &Claim, now: Timestamp, delay: Duration, code: &str) -> Result<(), CommitError> {
        let (job, token) = id_and_token(claim);
        let due = deadline(now, delay);
        let code = code.to_owned();
        let done = self.write(move |c| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE jobs SET ready_at = ?, token = token + 1, code = ?, held = 0 WHERE id = ? AND token = ? AND state = 'live'",
                );
                match done.bind(due).bind(code).bind(job).bind(token).execute(c).await?.rows_affected() {
                    0 => Err(Refusal::NotOurs.into()),
                    _ => Ok(()),
                }
            })
        });
        Ok(done.await?)
    }

    async fn release(&self, claims: &[Claim]) -> Result<(), StoreError> {
        let claims: Vec<_> = claims.iter().map(id_and_token).collect();
        let done = self.write(move |c| {
            Box::pin(async move {
                for (job, token) in claims {
                    sqlx::query(
                        "UPDATE jobs SET ready_at = queued_at, token = token + 1, attempts = attempts - 1, held = 0
                         WHERE id = ? AND token = ? AND state = 'live'",
                    )
                    .bind(job)
                    .bind(token)
                    .execute(&mut *c)
                    .await?;
                }
                Ok(())
            })
        });
        Ok(done.await?)
    }

    async fn release_lost(&self, held: &[Claim], now: Timestamp) -> Result<u64, StoreError> {
        let held = serde_json::Value::from(held.iter().map(|claim| claim.job).collect::<Vec<_>>()).to_string();
        let released = self.write(move |c| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE jobs SET ready_at = ?1, token = token + 1, attempts = max(attempts - 1, 0), held = 0
                     WHERE head = 1 AND ready_at > ?1 AND held = 1 AND id NOT IN (SELECT value FROM json_each(?2))",
                );
                Ok(done.bind(millis(now)).bind(held).execute(c).await?.rows_affected())
            })
        });
        Ok(released.await?)
    }

    async fn bury(&self, caller: &Caller, claim: &Claim, event: &EventDraft, code: &str, now: Timestamp) -> Result<(), CommitError> {
        let (user, claim, event, code) = (caller.user(), claim.clone(), event.clone(), code.to_owned());
        let buried = self
            .write(move |c| Box::pin(async move { recall_store::bury(&mut WriteTransaction(c), user, &claim, &event, &code, now).await }));
        buried.await?;
        Ok(())
    }

    async fn cancel_answer(&self, caller: &Caller, question: MessageId, event: &EventDraft, now: Timestamp) -> Result<bool, StoreError> {
        let (user, event) = (caller.user(), event.clone());
        let session = self.write(move |c| {
            Box::pin(async move { recall_store::cancel_answer(&mut WriteTransaction(c), user, question, &event, now).await })
        });
        Ok(session.await?.is_some())
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Duration>, StoreError> {
        let due =
            sqlx::query("SELECT ready_at FROM jobs WHERE head = 1 ORDER BY ready_at LIMIT 1").fetch_optional(self.readers.for_server());
        let due = due.await.map_err(Failure::from)?;
        let due = due.map(|row| Columns::of(&row, "jobs").time("ready_at")).transpose()?;
        Ok(due.map(|at| (at - now).to_std().unwrap_or_default()))
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        let row = sqlx::query(
            "SELECT (SELECT COUNT(*) FROM jobs WHERE state = 'live') AS live, (SELECT COUNT(*) FROM jobs WHERE state = 'dead') AS dead",
        );
        let row = row.fetch_one(self.readers.for_server()).await.map_err(Failure::from)?;
        let c = Columns::of(&row, "jobs");
        Ok((c.count("live")?, c.count("dead")?))
    }

    async fn oldest(&self, now: Timestamp) -> Result<Option<Duration>, StoreError> {
        let row = sqlx::query("SELECT min(queued_at) AS queued_at FROM jobs WHERE head = 1").fetch_one(self.readers.for_server());
        let queued = Columns::of(&row.await.map_err(Failure::from)?, "jobs").opt_time("queued_at")?;
        Ok(queued.map(|at| (now - at).to_std().unwrap_or_default()))
    }
}

fn job(row: &SqliteRow) -> Result<Job, Failure> {
    let c = Columns::of(row, "jobs");
    Ok(Job {
        claim: Claim { job: c.count("id")?, token: c.count("token")? },
        // The identity was verified when the job was queued, so the store vouches for it.
        caller: Caller::verified(UserId(c.id("user_id")?), c.word("role")?),
        session: SessionId(c.id("session_id")?),
        work: job_work(Lane::parse(&c.text("lane")?)?, MessageId(c.id("message_id")?), c.count("answer")? == 1),
        attempts: c.small("attempts")?,
        queued_at: c.time("queued_at")?,
    })
}

fn held_job(row: &SqliteRow) -> Result<HeldJob, Failure> {
    let c = Columns::of(row, "jobs");
    Ok(HeldJob {
        id: c.integer("id")?,
        user: UserId(c.id("user_id")?),
        session: SessionId(c.id("session_id")?),
        lane: Lane::parse(&c.text("lane")?)?,
        message: MessageId(c.id("message_id")?),
    })
}

#[async_trait]
impl JobStatements for WriteTransaction<'_> {
    async fn insert_jobs(&mut self, caller: &Caller, session: SessionId, lane: Lane, jobs: &[NewJob]) -> Result<(), Failure> {
        let Some((first, rest)) = jobs.split_first() else { return Ok(()) };
        let (user, session) = (caller.user().0, session.0);
        let head = sqlx::query(
            "INSERT INTO jobs (user_id, session_id, lane, message_id, role, ready_at, queued_at, answer, head)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, NOT EXISTS (
                 SELECT 1 FROM jobs WHERE user_id = ?1 AND session_id = ?2 AND lane = ?3 AND state = 'live'))",
        );
        let head = head.bind(bytes(&user)).bind(bytes(&session)).bind(lane.word()).bind(bytes(&first.message.0));
        head.bind(caller.role().word()).bind(millis(first.at)).bind(first.answer).execute(&mut *self.0).await?;
        if rest.is_empty() {
            return Ok(());
        }
        let mut sql = QueryBuilder::<Sqlite>::new(
            "INSERT INTO jobs (user_id, session_id, lane, message_id, role, ready_at, queued_at, answer, head) ",
        );
        sql.push_values(rest, |mut row, job| {
            row.push_bind(bytes(&user)).push_bind(bytes(&session)).push_bind(lane.word()).push_bind(bytes(&job.message.0));
            row.push_bind(caller.role().word()).push_bind(millis(job.at)).push_bind(millis(job.at)).push_bind(job.answer).push_bind(0);
        });
        sql.build().persistent(false).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn claimed_job(&mut self, user: UserId, claim: &Claim) -> Result<Option<HeldJob>, Failure> {
        let (id, token) = id_and_token(claim);
        let job = sqlx::query("SELECT * FROM jobs WHERE id = ? AND token = ? AND user_id = ? AND state = 'live'");
        let job = job.bind(id).bind(token).bind(bytes(&user.0)).fetch_optional(&mut *self.0).await?;
        job.as_ref().map(held_job).transpose()
    }

    async fn answering_job(&mut self, user: UserId, question: MessageId) -> Result<Option<HeldJob>, Failure> {
        let job = sqlx::query(
            "SELECT * FROM jobs WHERE user_id = ?1 AND message_id = ?2 AND state = 'live' AND (lane = 'answer' OR answer = 1)
             AND session_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = ?1)",
        );
        let job = job.bind(bytes(&user.0)).bind(bytes(&question.0)).fetch_optional(&mut *self.0).await?;
        job.as_ref().map(held_job).transpose()
    }

    async fn delete_job(&mut self, job: &HeldJob) -> Result<(), Failure> {
        sqlx::query("DELETE FROM jobs WHERE id = ?").bind(job.id).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn promote_next(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Failure> {
        let next = sqlx::query(
            "UPDATE jobs SET head = 1, ready_at = MAX(ready_at, ?4) WHERE id = (
                 SELECT MIN(id) FROM jobs WHERE user_id = ?1 AND session_id = ?2 AND lane = ?3 AND state = 'live')",
        );
        let next = next.bind(bytes(&job.user.0)).bind(bytes(&job.session.0)).bind(job.lane.word()).bind(millis(now));
        next.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn mark_dead(&mut self, job: &HeldJob, code: &str) -> Result<(), Failure> {
        let dead = sqlx::query("UPDATE jobs SET state = 'dead', head = 0, token = token + 1, code = ? WHERE id = ?");
        dead.bind(code.to_owned()).bind(job.id).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn withdraw_answer(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Failure> {
        let queued = sqlx::query(
            "UPDATE jobs SET answer = 0, token = token + 1, attempts = MAX(attempts - 1, 0), ready_at = MIN(ready_at, ?) WHERE id = ?",
        );
        queued.bind(millis(now)).bind(job.id).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn mark_message_failed(&mut self, user: UserId, message: MessageId) -> Result<(), Failure> {
        let failed = sqlx::query("UPDATE messages SET status = 'failed' WHERE user_id = ? AND id = ?");
        failed.bind(bytes(&user.0)).bind(bytes(&message.0)).execute(&mut *self.0).await?;
        Ok(())
    }
}
