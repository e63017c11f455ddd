//! The statements that share the workers among users by round robin; see [`recall_store::RoundRobin`].

use uuid::Uuid;

use super::{connection::Db, failure::Failure};
use recall_domain::UserId;

/// Most users that one claim examines. Any users beyond this limit wait for the next claim.
pub(super) const MAX_USERS: usize = 1_000;

/// Selects the users with heads between `?3` (exclusive) and `?4`, and whether each has a due head (`?1` now). Stops after `?2`
/// users with a due head.
pub(super) const USERS_WITH_HEADS: &str = "WITH RECURSIVE walk (found, user_id, due) AS (
        SELECT ready_at <= ?1, user_id, ready_at <= ?1 FROM (
            SELECT user_id, ready_at FROM jobs INDEXED BY jobs_in_turn
            WHERE head = 1 AND user_id > ?3 AND user_id <= ?4 ORDER BY user_id, ready_at LIMIT 1)
        UNION ALL
        SELECT w.found + (j.ready_at <= ?1), j.user_id, j.ready_at <= ?1 FROM walk w CROSS JOIN jobs j ON j.id = (
            SELECT id FROM jobs INDEXED BY jobs_in_turn
            WHERE head = 1 AND user_id > w.user_id AND user_id <= ?4 ORDER BY user_id, ready_at LIMIT 1)
        WHERE w.found < ?2 LIMIT 1000)
    SELECT user_id, due FROM walk";

/// Claims heads of the given users by round robin. `?1` now, `?2` end of the lease, `?3` limit, `?4` the users.
pub(super) const CLAIM_OF_USERS: &str = "UPDATE jobs SET ready_at = ?2, token = token + 1, attempts = attempts + 1, held = 1
    WHERE id IN (
        SELECT id FROM (
            SELECT j.id, u.key AS place, row_number() OVER (PARTITION BY j.user_id ORDER BY j.ready_at, j.id) AS turn
            FROM json_each(?4) u CROSS JOIN jobs j ON j.id IN (
                SELECT id FROM jobs INDEXED BY jobs_in_turn
                WHERE head = 1 AND user_id = unhex(u.value) AND ready_at <= ?1 ORDER BY ready_at, id LIMIT ?3))
        ORDER BY turn, place LIMIT ?3)
    RETURNING *";

/// Claims the heads that have been ready longest, for when the scan of users was truncated. Parameters as in [`CLAIM_OF_USERS`], without
/// `?4`.
pub(super) const CLAIM_OLDEST: &str = "UPDATE jobs SET ready_at = ?2, token = token + 1, attempts = attempts + 1, held = 1
    WHERE id IN (SELECT id FROM jobs WHERE head = 1 AND ready_at <= ?1 ORDER BY ready_at, id LIMIT ?3)
    RETURNING *";

/// Users with due heads, in the order in which to serve them.
pub(super) struct NextUsers {
    pub(super) users: Vec<UserId>,
    /// Whether there may be more users.
    pub(super) is_truncated: bool,
}

/// Selects the users to serve after `last`, `limit` at most.
pub(super) fn next_users(db: &Db, last: UserId, now: i64, limit: u32) -> Result<NextUsers, Failure> {
    let mut next = NextUsers { users: Vec::new(), is_truncated: false };
    for (after, until) in [(Some(last), Uuid::max()), (None, last.0)] {
        let left = (limit as usize).saturating_sub(next.users.len());
        if left == 0 || next.is_truncated {
            break;
        }
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        let after = after.map(|user| user.0.as_bytes().to_vec()).unwrap_or_default();
        let found =
            db.rows("jobs", USERS_WITH_HEADS, (now, left, after, until), |c| Ok((UserId(c.id("user_id")?), c.count("due")? == 1)))?;
        next.is_truncated = found.len() >= MAX_USERS;
        next.users.extend(found.into_iter().filter(|(_, due)| *due).map(|(user, _)| user));
    }
    Ok(next)
}
