//! The statements that move a visitor's data to an account.

use std::borrow::Cow;

use async_trait::async_trait;
use uuid::Uuid;

use super::super::{codec::column, failure::Failure, transaction::WriteTransaction};
use recall_domain::{Adopted, Timestamp, UserId};
use recall_store::archive::AdoptionStatements;

/// All event logs of a visitor.
pub(in super::super) struct Logs {
    sessions: Vec<LogRow>,
    events: Vec<LoggedEvent>,
}

struct LogRow {
    session: Uuid,
    epoch: String,
    head: i64,
    floor: i64,
    oldest: Option<Timestamp>,
}

struct LoggedEvent {
    session: Uuid,
    seq: i64,
    id: Uuid,
    kind: String,
    created_at: Timestamp,
    data: String,
}

#[async_trait]
impl AdoptionStatements for WriteTransaction<'_> {
    type Logs = Logs;

    async fn read_logs(&mut self, user: UserId) -> Result<Logs, Failure> {
        let sessions = sqlx::query_as!(
            LogRow,
            "SELECT id AS session, epoch, event_head AS head, event_floor AS floor, oldest_event_at AS oldest FROM sessions
             WHERE user_id = $1 AND id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1)",
            user.0,
        );
        let sessions = sessions.fetch_all(&mut *self.0).await?;
        let events = sqlx::query_as!(
            LoggedEvent,
            r#"SELECT session_id AS session, seq, id, kind, created_at, data::text AS "data!" FROM events WHERE user_id = $1
             AND session_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1)"#,
            user.0,
        );
        let events = events.fetch_all(&mut *self.0).await?;
        Ok(Logs { sessions, events })
    }

    async fn delete_jobs(&mut self, user: UserId) -> Result<(), Failure> {
        sqlx::query!("DELETE FROM jobs WHERE user_id = $1", user.0).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn release_files(&mut self, user: UserId) -> Result<(), Failure> {
        sqlx::query!("DELETE FROM document_files WHERE user_id = $1", user.0).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn extend_feed(&mut self, user: UserId, rows: i64, model: Option<&str>) -> Result<Option<i64>, Failure> {
        let head = sqlx::query_scalar!(
            "UPDATE users SET feed_head = feed_head + $2, memory_head = memory_head + 1, memory_floor = memory_head + 2,
                 knowledge_version = knowledge_version + 1,
                 embedding_model = CASE WHEN feed_head = 0 THEN $3 ELSE embedding_model END, embedding_settled = false
             WHERE id = $1 AND NOT erasing AND NOT importing RETURNING feed_head",
            user.0,
            rows,
            model,
        );
        Ok(head.fetch_optional(&mut *self.0).await?)
    }

    async fn has_viewer(&mut self, user: UserId) -> Result<bool, Failure> {
        let viewer = sqlx::query_scalar!("SELECT id FROM entities WHERE user_id = $1 AND is_viewer", user.0);
        Ok(viewer.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn write_logs(&mut self, user: UserId, logs: Logs) -> Result<(), Failure> {
        let Logs { sessions, events } = logs;
        let update = sqlx::query!(
            "UPDATE sessions s SET epoch = l.epoch, event_head = l.head, event_floor = l.floor, oldest_event_at = l.oldest
             FROM unnest($2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::timestamptz[]) AS l (id, epoch, head, floor, oldest)
             WHERE s.user_id = $1 AND s.id = l.id",
            user.0,
            &column(&sessions, |l| l.session)[..],
            &column(&sessions, |l| Cow::from(l.epoch.as_str()))[..],
            &column(&sessions, |l| l.head)[..],
            &column(&sessions, |l| l.floor)[..],
            &column(&sessions, |l| l.oldest) as &[Option<Timestamp>],
        );
        update.execute(&mut *self.0).await?;
        let insert = sqlx::query!(
            "INSERT INTO events (user_id, session_id, seq, memory_seq, id, kind, created_at, data)
             SELECT $1, session_id, seq, 0, id, kind, created_at, data::json
             FROM unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::timestamptz[], $7::text[])
                  AS e (session_id, seq, id, kind, created_at, data)",
            user.0,
            &column(&events, |e| e.session)[..],
            &column(&events, |e| e.seq)[..],
            &column(&events, |e| e.id)[..],
            &column(&events, |e| Cow::from(e.kind.as_str()))[..],
            &column(&events, |e| e.created_at)[..],
            &column(&events, |e| Cow::from(e.data.as_str()))[..],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_adopted(&mut self, user: UserId, entities: &[Adopted]) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO adopted (user_id, entity_id, is_viewer)
             SELECT $1, entity, viewer FROM unnest($2::uuid[], $3::boolean[]) AS a (entity, viewer)",
            user.0,
            &column(entities, |a| a.entity.0)[..],
            &column(entities, |a| a.is_viewer)[..],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }
}
