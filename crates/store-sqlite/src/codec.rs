//! Encodes single column values: ids, times, words, vectors and lists. No SQL here.

use std::time::Duration;

use chrono::DateTime;
use uuid::Uuid;

use recall_domain::Timestamp;
pub(super) use recall_domain::Word;
use recall_store::duration_millis;
pub(super) use recall_store::{client_json, json, signed};

/// A time as milliseconds since 1970 UTC.
pub(super) fn millis(t: Timestamp) -> i64 {
    t.timestamp_millis()
}

/// The time after a duration, as [`millis`].
pub(super) fn deadline(now: Timestamp, after: Duration) -> i64 {
    millis(now).saturating_add(duration_millis(after))
}

/// Truncates a time to whole milliseconds, as it will be read back.
pub(super) fn truncate_to_millis(t: Timestamp) -> Timestamp {
    DateTime::from_timestamp_millis(t.timestamp_millis()).unwrap_or(t)
}

/// The inverse of [`millis`]; `None` if no such time exists.
pub(super) fn parse_millis(millis: i64) -> Option<Timestamp> {
    DateTime::from_timestamp_millis(millis)
}

/// Ids as a JSON array of hexadecimal strings, for `IN (SELECT unhex(value) FROM json_each(?))`.
///
/// One statement text serves any number of ids, so it stays in the statement cache.
pub(super) fn id_list<'a>(ids: impl IntoIterator<Item = &'a Uuid>) -> String {
    let mut list = String::from("[");
    for id in ids {
        if list.len() > 1 {
            list.push(',');
        }
        list.push('"');
        list.push_str(id.as_simple().encode_lower(&mut Uuid::encode_buffer()));
        list.push('"');
    }
    list.push(']');
    list
}

/// A vector as sqlite-vec reads it: little-endian f32 values.
pub(super) fn vector(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The inverse of [`vector`]; `None` if the length is not a multiple of four.
pub(super) fn parse_vector(bytes: &[u8]) -> Option<Vec<f32>> {
    let (values, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| values.iter().map(|v| f32::from_le_bytes(*v)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn vectors_round_trip_bit_for_bit(values in proptest::collection::vec(any::<u32>().prop_map(f32::from_bits), 0..40)) {
            let back = parse_vector(&vector(&values)).unwrap();
            prop_assert_eq!(back.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), values.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
        }

        #[test]
        fn times_round_trip_in_milliseconds(ms in -62_000_000_000_000i64..253_000_000_000_000, ns in 0u32..1_000_000) {
            let t = parse_millis(ms).unwrap() + chrono::Duration::nanoseconds(i64::from(ns));
            prop_assert_eq!(parse_millis(millis(t)), Some(truncate_to_millis(t)));
        }
    }

    #[test]
    fn truncated_vector_is_refused() {
        assert_eq!(parse_vector(&[0, 0, 128]), None);
    }

    #[test]
    fn id_lists_are_json() {
        let list = id_list(&[Uuid::from_u128(1), Uuid::from_u128(2)]);
        assert_eq!(serde_json::from_str::<Vec<String>>(&list).unwrap().len(), 2);
        assert_eq!(id_list(&[]), "[]");
    }
}
