//! Converts rows to domain types. A value that this program never writes is reported as damaged, never guessed.
//!
//! Rows are read by the order of their columns, and a column that a migration adds may have another place in another database. So
//! columns are listed here once, and `*` is never used: `messages!("WHERE …", values)` is a checked statement for rows of that
//! table. `"x!"` says that a column is not null, because PostgreSQL does not know it of the columns of a view.

mod knowledge;

use uuid::Uuid;

pub(super) use self::knowledge::*;
use super::{
    codec::{self, JsonText, Word},
    failure::Failure,
};
use recall_domain::{Message, MessageId, Resource, SaidPeriod, Session, SessionId, StoredEvent, Timestamp, UserText};
use recall_store::Refusal;

/// The table and column of a value, for reports of damage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column(pub(super) &'static str, pub(super) &'static str);

impl Column {
    fn damaged(self) -> Failure {
        Refusal::Damaged { table: self.0, column: self.1 }.into()
    }

    /// Decodes users' text.
    pub(super) fn text(self, stored: String) -> Result<String, Failure> {
        codec::parse_text(stored).ok_or_else(|| self.damaged())
    }

    pub(super) fn opt_text(self, stored: Option<String>) -> Result<Option<String>, Failure> {
        stored.map(|text| self.text(text)).transpose()
    }

    pub(super) fn count(self, stored: i64) -> Result<u64, Failure> {
        u64::try_from(stored).map_err(|_| self.damaged())
    }

    pub(super) fn small(self, stored: i64) -> Result<u32, Failure> {
        u32::try_from(stored).map_err(|_| self.damaged())
    }

    pub(super) fn word<W: Word>(self, stored: &str) -> Result<W, Failure> {
        W::parse_word(stored).ok_or_else(|| self.damaged())
    }

    /// Reads a period, which is null if no message tells a date.
    pub(super) fn said_period(self, stored: Option<String>) -> Result<SaidPeriod, Failure> {
        Ok(stored.map(|text| SaidPeriod::parse(&text).ok_or_else(|| self.damaged())).transpose()?.unwrap_or_default())
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(self, stored: &JsonText) -> Result<T, Failure> {
        stored.read().ok_or_else(|| self.damaged())
    }
}

/// A row of `sessions`.
#[derive(sqlx::FromRow)]
pub(super) struct SessionRow {
    pub(super) id: Uuid,
    pub(super) title: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) message_count: i64,
    pub(super) epoch: String,
    pub(super) event_head: i64,
    pub(super) pinned: Option<bool>,
    pub(super) archived: Option<bool>,
    pub(super) paused: Option<bool>,
}

/// The columns of [`SessionRow`].
pub(super) const SESSION: &str = "id, title, created_at, updated_at, message_count, epoch, event_head, pinned, archived, paused";

/// Selects sessions, except those under deletion.
macro_rules! sessions {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            $crate::rows::SessionRow,
            r#"SELECT id AS "id!", title, created_at AS "created_at!", updated_at AS "updated_at!", message_count AS "message_count!",
                    epoch AS "epoch!", event_head AS "event_head!", pinned, archived, paused FROM visible_sessions "# + $rest $(, $value)*
        )
    };
}

impl SessionRow {
    pub(super) fn read(self) -> Result<Session, Failure> {
        let of = |column| Column("sessions", column);
        Ok(Session {
            id: SessionId(self.id),
            title: of("title").opt_text(self.title)?.map(UserText::from),
            created_at: self.created_at,
            updated_at: self.updated_at,
            message_count: of("message_count").count(self.message_count)?,
            epoch: self.epoch,
            head: of("event_head").count(self.event_head)?,
            pinned: self.pinned.is_some(),
            archived: self.archived.is_some(),
            paused: self.paused.is_some(),
        })
    }
}

/// A row of `messages`.
pub(super) struct MessageRow {
    pub(super) id: Uuid,
    pub(super) session_id: Uuid,
    pub(super) position: i64,
    pub(super) role: String,
    pub(super) speaker: Option<String>,
    pub(super) text: String,
    pub(super) kind: Option<String>,
    pub(super) status: String,
    pub(super) sent_at: Timestamp,
    pub(super) created_at: Timestamp,
    pub(super) source_metadata: Option<JsonText>,
    pub(super) external_id: Option<String>,
    pub(super) answer_to: Option<Uuid>,
    pub(super) citations: JsonText,
    pub(super) chunk: Option<bool>,
    pub(super) unremembered: Option<bool>,
}

/// Selects messages, except those of sessions under deletion.
macro_rules! messages {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            $crate::rows::MessageRow,
            r#"SELECT id AS "id!", session_id AS "session_id!", position AS "position!", role AS "role!", speaker, text AS "text!", kind,
                    status AS "status!", sent_at AS "sent_at!", created_at AS "created_at!", source_metadata, external_id, answer_to,
                    citations AS "citations!", chunk, unremembered FROM visible_messages "# + $rest $(, $value)*
        )
    };
}

impl MessageRow {
    pub(super) fn read(self) -> Result<Message, Failure> {
        let of = |column| Column("messages", column);
        let (citations, nearest) = recall_domain::split_quoted(of("citations").json(&self.citations)?);
        Ok(Message {
            id: MessageId(self.id),
            session: SessionId(self.session_id),
            position: of("position").count(self.position)?,
            role: recall_store::role_of(of("role").word(&self.role)?, self.chunk),
            speaker: of("speaker").opt_text(self.speaker)?,
            text: of("text").text(self.text)?.into(),
            kind: self.kind.map(|kind| of("kind").word(&kind)).transpose()?,
            status: of("status").word(&self.status)?,
            sent_at: self.sent_at,
            created_at: self.created_at,
            source_metadata: self.source_metadata.map(|json| of("source_metadata").json(&json)).transpose()?,
            external_id: of("external_id").opt_text(self.external_id)?,
            answer_to: self.answer_to.map(MessageId),
            citations,
            nearest,
            remembered: self.unremembered.is_none(),
        })
    }
}

/// A row of `resources` that belongs to a message.
pub(super) struct ResourceRow {
    pub(super) id: Uuid,
    pub(super) message_id: Uuid,
    pub(super) uri: String,
    pub(super) media_type: Option<String>,
    pub(super) bytes: Option<i64>,
    pub(super) sha256: Option<String>,
    pub(super) origin: String,
}

impl ResourceRow {
    pub(super) fn read(self) -> Result<Resource, Failure> {
        let of = |column| Column("resources", column);
        Ok(Resource {
            id: self.id,
            uri: of("uri").text(self.uri)?.into(),
            media_type: of("media_type").opt_text(self.media_type)?,
            bytes: self.bytes.map(|bytes| of("bytes").count(bytes)).transpose()?,
            sha256: self.sha256,
            origin: of("origin").word(&self.origin)?,
        })
    }
}

/// A row of `events`.
pub(super) struct EventRow {
    pub(super) seq: i64,
    pub(super) id: Uuid,
    pub(super) kind: String,
    pub(super) created_at: Timestamp,
    pub(super) data: JsonText,
}

impl EventRow {
    pub(super) fn read(self) -> Result<StoredEvent, Failure> {
        Ok(StoredEvent {
            seq: Column("events", "seq").count(self.seq)?,
            id: recall_domain::EventId(self.id),
            kind: self.kind,
            created_at: self.created_at,
            data: Column("events", "data").json(&self.data)?,
        })
    }
}

pub(super) use {messages, sessions};
