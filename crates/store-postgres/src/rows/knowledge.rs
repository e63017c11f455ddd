//! Rows of entities, facts, evidence and mentions.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    super::{codec::JsonText, failure::Failure},
    Column,
};
use recall_domain::{Entity, EntityId, Evidence, Fact, FactId, Mention, MessageId, SessionId, Span, Timestamp};

/// A row of `entities`.
#[derive(FromRow)]
pub(in super::super) struct EntityRow {
    pub(in super::super) id: Uuid,
    pub(in super::super) name: String,
    pub(in super::super) entity_type: String,
    pub(in super::super) aliases: JsonText,
    pub(in super::super) description: Option<String>,
    pub(in super::super) mention_count: i64,
    pub(in super::super) confidence: f64,
    pub(in super::super) is_viewer: bool,
    pub(in super::super) first_message: Option<Uuid>,
    pub(in super::super) created_at: Timestamp,
    pub(in super::super) updated_at: Timestamp,
}

/// The columns of an entity, for statements built at run time.
pub(in super::super) const ENTITY: &str =
    "e.id, e.name, e.entity_type, e.aliases, e.description, e.mention_count, e.confidence, e.is_viewer,
    e.first_message, e.created_at, e.updated_at";

macro_rules! entities {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            $crate::rows::EntityRow,
            "SELECT id, name, entity_type, aliases, description, mention_count, confidence, is_viewer, first_message, created_at,
                    updated_at FROM entities " + $rest $(, $value)*
        )
    };
}

/// Selects entities `e` with other columns before them.
macro_rules! entities_with {
    ($columns:literal, $rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query!(
            "SELECT " + $columns + ", e.id, e.name, e.entity_type, e.aliases, e.description, e.mention_count, e.confidence, e.is_viewer,
                    e.first_message, e.created_at, e.updated_at " + $rest $(, $value)*
        )
    };
}

/// Takes the entity out of a row that has more columns.
macro_rules! entity_of {
    ($row:ident) => {
        $crate::rows::EntityRow {
            id: $row.id,
            name: $row.name,
            entity_type: $row.entity_type,
            aliases: $row.aliases,
            description: $row.description,
            mention_count: $row.mention_count,
            confidence: $row.confidence,
            is_viewer: $row.is_viewer,
            first_message: $row.first_message,
            created_at: $row.created_at,
            updated_at: $row.updated_at,
        }
        .read()
    };
}

impl EntityRow {
    pub(in super::super) fn read(self) -> Result<Entity, Failure> {
        let of = |column| Column("entities", column);
        Ok(Entity {
            id: EntityId(self.id),
            name: of("name").text(self.name)?,
            entity_type: of("entity_type").word(&self.entity_type)?,
            aliases: of("aliases").json(&self.aliases)?,
            description: of("description").opt_text(self.description)?,
            mention_count: of("mention_count").count(self.mention_count)?,
            confidence: self.confidence,
            is_viewer: self.is_viewer,
            first_message: self.first_message.map(MessageId),
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

/// A row of `facts`.
#[derive(FromRow)]
pub(in super::super) struct FactRow {
    pub(in super::super) id: Uuid,
    pub(in super::super) subject_id: Uuid,
    pub(in super::super) relation: String,
    pub(in super::super) object_id: Uuid,
    pub(in super::super) support: f64,
    pub(in super::super) opposition: f64,
    pub(in super::super) weighed_at: Timestamp,
    pub(in super::super) status: String,
    pub(in super::super) flagged: bool,
    pub(in super::super) valid_from: Option<Timestamp>,
    pub(in super::super) valid_to: Option<Timestamp>,
    pub(in super::super) last_support: Option<Timestamp>,
    pub(in super::super) created_at: Timestamp,
    pub(in super::super) updated_at: Timestamp,
    pub(in super::super) value: Option<JsonText>,
    pub(in super::super) said_period: Option<String>,
}

/// The columns of a fact, for statements built at run time.
pub(in super::super) const FACT: &str =
    "f.id, f.subject_id, f.relation, f.object_id, f.support, f.opposition, f.weighed_at, f.status, f.flagged,
    f.valid_from, f.valid_to, f.last_support, f.created_at, f.updated_at, f.value, f.said_period";

/// Selects facts. The arguments are a table and a condition; `WITH` adds a common table expression first.
macro_rules! facts {
    (FROM $rest:literal $(, $value:expr)* $(,)?) => { $crate::rows::facts!(@ [] $rest $(, $value)*) };
    (WITH $with:literal FROM $rest:literal $(, $value:expr)* $(,)?) => {
        $crate::rows::facts!(@ ["WITH " $with] $rest $(, $value)*)
    };
    (@ [$($before:literal)*] $rest:literal $(, $value:expr)*) => {
        sqlx::query_as!(
            $crate::rows::FactRow,
            $($before +)* "SELECT id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged, valid_from,
                    valid_to, last_support, created_at, updated_at, value, said_period FROM " + $rest $(, $value)*
        )
    };
}

/// Selects facts `f` with other columns before them.
macro_rules! facts_with {
    ($columns:literal, $rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query!(
            "SELECT " + $columns + ", f.id, f.subject_id, f.relation, f.object_id, f.support, f.opposition, f.weighed_at, f.status,
                    f.flagged, f.valid_from, f.valid_to, f.last_support, f.created_at, f.updated_at, f.value,
                    f.said_period " + $rest $(, $value)*
        )
    };
}

/// Takes the fact out of a row that has more columns.
macro_rules! fact_of {
    ($row:ident) => {
        $crate::rows::FactRow {
            id: $row.id,
            subject_id: $row.subject_id,
            relation: $row.relation,
            object_id: $row.object_id,
            support: $row.support,
            opposition: $row.opposition,
            weighed_at: $row.weighed_at,
            status: $row.status,
            flagged: $row.flagged,
            valid_from: $row.valid_from,
            valid_to: $row.valid_to,
            last_support: $row.last_support,
            created_at: $row.created_at,
            updated_at: $row.updated_at,
            value: $row.value,
            said_period: $row.said_period,
        }
        .read()
    };
}

impl FactRow {
    pub(in super::super) fn read(self) -> Result<Fact, Failure> {
        let of = |column| Column("facts", column);
        Ok(Fact {
            id: FactId(self.id),
            subject: EntityId(self.subject_id),
            relation: of("relation").text(self.relation)?,
            object: EntityId(self.object_id),
            support: self.support,
            opposition: self.opposition,
            weighed_at: self.weighed_at,
            status: of("status").word(&self.status)?,
            flagged: self.flagged,
            valid_from: self.valid_from,
            valid_to: self.valid_to,
            last_support: self.last_support,
            created_at: self.created_at,
            updated_at: self.updated_at,
            value: self.value.map(|v| of("value").json(&v)).transpose()?,
            said_period: of("said_period").said_period(self.said_period)?,
        })
    }
}

/// A row of `evidence`.
pub(in super::super) struct EvidenceRow {
    pub(in super::super) fact_id: Uuid,
    pub(in super::super) message_id: Uuid,
    pub(in super::super) session_id: Uuid,
    pub(in super::super) stance: String,
    pub(in super::super) confidence: f64,
    pub(in super::super) span_start: Option<i64>,
    pub(in super::super) span_end: Option<i64>,
    pub(in super::super) excerpt: String,
    pub(in super::super) said_period: Option<String>,
    pub(in super::super) created_at: Timestamp,
}

/// Selects evidence. The arguments are a table and a condition.
macro_rules! evidence {
    (FROM $rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            $crate::rows::EvidenceRow,
            r#"SELECT v.fact_id AS "fact_id!", v.message_id AS "message_id!", v.session_id AS "session_id!", v.stance AS "stance!",
                    v.confidence AS "confidence!", v.span_start, v.span_end, v.excerpt AS "excerpt!", v.said_period, v.created_at AS "created_at!"
             FROM "# + $rest $(, $value)*
        )
    };
}

impl EvidenceRow {
    pub(in super::super) fn read(self) -> Result<Evidence, Failure> {
        let of = |column| Column("evidence", column);
        let start = self.span_start.map(|n| of("span_start").small(n)).transpose()?;
        let end = self.span_end.map(|n| of("span_end").small(n)).transpose()?;
        Ok(Evidence {
            fact: FactId(self.fact_id),
            message: MessageId(self.message_id),
            session: SessionId(self.session_id),
            stance: of("stance").word(&self.stance)?,
            confidence: self.confidence,
            span: start.zip(end).map(|(start, end)| Span { start, end }),
            excerpt: of("excerpt").text(self.excerpt)?.into(),
            said_period: of("said_period").said_period(self.said_period)?,
            created_at: self.created_at,
        })
    }
}

/// A row of `mentions`.
pub(in super::super) struct MentionRow {
    pub(in super::super) message_id: Uuid,
    pub(in super::super) ordinal: i64,
    pub(in super::super) entity_id: Uuid,
    pub(in super::super) said_at: Timestamp,
    pub(in super::super) name: String,
    pub(in super::super) entity_type: String,
    pub(in super::super) span_start: i64,
    pub(in super::super) span_end: i64,
    pub(in super::super) confidence: f64,
    pub(in super::super) description: Option<String>,
}

/// Selects mentions. The arguments are a table and a condition.
macro_rules! mentions {
    (FROM $rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            $crate::rows::MentionRow,
            r#"SELECT message_id AS "message_id!", ordinal AS "ordinal!", entity_id AS "entity_id!", said_at AS "said_at!", name AS "name!",
                    entity_type AS "entity_type!", span_start AS "span_start!", span_end AS "span_end!", confidence AS "confidence!",
                    description
             FROM "# + $rest $(, $value)*
        )
    };
}

impl MentionRow {
    pub(in super::super) fn read(self) -> Result<Mention, Failure> {
        let of = |column| Column("mentions", column);
        Ok(Mention {
            name: of("name").text(self.name)?,
            entity_type: of("entity_type").word(&self.entity_type)?,
            span: Span { start: of("span_start").small(self.span_start)?, end: of("span_end").small(self.span_end)? },
            confidence: self.confidence,
            description: of("description").opt_text(self.description)?,
        })
    }
}

pub(in super::super) use {entities, entities_with, entity_of, evidence, fact_of, facts, facts_with, mentions};
