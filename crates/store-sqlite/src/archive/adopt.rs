//! The statements that move a visitor's data to an account.

use async_trait::async_trait;

use super::super::{failure::Failure, transaction::WriteTransaction};
use recall_domain::{Adopted, UserId};
use recall_store::archive::AdoptionStatements;

#[async_trait]
impl AdoptionStatements for WriteTransaction<'_> {
    /// The owner of the logs. They are copied inside the database.
    type Logs = UserId;

    async fn read_logs(&mut self, user: UserId) -> Result<UserId, Failure> {
        Ok(user)
    }

    async fn delete_jobs(&mut self, user: UserId) -> Result<(), Failure> {
        self.0.execute("DELETE FROM jobs WHERE user_id = ?", (user.0,))?;
        Ok(())
    }

    async fn release_files(&mut self, user: UserId) -> Result<(), Failure> {
        self.0.execute("DELETE FROM document_files WHERE user_id = ?", (user.0,))?;
        Ok(())
    }

    async fn extend_feed(&mut self, user: UserId, rows: i64, model: Option<&str>) -> Result<Option<i64>, Failure> {
        let sql = "UPDATE users SET feed_head = feed_head + ?2, memory_head = memory_head + 1, memory_floor = memory_head + 2,
                 knowledge_version = knowledge_version + 1,
                 embedding_model = CASE WHEN feed_head = 0 THEN ?3 ELSE embedding_model END, embedding_settled = 0
             WHERE id = ?1 AND erasing = 0 AND importing = 0 RETURNING feed_head";
        self.0.row("users", sql, (user.0, rows, model), |c| c.integer("feed_head"))
    }

    async fn has_viewer(&mut self, user: UserId) -> Result<bool, Failure> {
        self.0.exists("SELECT 1 FROM entities WHERE user_id = ? AND is_viewer = 1", (user.0,))
    }

    async fn write_logs(&mut self, user: UserId, from: UserId) -> Result<(), Failure> {
        for sql in [
            "UPDATE sessions SET epoch = v.epoch, event_head = v.event_head, event_floor = v.event_floor,
                 oldest_event_at = v.oldest_event_at
             FROM sessions v WHERE sessions.user_id = ?1 AND v.user_id = ?2 AND v.id = sessions.id",
            "INSERT INTO events (user_id, session_id, seq, id, kind, created_at, data)
             SELECT ?1, session_id, seq, id, kind, created_at, data FROM visible_events WHERE user_id = ?2",
        ] {
            self.0.execute(sql, (user.0, from.0))?;
        }
        Ok(())
    }

    async fn insert_adopted(&mut self, user: UserId, entities: &[Adopted]) -> Result<(), Failure> {
        for adopted in entities {
            let sql = "INSERT INTO adopted (user_id, entity_id, is_viewer) VALUES (?, ?, ?)";
            self.0.execute(sql, (user.0, adopted.entity.0, adopted.is_viewer))?;
        }
        Ok(())
    }
}
