//! Reads the evidence of facts.

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{Word, bytes, id_list},
    failure::Failure,
    keys, rows,
    rows::Columns,
};
use recall_domain::{Caller, Evidence, FactId, MessageId, Page, SessionId, Slice, Stance};
use recall_ports::{EvidenceStore, StoreError};

/// Finds the sessions with evidence of a fact.
///
/// `+` keeps SQLite, which has no statistics, from reading all evidence of the user in the order of the sessions.
pub(in super::super) const SESSIONS_OF_FACT: &str = "SELECT session_id FROM visible_evidence WHERE user_id = ? AND fact_id = ?
     GROUP BY +session_id ORDER BY MAX(created_at) DESC, session_id LIMIT ?";

#[async_trait]
impl EvidenceStore for SqliteStore {
    async fn evidence_of(&self, caller: &Caller, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError> {
        // A window function would read all evidence of a fact to rank it. This query reads through the index only the rows that it
        // returns.
        let found = sqlx::query(
            "SELECT v.* FROM (SELECT DISTINCT unhex(value) AS id FROM json_each(?2)) f CROSS JOIN visible_evidence v
                 ON v.user_id = ?1 AND v.fact_id = f.id AND (v.message_id, v.stance) IN (
                     SELECT message_id, stance FROM visible_evidence WHERE user_id = ?1 AND fact_id = f.id
                     ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?3)
             ORDER BY v.fact_id, v.created_at DESC, v.message_id DESC, v.stance DESC",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(id_list(facts.iter().map(|id| &id.0))).bind(i64::from(limit));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(found.iter().map(rows::evidence).collect::<Result<_, _>>()?)
    }

    async fn list_evidence(&self, caller: &Caller, fact: FactId, page: &Page) -> Result<Slice<Evidence>, StoreError> {
        let (place, stance) = page.after.as_deref().map(keys::split_stance).transpose()?.unzip();
        let (created_at, message) = keys::latest_before(place)?;
        let found = sqlx::query(
            "SELECT * FROM visible_evidence WHERE user_id = ? AND fact_id = ? AND (created_at, message_id, stance) < (?, ?, ?)
             ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(bytes(&fact.0)).bind(created_at).bind(bytes(&message));
        let found = found.bind(stance.map_or("", Stance::word)).bind(keys::limit(page));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(keys::page(found.iter().map(rows::evidence), page, keys::of_evidence)?)
    }

    async fn facts_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError> {
        let found = sqlx::query(
            "SELECT message_id, fact_id, stance FROM visible_evidence
             WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY message_id, fact_id, CASE stance WHEN 'ends' THEN 0 WHEN 'supports' THEN 1 ELSE 2 END",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(id_list(messages.iter().map(|id| &id.0)));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let stances = found.iter().map(|row| {
            let c = Columns::of(row, "evidence");
            Ok::<_, Failure>((MessageId(c.id("message_id")?), FactId(c.id("fact_id")?), c.word("stance")?))
        });
        Ok(stances.collect::<Result<_, _>>()?)
    }

    async fn sessions_of_fact(&self, caller: &Caller, fact: FactId, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let found = sqlx::query(SESSIONS_OF_FACT).bind(bytes(&caller.user().0)).bind(bytes(&fact.0)).bind(i64::from(limit));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let sessions = found.iter().map(|row| Columns::of(row, "evidence").id("session_id").map(SessionId));
        Ok(sessions.collect::<Result<_, _>>()?)
    }
}
