//! Converts rows to domain types. A value that this program never writes is reported as damaged, never guessed.

use sqlx::{Row, sqlite::SqliteRow};
use uuid::Uuid;

use super::{
    codec::{self, Word},
    failure::Failure,
};
use recall_domain::{
    Decision, Entity, EntityId, Evidence, Fact, FactId, Mention, Message, MessageId, Session, SessionId, Span, StoredEvent, Timestamp,
    UserText,
};
use recall_store::Refusal;

/// Typed access to the columns of one row.
pub(super) struct Columns<'r> {
    pub(super) row: &'r SqliteRow,
    pub(super) table: &'static str,
}

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r SqliteRow, table: &'static str) -> Self {
        Self { row, table }
    }

    fn damaged(&self, column: &'static str) -> Failure {
        Refusal::Damaged { table: self.table, column }.into()
    }

    pub(super) fn text(&self, column: &'static str) -> Result<String, Failure> {
        Ok(self.row.try_get(column)?)
    }

    pub(super) fn opt_text(&self, column: &'static str) -> Result<Option<String>, Failure> {
        Ok(self.row.try_get(column)?)
    }

    pub(super) fn real(&self, column: &'static str) -> Result<f64, Failure> {
        Ok(self.row.try_get(column)?)
    }

    pub(super) fn flag(&self, column: &'static str) -> Result<bool, Failure> {
        Ok(self.integer(column)? != 0)
    }

    pub(super) fn integer(&self, column: &'static str) -> Result<i64, Failure> {
        Ok(self.row.try_get(column)?)
    }

    pub(super) fn count(&self, column: &'static str) -> Result<u64, Failure> {
        u64::try_from(self.integer(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn small(&self, column: &'static str) -> Result<u32, Failure> {
        u32::try_from(self.integer(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn opt_small(&self, column: &'static str) -> Result<Option<u32>, Failure> {
        let value: Option<i64> = self.row.try_get(column)?;
        value.map(|v| u32::try_from(v).map_err(|_| self.damaged(column))).transpose()
    }

    pub(super) fn time(&self, column: &'static str) -> Result<Timestamp, Failure> {
        codec::parse_millis(self.integer(column)?).ok_or_else(|| self.damaged(column))
    }

    pub(super) fn opt_time(&self, column: &'static str) -> Result<Option<Timestamp>, Failure> {
        let value: Option<i64> = self.row.try_get(column)?;
        value.map(|v| codec::parse_millis(v).ok_or_else(|| self.damaged(column))).transpose()
    }

    pub(super) fn id(&self, column: &'static str) -> Result<Uuid, Failure> {
        let bytes: &[u8] = self.row.try_get(column)?;
        Uuid::from_slice(bytes).map_err(|_| self.damaged(column))
    }

    pub(super) fn opt_id(&self, column: &'static str) -> Result<Option<Uuid>, Failure> {
        let bytes: Option<&[u8]> = self.row.try_get(column)?;
        bytes.map(|b| Uuid::from_slice(b).map_err(|_| self.damaged(column))).transpose()
    }

    pub(super) fn word<T: Word>(&self, column: &'static str) -> Result<T, Failure> {
        let word: &str = self.row.try_get(column)?;
        T::parse_word(word).ok_or_else(|| self.damaged(column))
    }

    pub(super) fn opt_word<T: Word>(&self, column: &'static str) -> Result<Option<T>, Failure> {
        let word: Option<&str> = self.row.try_get(column)?;
        word.map(|w| T::parse_word(w).ok_or_else(|| self.damaged(column))).transpose()
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(&self, column: &'static str) -> Result<T, Failure> {
        let text: &str = self.row.try_get(column)?;
        // The parser's own error may quote the text, which belongs to the user.
        serde_json::from_str(text).map_err(|_| self.damaged(column))
    }

    pub(super) fn vector(&self, column: &'static str) -> Result<Vec<f32>, Failure> {
        let bytes: &[u8] = self.row.try_get(column)?;
        codec::parse_vector(bytes).ok_or_else(|| self.damaged(column))
    }
}

/// Reads all columns of `sessions`.
pub(super) fn session(row: &SqliteRow) -> Result<Session, Failure> {
    let c = Columns::of(row, "sessions");
    Ok(Session {
        id: SessionId(c.id("id")?),
        title: c.opt_text("title")?.map(UserText::from),
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
        message_count: c.count("message_count")?,
        epoch: c.text("epoch")?,
        head: c.count("event_head")?,
    })
}

/// Reads all columns of `messages`.
pub(super) fn message(row: &SqliteRow) -> Result<Message, Failure> {
    let c = Columns::of(row, "messages");
    Ok(Message {
        id: MessageId(c.id("id")?),
        session: SessionId(c.id("session_id")?),
        position: c.count("position")?,
        role: c.word("role")?,
        speaker: c.opt_text("speaker")?,
        text: c.text("text")?.into(),
        kind: c.opt_word("kind")?,
        status: c.word("status")?,
        sent_at: c.time("sent_at")?,
        created_at: c.time("created_at")?,
        source_metadata: match c.opt_text("source_metadata")? {
            Some(_) => Some(c.json("source_metadata")?),
            None => None,
        },
        external_id: c.opt_text("external_id")?,
        answer_to: c.opt_id("answer_to")?.map(MessageId),
        citations: c.json("citations")?,
    })
}

/// Reads all columns of `events`.
pub(super) fn event(row: &SqliteRow) -> Result<StoredEvent, Failure> {
    let c = Columns::of(row, "events");
    Ok(StoredEvent {
        seq: c.count("seq")?,
        id: recall_domain::EventId(c.id("id")?),
        kind: c.text("kind")?,
        created_at: c.time("created_at")?,
        data: c.json("data")?,
    })
}

/// Reads all columns of `entities`.
pub(super) fn entity(row: &SqliteRow) -> Result<Entity, Failure> {
    let c = Columns::of(row, "entities");
    Ok(Entity {
        id: EntityId(c.id("id")?),
        name: c.text("name")?,
        entity_type: c.word("entity_type")?,
        aliases: c.json("aliases")?,
        description: c.opt_text("description")?,
        mention_count: c.count("mention_count")?,
        confidence: c.real("confidence")?,
        is_viewer: c.flag("is_viewer")?,
        first_message: c.opt_id("first_message")?.map(MessageId),
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
    })
}

/// Reads all columns of `facts`.
pub(super) fn fact(row: &SqliteRow) -> Result<Fact, Failure> {
    let c = Columns::of(row, "facts");
    Ok(Fact {
        id: FactId(c.id("id")?),
        subject: EntityId(c.id("subject_id")?),
        relation: c.text("relation")?,
        object: EntityId(c.id("object_id")?),
        support: c.real("support")?,
        opposition: c.real("opposition")?,
        weighed_at: c.time("weighed_at")?,
        status: c.word("status")?,
        flagged: c.flag("flagged")?,
        valid_from: c.opt_time("valid_from")?,
        valid_to: c.opt_time("valid_to")?,
        last_support: c.opt_time("last_support")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
    })
}

/// Reads all columns of `evidence`.
pub(super) fn evidence(row: &SqliteRow) -> Result<Evidence, Failure> {
    let c = Columns::of(row, "evidence");
    let span = match (c.opt_small("span_start")?, c.opt_small("span_end")?) {
        (Some(start), Some(end)) => Some(Span { start, end }),
        _ => None,
    };
    Ok(Evidence {
        fact: FactId(c.id("fact_id")?),
        message: MessageId(c.id("message_id")?),
        session: SessionId(c.id("session_id")?),
        stance: c.word("stance")?,
        confidence: c.real("confidence")?,
        span,
        excerpt: c.text("excerpt")?.into(),
        created_at: c.time("created_at")?,
    })
}

/// Reads the columns `score` and `reason`, which must not be null.
pub(super) fn decision(c: &Columns<'_>) -> Result<Decision, Failure> {
    Ok(Decision { score: c.real("score")?, reason: c.text("reason")? })
}

/// Reads all columns of `mentions`.
pub(super) fn mention(row: &SqliteRow) -> Result<Mention, Failure> {
    let c = Columns::of(row, "mentions");
    Ok(Mention {
        name: c.text("name")?,
        entity_type: c.word("entity_type")?,
        span: Span { start: c.small("span_start")?, end: c.small("span_end")? },
        confidence: c.real("confidence")?,
        description: c.opt_text("description")?,
    })
}
