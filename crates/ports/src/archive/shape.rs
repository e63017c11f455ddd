//! Defines the kinds of records and their fields.
//!
//! The names are those of the tables and columns in both stores, because both adapters build their statements from this list.
//!
//! Not in an archive: event logs, which are copies kept for a day; leases of jobs; and values computed from other columns.

use strum::VariantNames;
use uuid::Uuid;

use recall_domain::{
    ComparisonStatus, DocumentStatus, EntityType, FactStatus, MessageKind, MessageStatus, ResourceOrigin, Stance, ViewerRole,
};

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// An id.
    Id,
    /// A whole number from 0 to [`MOST`](super::line::MOST).
    Count,
    /// A whole number from 0 that 31 bits hold.
    Small,
    /// A number from 0 to [`HEAVIEST`](super::line::HEAVIEST).
    Weight,
    /// A number from 0 to 1.
    Share,
    /// Text.
    Text,
    /// The dates at which a fact began and ended, as text.
    Interval,
    /// A key that finds an entity. A store may keep a digest of a very long key.
    Key,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Yes or no.
    Flag,
    /// Milliseconds since 1970 UTC.
    Time,
    /// A JSON value of one of these forms.
    Json(Form),
    /// An f32 vector, empty if there is none.
    Vector,
    /// Bytes; in an archive in base64.
    Bytes,
}

/// The form that a JSON value must have for a store to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Anything.
    Any,
    /// A list of names.
    Names,
    /// A list of index terms with their counts.
    Terms,
    /// A list of citations.
    Citations,
    /// The stored form of a fact's value.
    FactValue,
    /// Where an answer may look.
    Sources,
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub holds: Holds,
    /// Whether it may be missing.
    pub optional: bool,
}

/// One kind of record.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its `type` in an archive.
    pub name: &'static str,
    /// Its table in the stores.
    pub table: &'static str,
    /// Its fields, in the order of writing.
    pub fields: &'static [Field],
    /// The fields that order the export: unique and never changed.
    pub order: &'static [Field],
    /// The fields that identify one record of the user.
    pub identity: &'static [&'static str],
    /// Whether the record is computed from others by the configured model, so that a differing one may be replaced.
    pub derived: bool,
    /// Whether the record means nothing in another installation. Snapshots and adoptions have it, and no archive has it.
    pub internal: bool,
}

impl Shape {
    /// Returns the shape with this `type` in an archive.
    pub fn named(name: &str) -> Option<&'static Self> {
        SHAPES.iter().find(|s| s.name == name && !s.internal)
    }

    /// Returns its index in [`SHAPES`].
    pub fn place(&self) -> usize {
        SHAPES.iter().position(|s| s.name == self.name).unwrap_or(SHAPES.len())
    }

    /// Returns the index of a field.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Missing,
    /// An id.
    Id(Uuid),
    /// A number, or milliseconds.
    Count(i64),
    /// A number.
    Real(f64),
    /// Text, a key or a word.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// JSON, as text.
    Json(String),
    /// A vector.
    Vector(Vec<f32>),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// One record: a value for each field of its shape.
#[derive(Clone, PartialEq)]
pub struct Record {
    /// Its shape.
    pub shape: &'static Shape,
    /// Its values, in the order of the shape's fields.
    pub values: Vec<Value>,
}

impl Record {
    /// Returns the value of a field; `Missing` if the shape has no such field.
    pub fn get(&self, name: &str) -> &Value {
        self.shape.field(name).and_then(|at| self.values.get(at)).unwrap_or(&Value::Missing)
    }

    /// Sets a field that the shape has.
    pub fn set(&mut self, name: &str, value: Value) {
        if let Some(place) = self.shape.field(name).and_then(|at| self.values.get_mut(at)) {
            *place = value;
        }
    }

    /// Returns a field as an id.
    pub fn id(&self, name: &str) -> Option<Uuid> {
        if let Value::Id(id) = self.get(name) { Some(*id) } else { None }
    }

    /// Returns a field as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        if let Value::Text(text) | Value::Json(text) = self.get(name) { Some(text) } else { None }
    }
}

/// Omits the values, which are user data.
impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} record>", self.shape.name)
    }
}

const fn one(name: &'static str, holds: Holds) -> Field {
    Field { name, holds, optional: false }
}

const fn maybe(name: &'static str, holds: Holds) -> Field {
    Field { name, holds, optional: true }
}

const fn id(name: &'static str) -> Field {
    one(name, Holds::Id)
}

const fn time(name: &'static str) -> Field {
    one(name, Holds::Time)
}

const TYPES: Holds = Holds::Word(EntityType::VARIANTS);
const STATUS: Holds = Holds::Word(FactStatus::VARIANTS);
const STANCE: Holds = Holds::Word(Stance::VARIANTS);
/// The stored roles. A chunk of a document has the role of the assistant and a flag.
const ROLE: Holds = Holds::Word(&["user", "assistant"]);
const LANE: Holds = Holds::Word(&["understand", "answer"]);
const SIDE: Holds = Holds::Word(&["gone", "before", "after"]);
const FINDS: Holds = Holds::Word(&["key", "hint"]);

macro_rules! shape {
    ($name:literal in $table:literal by [$($identity:literal),+] ordered [$($order:expr),+] derived $derived:literal { $($field:expr),+ $(,)? }) => {
        Shape {
            name: $name,
            table: $table,
            fields: &[$($field),+],
            order: &[$($order),+],
            identity: &[$($identity),+],
            derived: $derived,
            internal: false,
        }
    };
}

/// All shapes, each after those it refers to. Jobs are last, so work begins when its data exists.
pub static SHAPES: &[Shape] = &[
    shape!("session" in "sessions" by ["id"] ordered [id("id")] derived false {
        id("id"), maybe("title", Holds::Text), time("created_at"), time("updated_at"), one("message_count", Holds::Count),
        maybe("document", Holds::Flag), maybe("pinned", Holds::Flag), maybe("archived", Holds::Flag), maybe("paused", Holds::Flag),
    }),
    // Before the messages that cite it: the graph does not list a message again when a document appears.
    shape!("document" in "documents" by ["id"] ordered [id("id")] derived false {
        id("id"), one("collection", Holds::Text), maybe("path", Holds::Text), one("version", Holds::Small), one("filename", Holds::Text),
        maybe("media_type", Holds::Text), one("bytes", Holds::Count), one("sha256", Holds::Text),
        one("status", Holds::Word(DocumentStatus::VARIANTS)), maybe("error", Holds::Text), maybe("title", Holds::Text),
        maybe("pages", Holds::Small), one("links", Holds::Json(Form::Names)), one("chunk_count", Holds::Small), one("stored", Holds::Small),
        one("understood", Holds::Small), one("chunk_chars", Holds::Small), one("chunk_overlap", Holds::Small),
        maybe("digest", Holds::Text), maybe("summary", Holds::Text), maybe("viewed_at", Holds::Time), time("created_at"),
        time("updated_at"),
    }),
    shape!("message" in "messages" by ["id"] ordered [one("feed_row", Holds::Count)] derived false {
        id("id"), id("session_id"), one("position", Holds::Count), one("feed_row", Holds::Count),
        one("role", ROLE), maybe("speaker", Holds::Text), one("text", Holds::Text),
        maybe("kind", Holds::Word(MessageKind::VARIANTS)),
        one("status", Holds::Word(MessageStatus::VARIANTS)), time("sent_at"), time("created_at"),
        maybe("source_metadata", Holds::Json(Form::Any)), maybe("external_id", Holds::Text), maybe("answer_to", Holds::Id),
        one("citations", Holds::Json(Form::Citations)), maybe("chunk", Holds::Flag), maybe("unremembered", Holds::Flag),
    }),
    shape!("original" in "document_originals" by ["document_id", "piece"] ordered [id("document_id"), one("piece", Holds::Small)]
        derived false {
        id("document_id"), one("piece", Holds::Small), one("data", Holds::Bytes),
    }),
    // An archive has its pieces instead, as `original`.
    Shape {
        internal: true,
        ..shape!("file" in "document_files" by ["document_id"] ordered [id("document_id")] derived false {
            id("document_id"), id("file"),
        })
    },
    shape!("section" in "document_sections" by ["document_id", "position"] ordered [id("document_id"), one("position", Holds::Small)]
        derived false {
        id("document_id"), one("position", Holds::Small), maybe("heading", Holds::Text), one("level", Holds::Small),
        one("char_offset", Holds::Count), one("chars", Holds::Count), maybe("first_page", Holds::Small), maybe("last_page", Holds::Small),
    }),
    shape!("chunk" in "document_chunks" by ["message_id"] ordered [id("message_id")] derived false {
        id("message_id"), id("document_id"), one("position", Holds::Small), one("section", Holds::Small), one("char_offset", Holds::Count),
        maybe("first_page", Holds::Small), maybe("last_page", Holds::Small),
    }),
    shape!("comparison" in "comparisons" by ["id"] ordered [id("id")] derived false {
        id("id"), maybe("question", Holds::Text), one("documents", Holds::Json(Form::Any)),
        one("status", Holds::Word(ComparisonStatus::VARIANTS)), maybe("error", Holds::Text), one("done", Holds::Small),
        one("total", Holds::Small), maybe("comparer", Holds::Text), one("passages", Holds::Json(Form::Any)),
        one("points", Holds::Json(Form::Any)), time("created_at"), time("updated_at"),
    }),
    shape!("resource" in "resources" by ["id"] ordered [id("id")] derived false {
        id("id"), id("message_id"), one("ordinal", Holds::Small), one("uri", Holds::Text), maybe("media_type", Holds::Text),
        maybe("bytes", Holds::Count), maybe("sha256", Holds::Text), one("origin", Holds::Word(ResourceOrigin::VARIANTS)),
    }),
    shape!("answer_sources" in "answer_sources" by ["message_id"] ordered [id("message_id")] derived false {
        id("message_id"), one("sources", Holds::Json(Form::Sources)),
    }),
    shape!("index" in "message_index" by ["message_id"] ordered [id("message_id")] derived true {
        id("message_id"), one("model", Holds::Text), one("terms", Holds::Json(Form::Terms)), one("embedding", Holds::Vector),
    }),
    shape!("entity" in "entities" by ["id"] ordered [id("id")] derived false {
        id("id"), one("name", Holds::Text), one("entity_type", TYPES), one("aliases", Holds::Json(Form::Names)),
        maybe("description", Holds::Text), one("mention_count", Holds::Count), one("confidence", Holds::Share),
        one("is_viewer", Holds::Flag), maybe("first_message", Holds::Id), time("created_at"), time("updated_at"),
    }),
    shape!("key" in "entity_keys" by ["key", "entity_id"] ordered [one("key", Holds::Key), id("entity_id")] derived false {
        one("key", Holds::Key), id("entity_id"),
    }),
    shape!("hint" in "entity_hints" by ["hint", "entity_id"] ordered [one("hint", Holds::Key), id("entity_id")] derived false {
        one("hint", Holds::Key), id("entity_id"),
    }),
    shape!("mention" in "mentions" by ["message_id", "ordinal"] ordered [id("message_id"), one("ordinal", Holds::Small)] derived false {
        id("message_id"), one("ordinal", Holds::Small), id("entity_id"), id("session_id"), time("said_at"), one("name", Holds::Text),
        one("entity_type", TYPES), one("span_start", Holds::Small), one("span_end", Holds::Small), one("confidence", Holds::Share),
        maybe("description", Holds::Text), maybe("score", Holds::Share), maybe("reason", Holds::Text),
    }),
    shape!("fact" in "facts" by ["id"] ordered [id("id")] derived false {
        id("id"), id("subject_id"), one("relation", Holds::Text), id("object_id"), one("support", Holds::Weight),
        one("opposition", Holds::Weight), time("weighed_at"), one("status", STATUS), one("flagged", Holds::Flag),
        maybe("valid_from", Holds::Time), maybe("valid_to", Holds::Time), maybe("last_support", Holds::Time), time("created_at"),
        time("updated_at"), maybe("value", Holds::Json(Form::FactValue)), maybe("said_period", Holds::Interval),
    }),
    shape!("evidence" in "evidence" by ["fact_id", "message_id", "stance"]
        ordered [id("fact_id"), id("message_id"), one("stance", STANCE)] derived false {
        id("fact_id"), id("message_id"), one("stance", STANCE), id("session_id"), one("confidence", Holds::Share),
        maybe("span_start", Holds::Small), maybe("span_end", Holds::Small), one("excerpt", Holds::Text), time("created_at"),
        maybe("said_period", Holds::Interval),
    }),
    shape!("merged" in "entity_merges" by ["gone_id"] ordered [id("gone_id")] derived false { id("gone_id"), id("into_id") }),
    shape!("merge" in "merges" by ["gone_id"] ordered [id("gone_id")] derived false {
        id("gone_id"), time("merged_at"), one("score", Holds::Share), one("reason", Holds::Text), one("feed_head", Holds::Count),
    }),
    shape!("merge_entity" in "merged_entities" by ["gone_id", "side"] ordered [id("gone_id"), one("side", SIDE)] derived false {
        id("gone_id"), one("side", SIDE), id("id"), one("name", Holds::Text), one("entity_type", TYPES),
        one("aliases", Holds::Json(Form::Names)), maybe("description", Holds::Text), one("mention_count", Holds::Count),
        one("confidence", Holds::Share), one("is_viewer", Holds::Flag), maybe("first_message", Holds::Id), time("created_at"),
        time("updated_at"),
    }),
    shape!("merge_key" in "merged_keys" by ["gone_id", "kind", "word"]
        ordered [id("gone_id"), one("kind", FINDS), one("word", Holds::Key)] derived false {
        id("gone_id"), one("kind", FINDS), one("word", Holds::Key), one("shared", Holds::Flag),
    }),
    shape!("merge_earlier" in "merged_earlier" by ["gone_id", "earlier_id"] ordered [id("gone_id"), id("earlier_id")] derived false {
        id("gone_id"), id("earlier_id"),
    }),
    shape!("merge_mention" in "merged_mentions" by ["gone_id", "message_id", "ordinal"]
        ordered [id("gone_id"), id("message_id"), one("ordinal", Holds::Small)] derived false {
        id("gone_id"), id("message_id"), one("ordinal", Holds::Small),
    }),
    shape!("merge_fact" in "merged_facts" by ["gone_id", "id"] ordered [id("gone_id"), id("id")] derived false {
        id("gone_id"), id("id"), id("subject_id"), one("relation", Holds::Text), id("object_id"), one("support", Holds::Weight),
        one("opposition", Holds::Weight), time("weighed_at"), one("status", STATUS), one("flagged", Holds::Flag),
        maybe("valid_from", Holds::Time), maybe("valid_to", Holds::Time), maybe("last_support", Holds::Time), time("created_at"),
        time("updated_at"), maybe("value", Holds::Json(Form::FactValue)), maybe("said_period", Holds::Interval),
    }),
    shape!("merge_evidence" in "merged_evidence" by ["gone_id", "fact_id", "message_id", "stance"]
        ordered [id("gone_id"), id("fact_id"), id("message_id"), one("stance", STANCE)] derived false {
        id("gone_id"), id("fact_id"), id("message_id"), one("stance", STANCE), id("session_id"), one("confidence", Holds::Share),
        maybe("span_start", Holds::Small), maybe("span_end", Holds::Small), one("excerpt", Holds::Text), time("created_at"),
        maybe("said_period", Holds::Interval),
    }),
    shape!("topic" in "topic_parts" by ["session_id", "part"] ordered [id("session_id"), one("part", Holds::Small)] derived false {
        id("session_id"), one("part", Holds::Small), id("topic_id"), one("name", Holds::Text), one("terms", Holds::Json(Form::Names)),
        one("size", Holds::Count), one("model", Holds::Text), one("centroid", Holds::Vector), time("created_at"),
    }),
    shape!("topic_message" in "topic_messages" by ["message_id"] ordered [id("message_id")] derived false {
        id("message_id"), id("topic_id"), id("session_id"), one("part", Holds::Small), maybe("chunk", Holds::Flag),
    }),
    shape!("job" in "jobs" by ["message_id", "lane"] ordered [one("id", Holds::Count)] derived false {
        id("message_id"), one("lane", LANE), id("session_id"), one("answer", Holds::Flag),
        one("role", Holds::Word(ViewerRole::VARIANTS)), one("state", Holds::Word(&["live", "dead"])), time("queued_at"),
        maybe("code", Holds::Text), maybe("document", Holds::Flag),
    }),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_identities_are_fields() {
        let names: HashSet<_> = SHAPES.iter().map(|s| s.name).collect();
        assert_eq!(names.len(), SHAPES.len());
        for (place, shape) in SHAPES.iter().enumerate() {
            assert_eq!((shape.place(), Shape::named(shape.name)), (place, Some(shape).filter(|s| !s.internal)));
            assert!(shape.identity.iter().all(|n| shape.field(n).is_some()), "{}", shape.name);
            let fields: HashSet<_> = shape.fields.iter().map(|f| f.name).collect();
            assert_eq!(fields.len(), shape.fields.len(), "{}", shape.name);
        }
    }

    #[test]
    fn documentation_lists_every_record_and_field() {
        let page = include_str!("../../../../docs/archive.md");
        for shape in SHAPES.iter().filter(|s| !s.internal) {
            let row = page.lines().find(|l| l.starts_with(&format!("| `{}` |", shape.name)));
            let row = row.unwrap_or_else(|| panic!("{} is not described", shape.name));
            for field in shape.fields {
                let written = if field.optional { format!("`{}`?", field.name) } else { format!("`{}`", field.name) };
                assert!(row.contains(&written), "{written} of {} is not described", shape.name);
            }
        }
    }
}
