//! The durable job queue.
//!
//! A lane is one kind of work of one session. Its jobs run in order, one at a time. Only the head of a lane can be claimed. The
//! head is marked, so a claim costs the same however many jobs wait behind it. After a job ends, its lane moves to the back (see
//! [`promote`]), so the lanes of a user share the workers evenly. `round_robin` shares them among users.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection};
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{Word, bytes, duration_millis, id_list, millis, signed},
    events,
    failure::Failure,
    round_robin,
    rows::Columns,
    session_deletion::hidden_session_ids,
};
use recall_domain::{Caller, EventDraft, MessageId, SessionId, Timestamp, UserId};
use recall_ports::{Claim, CommitError, Job, JobQueue, JobWork, StoreError};

#[async_trait]
impl JobQueue for SqliteStore {
    async fn claim(&self, now: Timestamp, lease: Duration, limit: u32) -> Result<Vec<Job>, StoreError> {
        let now = millis(now);
        // Workers poll often and mostly find nothing, so only a due job causes a write.
        let due = sqlx::query("SELECT 1 FROM jobs WHERE head = 1 AND ready_at <= ? LIMIT 1").bind(now);
        if due.fetch_optional(self.readers.for_server()).await.map_err(Failure::from)?.is_none() {
            return Ok(Vec::new());
        }
        let next = self.round_robin.next_users(&mut *self.readers.for_server().acquire().await.map_err(Failure::from)?, now, limit).await?;
        let until = now.saturating_add(duration_millis(lease));
        // A claim need not outlive the worker that made it.
        let mut jobs = self
            .write_relaxed(move |c| {
                Box::pin(async move {
                    let fair =
                        sqlx::query(round_robin::CLAIM_OF_USERS).bind(now).bind(until).bind(i64::from(limit)).bind(id_list(&next.users));
                    let mut rows = fair.fetch_all(&mut *c).await?;
                    let left = i64::from(limit) - i64::try_from(rows.len()).unwrap_or(i64::MAX);
                    if next.is_truncated && left > 0 {
                        rows.extend(sqlx::query(round_robin::CLAIM_OLDEST).bind(now).bind(until).bind(left).fetch_all(c).await?);
                    }
                    Ok((rows.iter().map(job).collect::<Result<Vec<_>, _>>()?, next.users))
                })
            })
            .await
            .map(|(jobs, next)| {
                let served = |user: &&Uuid| jobs.iter().any(|job| job.caller.user().0 == **user);
                if let Some(last) = next.iter().rev().find(served) {
                    self.round_robin.served(*last);
                }
                jobs
            })?;
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
        let until = millis(now).saturating_add(duration_millis(lease));
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
        let due = millis(now).saturating_add(duration_millis(delay));
        let code = code.to_owned();
        let done = self.write(move |c| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE jobs SET ready_at = ?, token = token + 1, code = ?, held = 0 WHERE id = ? AND token = ? AND state = 'live'",
                );
                match done.bind(due).bind(code).bind(job).bind(token).execute(c).await?.rows_affected() {
                    0 => Err(Failure::NotOurs),
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
        Ok(self.write(move |c| Box::pin(async move { bury(c, user, &claim, event, &code, now).await })).await?)
    }

    async fn cancel_answer(&self, caller: &Caller, question: MessageId, event: &EventDraft, now: Timestamp) -> Result<bool, StoreError> {
        let (user, event) = (caller.user(), event.clone());
        Ok(self.write(move |c| Box::pin(async move { cancel_answer(c, user, question, event, now).await })).await?)
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

fn id_and_token(claim: &Claim) -> (i64, i64) {
    (signed(claim.job), signed(claim.token))
}

/// The lane of some work, its message, and whether the message is to be answered later.
fn lane_of(work: JobWork) -> (&'static str, MessageId, bool) {
    match work {
        JobWork::Understand { message, answer } => ("understand", message, answer),
        JobWork::Answer(message) => ("answer", message, false),
    }
}

fn job(row: &sqlx::sqlite::SqliteRow) -> Result<Job, Failure> {
    let c = Columns::of(row, "jobs");
    let message = MessageId(c.id("message_id")?);
    Ok(Job {
        claim: Claim { job: c.count("id")?, token: c.count("token")? },
        // The identity was verified when the job was queued, so the store vouches for it.
        caller: Caller::verified(UserId(c.id("user_id")?), c.word("role")?),
        session: SessionId(c.id("session_id")?),
        work: match c.text("lane")?.as_str() {
            "understand" => JobWork::Understand { message, answer: c.count("answer")? == 1 },
            "answer" => JobWork::Answer(message),
            _ => return Err(Failure::Damaged { table: "jobs", column: "lane" }),
        },
        attempts: c.small("attempts")?,
        queued_at: c.time("queued_at")?,
    })
}

/// Queues work of one session. The first job of an empty lane becomes its head.
pub(super) async fn enqueue(
    c: &mut SqliteConnection,
    caller: &Caller,
    session: SessionId,
    work: &[(JobWork, Timestamp)],
) -> Result<(), Failure> {
    let user = caller.user().0;
    for name in ["understand", "answer"] {
        let mut jobs = work.iter().map(|&(work, at)| (lane_of(work), at)).filter(|((lane, ..), _)| *lane == name);
        let Some(((_, message, answer), at)) = jobs.next() else { continue };
        sqlx::query(
            "INSERT INTO jobs (user_id, session_id, lane, message_id, role, ready_at, queued_at, answer, head)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, NOT EXISTS (
                 SELECT 1 FROM jobs WHERE user_id = ?1 AND session_id = ?2 AND lane = ?3 AND state = 'live'))",
        )
        .bind(bytes(&user))
        .bind(bytes(&session.0))
        .bind(name)
        .bind(bytes(&message.0))
        .bind(caller.role().word())
        .bind(millis(at))
        .bind(answer)
        .execute(&mut *c)
        .await?;
        let rest: Vec<_> = jobs.collect();
        if rest.is_empty() {
            continue;
        }
        let mut sql = QueryBuilder::<Sqlite>::new(
            "INSERT INTO jobs (user_id, session_id, lane, message_id, role, ready_at, queued_at, answer, head) ",
        );
        sql.push_values(rest, |mut row, ((lane, message, answer), at)| {
            row.push_bind(bytes(&user)).push_bind(bytes(&session.0)).push_bind(lane).push_bind(bytes(&message.0));
            row.push_bind(caller.role().word()).push_bind(millis(at)).push_bind(millis(at)).push_bind(answer).push_bind(0);
        });
        sql.build().persistent(false).execute(&mut *c).await?;
    }
    Ok(())
}

/// The job that a claim holds.
pub(super) struct HeldJob {
    id: i64,
    user: Uuid,
    session: Uuid,
    lane: String,
    message: Uuid,
}

/// Checks that the claim still holds its job, in the transaction that will end the job.
///
/// # Errors
/// `NotOurs` if another worker has the lease, the job is done, released or dead, or it belongs to another user.
pub(super) async fn verify_claim(c: &mut SqliteConnection, user: UserId, claim: &Claim) -> Result<HeldJob, Failure> {
    let (id, token) = id_and_token(claim);
    let row = sqlx::query("SELECT * FROM jobs WHERE id = ? AND token = ? AND user_id = ? AND state = 'live'")
        .bind(id)
        .bind(token)
        .bind(bytes(&user.0))
        .fetch_optional(c)
        .await?
        .ok_or(Failure::NotOurs)?;
    HeldJob::of(&row)
}

impl HeldJob {
    fn of(row: &sqlx::sqlite::SqliteRow) -> Result<Self, Failure> {
        let c = Columns::of(row, "jobs");
        let (user, session, message) = (c.id("user_id")?, c.id("session_id")?, c.id("message_id")?);
        Ok(Self { id: row.try_get("id")?, user, session, lane: row.try_get("lane")?, message })
    }
}

/// Ends a completed job: deletes its row and promotes the next job of its lane.
pub(super) async fn finish(c: &mut SqliteConnection, held: &HeldJob, now: Timestamp) -> Result<(), Failure> {
    sqlx::query("DELETE FROM jobs WHERE id = ?").bind(held.id).execute(&mut *c).await?;
    promote(c, held, now).await
}

/// Makes the next live job of the lane its head.
///
/// The job is ready from now on, not since it was queued. Otherwise a lane with a long backlog would always be the oldest and
/// occupy every worker.
async fn promote(c: &mut SqliteConnection, held: &HeldJob, now: Timestamp) -> Result<(), Failure> {
    sqlx::query(
        "UPDATE jobs SET head = 1, ready_at = MAX(ready_at, ?4) WHERE id = (
             SELECT MIN(id) FROM jobs WHERE user_id = ?1 AND session_id = ?2 AND lane = ?3 AND state = 'live')",
    )
    .bind(bytes(&held.user))
    .bind(bytes(&held.session))
    .bind(&held.lane)
    .bind(millis(now))
    .execute(c)
    .await?;
    Ok(())
}

async fn bury(c: &mut SqliteConnection, user: UserId, claim: &Claim, event: EventDraft, code: &str, now: Timestamp) -> Result<(), Failure> {
    let held = verify_claim(c, user, claim).await?;
    sqlx::query("UPDATE jobs SET state = 'dead', head = 0, token = token + 1, code = ? WHERE id = ?")
        .bind(code)
        .bind(held.id)
        .execute(&mut *c)
        .await?;
    promote(c, &held, now).await?;
    if held.lane == "understand" {
        sqlx::query("UPDATE messages SET status = 'failed' WHERE user_id = ? AND id = ?")
            .bind(bytes(&held.user))
            .bind(bytes(&held.message))
            .execute(&mut *c)
            .await?;
    }
    events::append(c, held.user, SessionId(held.session), &[event], now).await?;
    Ok(())
}

async fn cancel_answer(
    c: &mut SqliteConnection,
    user: UserId,
    question: MessageId,
    event: EventDraft,
    now: Timestamp,
) -> Result<bool, Failure> {
    let job = sqlx::query(concat!(
        "SELECT * FROM jobs
         WHERE user_id = ?1 AND message_id = ?2 AND state = 'live' AND (lane = 'answer' OR answer = 1) AND session_id NOT IN ",
        hidden_session_ids!()
    ))
    .bind(bytes(&user.0))
    .bind(bytes(&question.0))
    .fetch_optional(&mut *c)
    .await?;
    let Some(job) = job else { return Ok(false) };
    let job = HeldJob::of(&job)?;
    if job.lane == "answer" {
        finish(c, &job, now).await?;
    } else {
        // A worker that is reading this message would also have it answered. So the job is queued again without the request for an
        // answer. The attempt does not count.
        sqlx::query(
            "UPDATE jobs SET answer = 0, token = token + 1, attempts = MAX(attempts - 1, 0), ready_at = MIN(ready_at, ?) WHERE id = ?",
        )
        .bind(millis(now))
        .bind(job.id)
        .execute(&mut *c)
        .await?;
    }
    events::append(c, job.user, SessionId(job.session), &[event], now).await?;
    Ok(true)
}
