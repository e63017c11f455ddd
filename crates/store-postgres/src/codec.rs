//! Encodes single column values: times, words, text and JSON. No SQL here.

use std::borrow::Cow;

use chrono::DateTime;
use serde::de::DeserializeOwned;
use sqlx::{
    Decode, Postgres, Type,
    error::BoxDynError,
    postgres::{PgTypeInfo, PgValueRef, types::PgInterval},
};
use uuid::Uuid;

use recall_domain::Timestamp;
pub(super) use recall_domain::Word;
use recall_store::{Refusal, keys};
pub(super) use recall_store::{client_json, json, signed};

/// The first millisecond that PostgreSQL can store, with a margin (the year -4711), and the last one that this program supports,
/// which is before PostgreSQL's own last.
const EARLIEST: i64 = -210_800_000_000_000;
const LATEST: i64 = 8_210_266_876_799_999;

/// The time as it is stored and read back: in whole milliseconds, clamped to the supported range.
pub(super) fn time(t: Timestamp) -> Timestamp {
    DateTime::from_timestamp_millis(t.timestamp_millis().clamp(EARLIEST, LATEST)).unwrap_or(t)
}

/// A time as milliseconds since 1970 UTC, for pagination keys.
pub(super) fn millis(t: Timestamp) -> i64 {
    t.timestamp_millis()
}

/// The inverse of [`millis`]; `None` for a time that could not have been stored.
pub(super) fn parse_millis(millis: i64) -> Option<Timestamp> {
    (EARLIEST..=LATEST).contains(&millis).then(|| DateTime::from_timestamp_millis(millis)).flatten()
}

/// The position after which a list sorted by time and id, latest first, continues: that of the key, or before all rows.
pub(super) fn latest_before(key: Option<&str>) -> Result<(Timestamp, Uuid), Refusal> {
    let Some(key) = key else { return Ok((time(Timestamp::MAX_UTC), Uuid::max())) };
    let (millis, id) = keys::parse_number_and_id(key)?;
    Ok((parse_millis(millis).ok_or(Refusal::BadCursor)?, id))
}

/// The length of a lease or delay, in whole milliseconds. A century is the upper limit.
pub(super) fn interval(d: std::time::Duration) -> PgInterval {
    const CENTURY: i64 = 100 * 365 * 24 * 3_600 * 1_000;
    PgInterval { months: 0, days: 0, microseconds: i64::try_from(d.as_millis()).unwrap_or(CENTURY).min(CENTURY) * 1_000 }
}

/// Escapes itself and U+0000, which text columns cannot hold. It is the last Unicode character, followed by `0` or `1`.
const ESCAPE: char = '\u{10FFFF}';

/// Encodes text for storage. Text without escapes, which is nearly all, is not copied.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => escaped.extend([ESCAPE, '0']),
            ESCAPE => escaped.extend([ESCAPE, '1']),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Encodes optional text; see [`text`].
pub(super) fn opt_text(given: Option<&str>) -> Option<Cow<'_, str>> {
    given.map(text)
}

/// The longest key that is stored unchanged, in bytes. An index entry must fit into a third of a page.
const LONGEST_KEY: usize = 1_000;

/// The stored form of a key by which an entity is found.
///
/// A very long key is stored as its beginning and a digest of the whole. Keys are only compared, never read back.
pub(super) fn key(key: &str) -> Cow<'_, str> {
    let whole = text(key);
    if whole.len() <= LONGEST_KEY {
        return whole;
    }
    let digest = Uuid::new_v5(&Uuid::NAMESPACE_OID, whole.as_bytes());
    let start = whole.get(..whole.floor_char_boundary(LONGEST_KEY)).unwrap_or_default();
    Cow::Owned(format!("{start} {}", digest.as_simple()))
}

/// Like [`key`], for a key from another store, which may have shortened it already.
pub(super) fn moved_key(moved: &str) -> Cow<'_, str> {
    let digest = moved.rsplit_once(' ').is_some_and(|(start, digest)| {
        start.len() + 4 > LONGEST_KEY && start.len() <= LONGEST_KEY && digest.len() == 32 && Uuid::try_parse(digest).is_ok()
    });
    if digest { text(moved) } else { key(moved) }
}

/// The inverse of [`text`]; `None` for input that [`text`] never makes.
pub(super) fn parse_text(stored: String) -> Option<String> {
    if !stored.contains(ESCAPE) {
        return Some(stored);
    }
    let mut plain = String::with_capacity(stored.len());
    let mut rest = stored.chars();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => plain.push(match rest.next() {
                Some('0') => '\0',
                Some('1') => ESCAPE,
                _ => return None,
            }),
            c => plain.push(c),
        }
    }
    Some(plain)
}

/// Encodes several texts for an array parameter; see [`text`].
pub(super) fn texts<'a>(given: impl IntoIterator<Item = &'a str>) -> Vec<Cow<'a, str>> {
    given.into_iter().map(text).collect()
}

/// One column of several rows, for an array parameter.
pub(super) fn column<'a, T, U>(rows: &'a [T], of: impl Fn(&'a T) -> U) -> Vec<U> {
    rows.iter().map(of).collect()
}

/// An unparsed JSON column. The caller knows the type and reports which column is damaged.
#[derive(Debug)]
pub(super) struct JsonText(String);

impl JsonText {
    /// Parses the JSON; `None` if it has another type.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }
}

impl Type<Postgres> for JsonText {
    fn type_info() -> PgTypeInfo {
        <serde_json::Value as Type<Postgres>>::type_info()
    }

    fn compatible(info: &PgTypeInfo) -> bool {
        <serde_json::Value as Type<Postgres>>::compatible(info)
    }
}

impl Decode<'_, Postgres> for JsonText {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        // `json` travels as its text. This schema has no `jsonb`.
        Ok(Self(value.as_str()?.to_owned()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_round_trips_without_characters_that_postgres_refuses(given in "[a\0\u{10FFFF}01]{0,12}|.*") {
            let stored = text(&given).into_owned();
            prop_assert!(!stored.contains('\0'));
            prop_assert_eq!(parse_text(stored).unwrap(), given);
        }

        #[test]
        fn times_round_trip_in_milliseconds(ms in EARLIEST..LATEST, ns in 0u32..1_000_000) {
            let t = parse_millis(ms).unwrap() + chrono::Duration::nanoseconds(i64::from(ns));
            prop_assert_eq!(parse_millis(millis(t)), Some(time(t)));
        }
    }

    #[test]
    fn long_keys_are_shortened_and_stay_distinct() {
        let long = "ä".repeat(50_000);
        let (one, other) = (key(&long).into_owned(), key(&format!("{long}x")).into_owned());
        assert!(one.len() < 1_100 && one != other);
        assert_eq!(key("short"), "short");
        assert_eq!((moved_key(&one), moved_key(&long), moved_key("short")), (one.as_str().into(), key(&long), "short".into()));
    }

    #[test]
    fn invalid_escapes_are_refused() {
        assert_eq!(parse_text("a\u{10FFFF}".into()), None);
        assert_eq!(parse_text("\u{10FFFF}2".into()), None);
    }

    #[test]
    fn unstorable_times_are_clamped_and_refused_as_keys() {
        assert_eq!((parse_millis(i64::MIN), parse_millis(i64::MAX), parse_millis(EARLIEST - 1)), (None, None, None));
        assert_eq!(millis(time(Timestamp::MAX_UTC)), LATEST);
        assert_eq!(millis(time(Timestamp::MIN_UTC)), EARLIEST);
    }
}
