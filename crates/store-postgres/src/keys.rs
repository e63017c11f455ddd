//! Pagination keys: where a list stands, as text. They name the sort columns of the last row and not its number, so that rows
//! which come in between two pages neither repeat nor hide another.

use uuid::Uuid;

use super::{codec, failure::Failure};
use recall_domain::{Page, Slice, Timestamp};

/// Key of a list ordered by a number and an id: `<number>.<id>`.
pub(super) fn number_and_id(number: i64, id: Uuid) -> String {
    format!("{number}.{}", id.as_simple())
}

/// Reverse of [`number_and_id`].
pub(super) fn parse_number_and_id(key: &str) -> Result<(i64, Uuid), Failure> {
    let (number, id) = key.split_once('.').ok_or(Failure::BadCursor)?;
    Ok((parse_number(number)?, parse_id(id)?))
}

/// As [`parse_number_and_id`], where the number is a moment in milliseconds.
pub(super) fn parse_time_and_id(key: &str) -> Result<(Timestamp, Uuid), Failure> {
    let (millis, id) = parse_number_and_id(key)?;
    Ok((codec::moment(millis).ok_or(Failure::BadCursor)?, id))
}

/// Exactly what `i64`'s `Display` writes, so that one place in a list has one key.
pub(super) fn parse_number(number: &str) -> Result<i64, Failure> {
    let parsed: i64 = number.parse().map_err(|_| Failure::BadCursor)?;
    if parsed.to_string() == number { Ok(parsed) } else { Err(Failure::BadCursor) }
}

/// An id of 32 lower-case hexadecimal digits.
pub(super) fn parse_id(id: &str) -> Result<Uuid, Failure> {
    let well_formed = id.len() == 32 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if well_formed { Uuid::try_parse(id).map_err(|_| Failure::BadCursor) } else { Err(Failure::BadCursor) }
}

/// How many rows to ask for: one more than wanted tells whether more follow.
pub(super) fn limit(page: &Page) -> i64 {
    i64::from(page.first) + 1
}

/// Cuts the one row too many.
pub(super) fn slice<T>(mut items: Vec<(String, T)>, page: &Page) -> Slice<T> {
    let first = page.first as usize;
    let has_next = items.len() > first;
    items.truncate(first);
    Slice { items, has_next }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_read_back(number: i64, id: u128) {
            let id = Uuid::from_u128(id);
            prop_assert_eq!(parse_number_and_id(&number_and_id(number, id)).unwrap(), (number, id));
        }

        #[test]
        fn anything_else_is_refused_and_never_panics(key in ".*") {
            if let Ok((number, id)) = parse_number_and_id(&key) {
                prop_assert_eq!(number_and_id(number, id), key);
            }
        }
    }

    #[test]
    fn near_misses_are_refused() {
        let good = number_and_id(7, Uuid::from_u128(9));
        for bad in [
            "",
            ".",
            "7",
            "7.",
            ".00",
            &good.to_uppercase().replace('0', "A"),
            &format!("+{good}"),
            &format!("{good} "),
            &format!("0{good}"),
        ] {
            assert!(matches!(parse_number_and_id(bad), Err(Failure::BadCursor)), "{bad}");
        }
    }
}
