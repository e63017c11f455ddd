//! Converts rows to domain types. A value that this program never writes is reported as damaged, never guessed.

use std::cell::Cell;

use rusqlite::{Row, types::FromSql};
use uuid::Uuid;

use super::{
    codec::{self, Word},
    failure::Failure,
};
use recall_domain::{
    Decision, Entity, EntityId, Evidence, Fact, FactId, Mention, Message, MessageId, Resource, SaidPeriod, Session, SessionId, Span,
    StoredEvent, Timestamp, UserText,
};
use recall_store::Refusal;

/// Typed access to the columns of one row.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    table: &'static str,
    /// The column after the one that was read last. Columns are mostly read in their order.
    next: Cell<usize>,
}

impl<'r, 's> Columns<'r, 's> {
    pub(super) fn of(row: &'r Row<'s>, table: &'static str) -> Self {
        Self { row, table, next: Cell::new(0) }
    }

    fn damaged(&self, column: &'static str) -> Failure {
        Refusal::Damaged { table: self.table, column }.into()
    }

    /// The index of a column. A search by name looks at all columns before it.
    fn index(&self, column: &'static str) -> Result<usize, Failure> {
        let statement = self.row.as_ref();
        let next = self.next.get();
        let index = match statement.column_name(next) {
            Ok(name) if name == column => next,
            _ => statement.column_index(column)?,
        };
        self.next.set(index + 1);
        Ok(index)
    }

    /// A value of any type. A value of another type than the column's is damaged.
    pub(super) fn get<T: FromSql>(&self, column: &'static str) -> Result<T, Failure> {
        Ok(self.row.get(self.index(column)?)?)
    }

    /// The text itself, without a copy.
    fn str(&self, column: &'static str) -> Result<&'r str, Failure> {
        self.row.get_ref(self.index(column)?)?.as_str().map_err(|_| self.damaged(column))
    }

    pub(super) fn text(&self, column: &'static str) -> Result<String, Failure> {
        self.get(column)
    }

    pub(super) fn opt_text(&self, column: &'static str) -> Result<Option<String>, Failure> {
        self.get(column)
    }

    pub(super) fn real(&self, column: &'static str) -> Result<f64, Failure> {
        self.get(column)
    }

    pub(super) fn flag(&self, column: &'static str) -> Result<bool, Failure> {
        Ok(self.integer(column)? != 0)
    }

    /// A flag that is either 1 or null.
    pub(super) fn opt_flag(&self, column: &'static str) -> Result<bool, Failure> {
        Ok(self.get::<Option<i64>>(column)?.is_some())
    }

    pub(super) fn integer(&self, column: &'static str) -> Result<i64, Failure> {
        self.get(column)
    }

    pub(super) fn count(&self, column: &'static str) -> Result<u64, Failure> {
        u64::try_from(self.integer(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn small(&self, column: &'static str) -> Result<u32, Failure> {
        u32::try_from(self.integer(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn opt_small(&self, column: &'static str) -> Result<Option<u32>, Failure> {
        let value: Option<i64> = self.get(column)?;
        value.map(|v| u32::try_from(v).map_err(|_| self.damaged(column))).transpose()
    }

    pub(super) fn time(&self, column: &'static str) -> Result<Timestamp, Failure> {
        codec::parse_millis(self.integer(column)?).ok_or_else(|| self.damaged(column))
    }

    pub(super) fn opt_time(&self, column: &'static str) -> Result<Option<Timestamp>, Failure> {
        let value: Option<i64> = self.get(column)?;
        value.map(|v| codec::parse_millis(v).ok_or_else(|| self.damaged(column))).transpose()
    }

    pub(super) fn blob(&self, column: &'static str) -> Result<&'r [u8], Failure> {
        self.row.get_ref(self.index(column)?)?.as_blob().map_err(|_| self.damaged(column))
    }

    pub(super) fn id(&self, column: &'static str) -> Result<Uuid, Failure> {
        Uuid::from_slice(self.blob(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn opt_id(&self, column: &'static str) -> Result<Option<Uuid>, Failure> {
        let bytes = self.row.get_ref(self.index(column)?)?.as_blob_or_null().map_err(|_| self.damaged(column))?;
        bytes.map(|b| Uuid::from_slice(b).map_err(|_| self.damaged(column))).transpose()
    }

    pub(super) fn word<T: Word>(&self, column: &'static str) -> Result<T, Failure> {
        T::parse_word(self.str(column)?).ok_or_else(|| self.damaged(column))
    }

    pub(super) fn opt_word<T: Word>(&self, column: &'static str) -> Result<Option<T>, Failure> {
        let word = self.row.get_ref(self.index(column)?)?.as_str_or_null().map_err(|_| self.damaged(column))?;
        word.map(|w| T::parse_word(w).ok_or_else(|| self.damaged(column))).transpose()
    }

    /// Reads the column `said_period`, which is null if no message tells a date.
    fn said_period(&self) -> Result<SaidPeriod, Failure> {
        let column = "said_period";
        let stored = self.opt_text(column)?;
        Ok(stored.map(|text| SaidPeriod::parse(&text).ok_or_else(|| self.damaged(column))).transpose()?.unwrap_or_default())
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(&self, column: &'static str) -> Result<T, Failure> {
        // The parser's own error may quote the text, which belongs to the user.
        serde_json::from_str(self.str(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn vector(&self, column: &'static str) -> Result<Vec<f32>, Failure> {
        codec::parse_vector(self.blob(column)?).ok_or_else(|| self.damaged(column))
    }

    pub(super) fn opt_vector(&self, column: &'static str) -> Result<Option<Vec<f32>>, Failure> {
        let bytes = self.row.get_ref(self.index(column)?)?.as_blob_or_null().map_err(|_| self.damaged(column))?;
        bytes.map(|b| codec::parse_vector(b).ok_or_else(|| self.damaged(column))).transpose()
    }
}

/// Reads all columns of `sessions`.
pub(super) fn session(c: &Columns<'_, '_>) -> Result<Session, Failure> {
    Ok(Session {
        id: SessionId(c.id("id")?),
        title: c.opt_text("title")?.map(UserText::from),
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
        message_count: c.count("message_count")?,
        epoch: c.text("epoch")?,
        head: c.count("event_head")?,
        pinned: c.opt_flag("pinned")?,
        archived: c.opt_flag("archived")?,
        paused: c.opt_flag("paused")?,
    })
}

/// Reads all columns of `messages`.
pub(super) fn message(c: &Columns<'_, '_>) -> Result<Message, Failure> {
    let (citations, nearest) = recall_domain::split_quoted(c.json("citations")?);
    Ok(Message {
        id: MessageId(c.id("id")?),
        session: SessionId(c.id("session_id")?),
        position: c.count("position")?,
        role: recall_store::role_of(c.word("role")?, Some(c.opt_flag("chunk")?)),
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
        citations,
        nearest,
        remembered: !c.opt_flag("unremembered")?,
    })
}

/// Reads all columns of `resources`.
pub(super) fn resource(c: &Columns<'_, '_>) -> Result<Resource, Failure> {
    Ok(Resource {
        id: c.id("id")?,
        uri: c.text("uri")?.into(),
        media_type: c.opt_text("media_type")?,
        bytes: c.get::<Option<i64>>("bytes")?.map(i64::unsigned_abs),
        sha256: c.opt_text("sha256")?,
        origin: c.word("origin")?,
    })
}

/// Reads all columns of `events`.
pub(super) fn event(c: &Columns<'_, '_>) -> Result<StoredEvent, Failure> {
    Ok(StoredEvent {
        seq: c.count("seq")?,
        id: recall_domain::EventId(c.id("id")?),
        kind: c.text("kind")?,
        created_at: c.time("created_at")?,
        data: c.json("data")?,
    })
}

/// Reads all columns of `entities`.
pub(super) fn entity(c: &Columns<'_, '_>) -> Result<Entity, Failure> {
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
pub(super) fn fact(c: &Columns<'_, '_>) -> Result<Fact, Failure> {
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
        said_period: c.said_period()?,
        last_support: c.opt_time("last_support")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
        value: match c.opt_text("value")? {
            Some(_) => Some(c.json("value")?),
            None => None,
        },
    })
}

/// Reads all columns of `evidence`.
pub(super) fn evidence(c: &Columns<'_, '_>) -> Result<Evidence, Failure> {
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
        said_period: c.said_period()?,
        created_at: c.time("created_at")?,
    })
}

/// Reads the columns `score` and `reason`, which must not be null.
pub(super) fn decision(c: &Columns<'_, '_>) -> Result<Decision, Failure> {
    Ok(Decision { score: c.real("score")?, reason: c.text("reason")? })
}

/// Reads all columns of `mentions`.
pub(super) fn mention(c: &Columns<'_, '_>) -> Result<Mention, Failure> {
    Ok(Mention {
        name: c.text("name")?,
        entity_type: c.word("entity_type")?,
        span: Span { start: c.small("span_start")?, end: c.small("span_end")? },
        confidence: c.real("confidence")?,
        description: c.opt_text("description")?,
    })
}
