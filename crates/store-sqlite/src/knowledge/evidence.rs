//! Reads the evidence of facts.

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{Word, id_list},
    connection::Db,
    failure::Failure,
    keys, rows,
};
use recall_domain::{Caller, Evidence, FactId, MessageId, Page, SessionId, Slice, Stance, UserId};
use recall_ports::{EvidenceStore, StoreError};

/// Finds the sessions with evidence of a fact.
///
/// `+` keeps SQLite, which has no statistics, from reading all evidence of the user in the order of the sessions.
pub(in super::super) const SESSIONS_OF_FACT: &str = "SELECT session_id FROM visible_evidence WHERE user_id = ? AND fact_id = ?
     GROUP BY +session_id ORDER BY MAX(created_at) DESC, session_id LIMIT ?";

#[async_trait]
impl EvidenceStore for SqliteStore {
    async fn evidence_of(&self, caller: &Caller, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError> {
        let (user, facts) = (caller.user(), facts.to_vec());
        Ok(self.read(caller, move |db| evidence_of(db, user, &facts, limit)).await?)
    }

    async fn list_evidence(&self, caller: &Caller, fact: FactId, page: &Page) -> Result<Slice<Evidence>, StoreError> {
        let (place, stance) = page.after.as_deref().map(keys::split_stance).transpose()?.unzip();
        let (created_at, message) = keys::latest_before(place)?;
        let values = (caller.user().0, fact.0, created_at, message, stance.map_or("", Stance::word), keys::limit(page));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_evidence WHERE user_id = ? AND fact_id = ? AND (created_at, message_id, stance) < (?, ?, ?)
             ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?";
            db.rows("evidence", sql, values, rows::evidence)
        });
        keys::page(found.await?.into_iter().map(Ok), page, keys::of_evidence)
    }

    async fn facts_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError> {
        let (user, messages) = (caller.user(), messages.to_vec());
        Ok(self.read(caller, move |db| facts_in(db, user, &messages)).await?)
    }

    async fn sessions_of_fact(&self, caller: &Caller, fact: FactId, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let values = (caller.user().0, fact.0, limit);
        let found = self.read(caller, move |db| db.rows("evidence", SESSIONS_OF_FACT, values, |c| Ok(SessionId(c.id("session_id")?))));
        Ok(found.await?)
    }
}

/// Evidence of facts, latest first, at most `limit` per fact.
pub(in super::super) fn evidence_of(db: &Db, user: UserId, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, Failure> {
    // A window function would read all evidence of a fact to rank it. This query reads through the index only the rows that it
    // returns.
    let sql = "SELECT v.* FROM (SELECT DISTINCT unhex(value) AS id FROM json_each(?2)) f CROSS JOIN visible_evidence v
                 ON v.user_id = ?1 AND v.fact_id = f.id AND (v.message_id, v.stance) IN (
                     SELECT message_id, stance FROM visible_evidence WHERE user_id = ?1 AND fact_id = f.id
                     ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?3)
             ORDER BY v.fact_id, v.created_at DESC, v.message_id DESC, v.stance DESC";
    db.rows("evidence", sql, (user.0, id_list(facts.iter().map(|id| &id.0)), limit), rows::evidence)
}

/// The stances of messages on facts, by message and fact. If a message has several, an end comes before a statement.
pub(in super::super) fn facts_in(db: &Db, user: UserId, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, Failure> {
    let sql = "SELECT message_id, fact_id, stance FROM visible_evidence
             WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY message_id, fact_id, CASE stance WHEN 'ends' THEN 0 WHEN 'supports' THEN 1 ELSE 2 END";
    db.rows("evidence", sql, (user.0, id_list(messages.iter().map(|id| &id.0))), |c| {
        Ok((MessageId(c.id("message_id")?), FactId(c.id("fact_id")?), c.word("stance")?))
    })
}
