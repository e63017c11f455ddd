//! Converts values to parameters and back. No statements here.

use chrono::{DateTime, FixedOffset};
use neo4rs::{BoltMap, BoltType, Row};
use uuid::Uuid;

use super::failure::Failure;
use recall_domain::{Timestamp, Word};

/// An id as text, in the form that people write in Cypher. This text sorts like the id.
pub(super) fn id(id: Uuid) -> BoltType {
    id.hyphenated().to_string().into()
}

pub(super) fn list(items: impl IntoIterator<Item = BoltType>) -> BoltType {
    items.into_iter().collect::<Vec<_>>().into()
}

pub(super) fn ids(items: impl IntoIterator<Item = Uuid>) -> BoltType {
    list(items.into_iter().map(id))
}

/// A time in Neo4j's own type, so that Cypher can calculate with it.
pub(super) fn time(t: Timestamp) -> BoltType {
    DateTime::<FixedOffset>::from(t).into()
}

/// A counter as an integer.
pub(super) fn count(n: u64) -> BoltType {
    i64::try_from(n).unwrap_or(i64::MAX).into()
}

/// Null. Setting a property to null removes it.
pub(super) fn null() -> BoltType {
    BoltType::Null(neo4rs::BoltNull)
}

/// The converted value, or null.
pub(super) fn optional<T>(value: Option<T>, write: impl FnOnce(T) -> BoltType) -> BoltType {
    value.map_or_else(null, write)
}

pub(super) fn map<const N: usize>(entries: [(&'static str, BoltType); N]) -> BoltType {
    let mut map = BoltMap::with_capacity(N);
    for (key, value) in entries {
        map.put(key.into(), value);
    }
    BoltType::Map(map)
}

/// A map of named lists.
pub(super) fn map_of<'n>(entries: impl IntoIterator<Item = (&'n str, Vec<BoltType>)>) -> BoltType {
    let mut map = BoltMap::default();
    for (key, value) in entries {
        map.put(key.into(), value.into());
    }
    BoltType::Map(map)
}

/// Typed access to the columns of one row. Times are read as milliseconds.
pub(super) struct Columns<'r>(pub(super) &'r Row);

impl Columns<'_> {
    pub(super) fn get<'t, T: serde::Deserialize<'t>>(&'t self, column: &'static str) -> Result<T, Failure> {
        self.0.get(column).map_err(|_| Failure::Damaged(column))
    }

    pub(super) fn id(&self, column: &'static str) -> Result<Uuid, Failure> {
        self.opt_id(column)?.ok_or(Failure::Damaged(column))
    }

    pub(super) fn opt_id(&self, column: &'static str) -> Result<Option<Uuid>, Failure> {
        let text: Option<String> = self.get(column)?;
        text.map(|t| Uuid::parse_str(&t).map_err(|_| Failure::Damaged(column))).transpose()
    }

    pub(super) fn ids(&self, column: &'static str) -> Result<Vec<Uuid>, Failure> {
        let list: Vec<String> = self.get(column)?;
        list.iter().map(|t| Uuid::parse_str(t).map_err(|_| Failure::Damaged(column))).collect()
    }

    pub(super) fn count(&self, column: &'static str) -> Result<u64, Failure> {
        u64::try_from(self.get::<i64>(column)?).map_err(|_| Failure::Damaged(column))
    }

    pub(super) fn small(&self, column: &'static str) -> Result<u32, Failure> {
        self.opt_small(column)?.ok_or(Failure::Damaged(column))
    }

    pub(super) fn opt_small(&self, column: &'static str) -> Result<Option<u32>, Failure> {
        let number: Option<i64> = self.get(column)?;
        number.map(|n| u32::try_from(n).map_err(|_| Failure::Damaged(column))).transpose()
    }

    pub(super) fn time(&self, column: &'static str) -> Result<Timestamp, Failure> {
        self.opt_time(column)?.ok_or(Failure::Damaged(column))
    }

    pub(super) fn opt_time(&self, column: &'static str) -> Result<Option<Timestamp>, Failure> {
        let millis: Option<i64> = self.get(column)?;
        millis.map(|m| DateTime::from_timestamp_millis(m).ok_or(Failure::Damaged(column))).transpose()
    }

    pub(super) fn word<T: Word>(&self, column: &'static str) -> Result<T, Failure> {
        self.opt_word(column)?.ok_or(Failure::Damaged(column))
    }

    pub(super) fn opt_word<T: Word>(&self, column: &'static str) -> Result<Option<T>, Failure> {
        let word: Option<String> = self.get(column)?;
        word.map(|w| T::parse_word(&w).ok_or(Failure::Damaged(column))).transpose()
    }
}
