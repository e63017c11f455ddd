//! Forgets facts and messages: the port, and the statements on messages and records. `forget_knowledge` has the others.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{id_list, millis},
    connection::Db,
    failure::Failure,
    rows::{self, Columns},
    transaction::{WriteTransaction, run},
};
use recall_domain::{Caller, Entity, EntityId, FactId, ForgettingId, MessageId, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{CommitError, ForgetPlan, ForgetStore, Forgetting, RestorePlan, StoreError};
use recall_store::{ForgettingRow, ForgottenMessage, Treatment, read_forgetting};

#[async_trait]
impl ForgetStore for SqliteStore {
    async fn forget(&self, caller: &Caller, plan: &ForgetPlan) -> Result<(), CommitError> {
        let (user, plan) = (caller.user(), plan.clone());
        Ok(self.write(move |tx| run(recall_store::forget(tx, user, &plan))).await?)
    }

    async fn forgetting(&self, caller: &Caller, id: ForgettingId) -> Result<Option<Forgetting>, StoreError> {
        let user = caller.user();
        let found = self.read(caller, move |db| {
            db.snapshot(|db| {
                let Some(row) = forgetting(db, user, id)? else { return Ok(None) };
                let sql =
                    "SELECT m.id, m.session_id FROM messages m JOIN visible_sessions s ON s.user_id = m.user_id AND s.id = m.session_id
                     WHERE m.user_id = ? AND m.forgetting_id = ? ORDER BY m.feed_row";
                let messages =
                    db.rows("messages", sql, (user.0, id.0), |c| Ok((MessageId(c.id("id")?), SessionId(c.id("session_id")?))))?;
                Ok(Some(read_forgetting(&row, messages)?))
            })
        });
        Ok(found.await?)
    }

    async fn entities_to_restore(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        let (user, ids) = (caller.user(), id_list(ids.iter().map(|id| &id.0)));
        let sql = "WITH asked AS (SELECT unhex(value) AS id FROM json_each(?2))
             SELECT * FROM entities WHERE user_id = ?1 AND id IN (
                 SELECT id FROM asked
                 UNION SELECT into_id FROM entity_merges WHERE user_id = ?1 AND gone_id IN (SELECT id FROM asked))";
        Ok(self.read(caller, move |db| db.rows("entities", sql, (user.0, ids), rows::entity)).await?)
    }

    async fn restore_forgotten(&self, caller: &Caller, plan: &RestorePlan) -> Result<(), CommitError> {
        let (caller, plan) = (*caller, plan.clone());
        Ok(self.write(move |tx| run(recall_store::restore_forgotten(tx, &caller, &plan))).await?)
    }

    async fn purge_forgotten(&self, caller: &Caller, id: ForgettingId, now: Timestamp) -> Result<(), StoreError> {
        let user = caller.user();
        Ok(self.write(move |tx| run(recall_store::purge_forgotten(tx, user, id, now))).await?)
    }

    async fn expired_forgettings(&self, now: Timestamp, limit: u32) -> Result<Vec<(Caller, ForgettingId)>, StoreError> {
        let found = self.readers.for_server(move |db| {
            let sql = "SELECT user_id, id FROM forgettings WHERE until <= ? ORDER BY until LIMIT ?";
            db.rows("forgettings", sql, (millis(now), limit), |c| {
                Ok((Caller::verified(UserId(c.id("user_id")?), ViewerRole::User), ForgettingId(c.id("id")?)))
            })
        });
        Ok(found.await?)
    }

    async fn answers_citing(
        &self,
        caller: &Caller,
        messages: &[MessageId],
        facts: &[FactId],
        limit: u32,
    ) -> Result<Vec<MessageId>, StoreError> {
        let text = |id: &Uuid| id.hyphenated().to_string();
        let cited: Vec<_> = messages.iter().map(|m| text(&m.0)).chain(facts.iter().map(|f| text(&f.0))).collect();
        let values = (caller.user().0, super::codec::json(&cited, "ids")?, limit);
        let found = self.read(caller, move |db| {
            let sql = "WITH cited AS (SELECT value AS id FROM json_each(?2))
                 SELECT m.id FROM visible_messages m WHERE m.user_id = ?1 AND m.answer_to IS NOT NULL AND m.citations <> '[]'
                 AND EXISTS (SELECT 1 FROM json_each(m.citations) c
                             WHERE c.value ->> 'message_id' IN (SELECT id FROM cited) OR c.value ->> 'fact_id' IN (SELECT id FROM cited)
                                OR c.value ->> '$.chunk.chunk_id' IN (SELECT id FROM cited))
                 ORDER BY m.id LIMIT ?3";
            db.rows("messages", sql, values, |c| Ok(MessageId(c.id("id")?)))
        });
        Ok(found.await?)
    }
}

fn forgetting(db: &Db, user: UserId, id: ForgettingId) -> Result<Option<ForgettingRow>, Failure> {
    let sql = "SELECT id, created_at, until, record FROM forgettings WHERE user_id = ? AND id = ?";
    db.row("forgettings", sql, (user.0, id.0), |c| {
        Ok(ForgettingRow {
            id: ForgettingId(c.id("id")?),
            created_at: c.time("created_at")?,
            until: c.time("until")?,
            record: c.text("record")?,
        })
    })
}

fn forgotten_message(c: &Columns<'_, '_>) -> Result<ForgottenMessage, Failure> {
    let treatment = if c.text("forgotten")? == Treatment::Hidden.word() { Treatment::Hidden } else { Treatment::Redacted };
    Ok(ForgottenMessage { id: MessageId(c.id("id")?), session: SessionId(c.id("session_id")?), status: c.word("status")?, treatment })
}

impl WriteTransaction<'_> {
    pub(super) fn insert_forgetting_row(&mut self, user: UserId, row: &ForgettingRow) -> Result<(), Failure> {
        let sql = "INSERT INTO forgettings (user_id, id, created_at, until, record) VALUES (?, ?, ?, ?, ?)";
        self.0.execute(sql, (user.0, row.id.0, millis(row.created_at), millis(row.until), &row.record))?;
        Ok(())
    }

    pub(super) fn forgetting_row(&mut self, user: UserId, id: ForgettingId) -> Result<Option<ForgettingRow>, Failure> {
        forgetting(self.0, user, id)
    }

    pub(super) fn mark_messages(
        &mut self,
        user: UserId,
        messages: &[MessageId],
        treatment: Treatment,
        id: ForgettingId,
    ) -> Result<u64, Failure> {
        let sql = "UPDATE messages SET forgotten = ?3, forgetting_id = ?4,
                 external_id = CASE WHEN ?3 = 'hidden' THEN NULL ELSE external_id END
             WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))
             AND forgetting_id IS NULL AND forgotten IS NOT 'hidden'";
        self.0.execute(sql, (user.0, id_list(ids(messages)), treatment.word(), id.0))
    }

    pub(super) fn messages_of_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<Vec<ForgottenMessage>, Failure> {
        let sql = "SELECT id, session_id, status, forgotten FROM messages WHERE user_id = ? AND forgetting_id = ? ORDER BY feed_row";
        self.0.rows("messages", sql, (user.0, id.0), forgotten_message)
    }

    pub(super) fn external_ids_of(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(MessageId, String)>, Failure> {
        let sql = "SELECT id, external_id FROM messages
             WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?)) AND external_id IS NOT NULL";
        self.0.rows("messages", sql, (user.0, id_list(ids(messages))), |c| Ok((MessageId(c.id("id")?), c.text("external_id")?)))
    }

    pub(super) fn set_external_ids(&mut self, user: UserId, given: &[(MessageId, String)]) -> Result<(), Failure> {
        for (message, external) in given {
            self.0.execute(
                "UPDATE OR IGNORE messages SET external_id = ?3 WHERE user_id = ?1 AND id = ?2 AND external_id IS NULL",
                (user.0, message.0, external),
            )?;
        }
        Ok(())
    }

    pub(super) fn erase_message_texts(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        let list = id_list(ids(messages));
        for sql in [
            "UPDATE messages SET text = '', source_metadata = NULL, citations = '[]', forgetting_id = NULL,
                 status = CASE status WHEN 'processing' THEN 'processed' ELSE status END
             WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))",
            "DELETE FROM message_vectors WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
            "DELETE FROM passage_vectors WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
            "DELETE FROM resources WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
            "DELETE FROM answer_sources WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
            "DELETE FROM message_index WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
            "UPDATE merged_evidence SET excerpt = '' WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
        ] {
            self.0.execute(sql, (user.0, &list))?;
        }
        Ok(())
    }
}

pub(super) fn ids(messages: &[MessageId]) -> impl Iterator<Item = &Uuid> {
    messages.iter().map(|m| &m.0)
}
