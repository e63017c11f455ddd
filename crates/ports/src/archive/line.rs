//! Converts records to lines of JSON and back. An error names the invalid field but not its value, which may be user text.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use chrono::DateTime;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{
    Owner,
    shape::{Field, Form, Holds, Record, Shape, Value},
};
use recall_domain::{FactValue, Quoted, SaidPeriod, Timestamp, UserId, context::SearchSources};

/// Name of the format, in the first line.
pub const FORMAT: &str = "recall-archive";
/// The format version that this program writes, and the newest that it reads. Since version 2 the last line has a checksum.
pub const VERSION: u64 = 2;
/// The oldest version that this program reads.
pub const OLDEST: u64 = 1;
/// The largest number: JSON readers may change larger ones, and a counter needs room to grow.
pub const MOST: i64 = 1 << 53;
/// The largest weight, far above any real weight of a fact.
pub const HEAVIEST: f64 = 1e9;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: u64,
    /// Version of the program that wrote it.
    pub program: String,
    /// When the export began.
    pub exported_at: Timestamp,
    /// The local user of the installation that it comes from.
    pub local_user: UserId,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// The header.
    Header(Header),
    /// A user; the next records belong to this user.
    User(Owner),
    /// A record.
    Record(Record),
    /// The last line.
    End(End),
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Number of lines between the first and this one.
    pub records: u64,
    /// SHA-256 of all lines before it, in hexadecimal digits; archives of version 1 have none.
    pub sha256: Option<String>,
}

/// Why a line is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Not a JSON object.
    #[error("it is no JSON object")]
    NotJson,
    /// Another format.
    #[error("it is no line of an archive of this program")]
    NotAnArchive,
    /// Another version of the format.
    #[error("the archive has version {0}; this program reads up to {VERSION}")]
    TooNew(u64),
    /// An unknown kind of record.
    #[error("its `type` is not known")]
    UnknownType,
    /// Fields that the record does not have.
    #[error("it has fields that a `{0}` has not")]
    UnknownField(&'static str),
    /// A missing or invalid field.
    #[error("`{0}` is missing or is not what it must be")]
    Field(&'static str),
}

impl Line {
    /// Returns the line without a line break.
    pub fn write(&self) -> String {
        match self {
            Self::Header(h) => format!(
                r#"{{"format":"{FORMAT}","version":{},"program":{},"exported_at":{},"local_user":"{}"}}"#,
                h.version,
                text(&h.program),
                h.exported_at.timestamp_millis(),
                h.local_user
            ),
            Self::User(o) => {
                let visitor = if o.visitor { r#","visitor":true"# } else { "" };
                let (user, feed_head, version) = (o.user, o.feed_head, o.knowledge_version);
                format!(r#"{{"type":"user","id":"{user}","feed_head":{feed_head},"knowledge_version":{version}{visitor}}}"#)
            }
            Self::Record(record) => written(record),
            Self::End(End { records, sha256: None }) => format!(r#"{{"type":"end","records":{records}}}"#),
            Self::End(End { records, sha256: Some(sum) }) => format!(r#"{{"type":"end","records":{records},"sha256":{}}}"#, text(sum)),
        }
    }

    /// Parses a line.
    ///
    /// # Errors
    /// Fails unless [`Line::write`] could have written the line.
    pub fn parse(line: &str) -> Result<Self, Damage> {
        let given: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(line).map_err(|_| Damage::NotJson)?;
        let mut fields = Fields { given };
        if let Some(format) = fields.take("format") {
            return header(format, fields);
        }
        let name: String = fields.must("type").map_err(|_| Damage::UnknownType)?;
        match name.as_str() {
            "user" => {
                let owner = Owner {
                    user: fields.must("id")?,
                    feed_head: fields.count("feed_head")?.unsigned_abs(),
                    knowledge_version: fields.count("knowledge_version")?.unsigned_abs(),
                    visitor: match fields.take("visitor") {
                        Some(raw) => read(raw).ok_or(Damage::Field("visitor"))?,
                        None => false,
                    },
                };
                fields.end("user", Self::User(owner))
            }
            "end" => {
                let records = fields.count("records")?.unsigned_abs();
                let sha256 = match fields.take("sha256") {
                    Some(raw) => Some(read(raw).ok_or(Damage::Field("sha256"))?),
                    None => None,
                };
                fields.end("end", Self::End(End { records, sha256 }))
            }
            name => {
                let shape = Shape::named(name).ok_or(Damage::UnknownType)?;
                let values = shape.fields.iter().map(|f| fields.value(f)).collect::<Result<Vec<_>, _>>()?;
                let record = Record { shape, values };
                match (record.get("span_start"), record.get("span_end")) {
                    (Value::Count(start), Value::Count(end)) if start > end => return Err(Damage::Field("span_end")),
                    _ => {}
                }
                fields.end(shape.name, Self::Record(record))
            }
        }
    }
}

fn header(format: &RawValue, mut fields: Fields<'_>) -> Result<Line, Damage> {
    if read::<String>(format).is_none_or(|f| f != FORMAT) {
        return Err(Damage::NotAnArchive);
    }
    // The version is read first: the other fields of a newer version are unknown.
    let version = match fields.must::<u64>("version")? {
        version @ OLDEST..=VERSION => version,
        version if version > VERSION => return Err(Damage::TooNew(version)),
        _ => return Err(Damage::Field("version")),
    };
    let header = Header {
        version,
        program: fields.must("program")?,
        exported_at: moment(fields.must("exported_at")?).ok_or(Damage::Field("exported_at"))?,
        local_user: fields.must("local_user")?,
    };
    fields.end("header", Line::Header(header))
}

/// The fields of a line that are not read yet.
struct Fields<'l> {
    given: BTreeMap<Cow<'l, str>, &'l RawValue>,
}

impl<'l> Fields<'l> {
    fn take(&mut self, name: &str) -> Option<&'l RawValue> {
        self.given.remove(name)
    }

    fn must<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, Damage> {
        self.take(name).and_then(read).ok_or(Damage::Field(name))
    }

    fn count(&mut self, name: &'static str) -> Result<i64, Damage> {
        self.must::<i64>(name).and_then(|n| if (0..=MOST).contains(&n) { Ok(n) } else { Err(Damage::Field(name)) })
    }

    fn value(&mut self, field: &Field) -> Result<Value, Damage> {
        match self.take(field.name).filter(|raw| raw.get() != "null" || field.holds == Holds::Json(Form::Any)) {
            None if field.optional => Ok(Value::Missing),
            None => Err(Damage::Field(field.name)),
            Some(raw) => parsed(field.holds, raw).ok_or(Damage::Field(field.name)),
        }
    }

    fn end(self, name: &'static str, line: Line) -> Result<Line, Damage> {
        if self.given.is_empty() { Ok(line) } else { Err(Damage::UnknownField(name)) }
    }
}

fn read<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

fn moment(millis: i64) -> Option<Timestamp> {
    DateTime::from_timestamp_millis(millis)
}

fn parsed(holds: Holds, raw: &RawValue) -> Option<Value> {
    match holds {
        Holds::Id => read::<Uuid>(raw).map(Value::Id),
        Holds::Count => read::<i64>(raw).filter(|n| (0..=MOST).contains(n)).map(Value::Count),
        Holds::Small => read::<i32>(raw).filter(|n| *n >= 0).map(|n| Value::Count(n.into())),
        Holds::Time => read::<i64>(raw).filter(|ms| moment(*ms).is_some()).map(Value::Count),
        Holds::Weight => real(raw, HEAVIEST),
        Holds::Share => real(raw, 1.0),
        Holds::Text | Holds::Key => read(raw).map(Value::Text),
        Holds::Interval => read(raw).filter(|text: &String| SaidPeriod::parse(text).is_some()).map(Value::Text),
        Holds::Word(words) => read::<String>(raw).filter(|w| words.contains(&w.as_str())).map(Value::Text),
        Holds::Flag => read(raw).map(Value::Flag),
        Holds::Json(form) => well_formed(form, raw).then(|| Value::Json(raw.get().to_owned())),
        Holds::Bytes => read::<String>(raw).and_then(|text| BASE64.decode(text).ok()).map(Value::Bytes),
        Holds::Vector => read::<Vec<f32>>(raw).filter(|v| v.iter().all(|x| x.is_finite())).map(Value::Vector),
    }
}

/// Parses a number without the JSON parser, which may be wrong in the last bit.
fn real(raw: &RawValue, most: f64) -> Option<Value> {
    raw.get().parse::<f64>().ok().filter(|n| (0.0..=most).contains(n)).map(Value::Real)
}

/// Whether a store can read the value. This also limits its nesting.
fn well_formed(form: Form, raw: &RawValue) -> bool {
    fn is<'r, T: Deserialize<'r>>(raw: &'r RawValue) -> bool {
        serde_json::from_str::<T>(raw.get()).is_ok()
    }
    match form {
        Form::Any => is::<serde_json::Value>(raw),
        Form::Names => is::<Vec<String>>(raw),
        Form::Terms => is::<Vec<(String, u32)>>(raw),
        Form::Citations => is::<Vec<Quoted>>(raw),
        Form::FactValue => FactValue::is_stored(raw.get()),
        Form::Sources => is::<SearchSources>(raw),
    }
}

fn written(record: &Record) -> String {
    let mut line = format!(r#"{{"type":"{}""#, record.shape.name);
    for (field, value) in record.shape.fields.iter().zip(&record.values) {
        let value = match value {
            Value::Missing => continue,
            Value::Id(id) => format!("\"{id}\""),
            Value::Count(n) => n.to_string(),
            Value::Real(n) => serde_json::Number::from_f64(*n).map_or_else(|| "0.0".to_owned(), |n| n.to_string()),
            Value::Text(t) => text(t),
            Value::Flag(f) => f.to_string(),
            Value::Json(json) => one_line(json),
            Value::Vector(v) => serde_json::to_string(v).unwrap_or_default(),
            Value::Bytes(bytes) => format!("\"{}\"", BASE64.encode(bytes)),
        };
        // Writing to a string cannot fail.
        let _ = write!(line, ",\"{}\":{value}", field.name);
    }
    line.push('}');
    line
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Removes line breaks: JSON is stored as given, possibly over several lines.
fn one_line(json: &str) -> String {
    if !json.contains(['\n', '\r']) {
        return json.to_owned();
    }
    json.split(['\n', '\r']).collect()
}

#[cfg(test)]
#[path = "line/tests.rs"]
mod tests;
