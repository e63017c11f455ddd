//! Pagination keys: the text form of a position in a list.
//!
//! A key holds the sort columns of the last row instead of its number. So rows inserted between two pages cause neither repeats nor
//! gaps.

use uuid::Uuid;

use super::{Refusal, signed};
use recall_domain::{Entity, Evidence, Fact, Message, Page, Session, Slice, Stance, Timestamp, Word, belief::PRIOR};
use recall_ports::FactOrder;

/// The key of a list sorted by a number and an id: `<number>.<id>`.
pub fn number_and_id(number: i64, id: Uuid) -> String {
    format!("{number}.{}", id.as_simple())
}

/// The key of a list of sessions, latest change first.
pub fn of_session(session: &Session) -> String {
    time_and_id(session.updated_at, session.id.0)
}

/// The inverse of [`number_and_id`].
pub fn parse_number_and_id(key: &str) -> Result<(i64, Uuid), Refusal> {
    let (number, id) = key.split_once('.').ok_or(Refusal::BadCursor)?;
    Ok((parse_number(number)?, parse_id(id)?))
}

/// The key of a list sorted by a time and an id.
pub fn time_and_id(time: Timestamp, id: Uuid) -> String {
    number_and_id(time.timestamp_millis(), id)
}

/// The key of a message in its session.
pub fn of_message(message: &Message) -> String {
    message.position.to_string()
}

/// The key of an entity in the list by mentions.
pub fn of_entity(entity: &Entity) -> String {
    number_and_id(signed(entity.mention_count), entity.id.0)
}

/// The key of a fact in a list of this order. It begins with a letter of the order, except in the default order.
pub fn of_fact(order: FactOrder, fact: &Fact) -> String {
    let number = match order {
        FactOrder::LatestChange => fact.updated_at.timestamp_millis(),
        FactOrder::LatestLearned => fact.created_at.timestamp_millis(),
        FactOrder::MostBelieved | FactOrder::LeastBelieved => {
            let belief = (fact.support + PRIOR) / (fact.support + fact.opposition + 2.0 * PRIOR);
            belief.to_bits().cast_signed()
        }
    };
    fact_key(order, number, fact.id.0)
}

/// The key of a fact by its number in this order and its id.
pub fn fact_key(order: FactOrder, number: i64, id: Uuid) -> String {
    format!("{}{}", letter(order), number_and_id(number, id))
}

/// Parses the key of a fact in a list of this order.
///
/// # Errors
/// `BadCursor` if it is the key of a list of another order: its number would be compared with another column.
pub fn parse_fact_key(order: FactOrder, key: &str) -> Result<(i64, Uuid), Refusal> {
    parse_number_and_id(key.strip_prefix(letter(order)).ok_or(Refusal::BadCursor)?)
}

/// The beginning of the keys of an order.
fn letter(order: FactOrder) -> &'static str {
    match order {
        FactOrder::LatestChange => "",
        FactOrder::LatestLearned => "l",
        FactOrder::MostBelieved => "m",
        FactOrder::LeastBelieved => "u",
    }
}

/// The belief in the key of a fact, from 0 to 1.
pub fn parse_belief(number: i64) -> Result<f64, Refusal> {
    let belief = f64::from_bits(number.cast_unsigned());
    if (0.0..=1.0).contains(&belief) { Ok(belief) } else { Err(Refusal::BadCursor) }
}

/// The key of evidence in the list of its fact: `<time>.<message>.<stance>`.
///
/// It includes the stance because a message may have several stances on one fact.
pub fn of_evidence(evidence: &Evidence) -> String {
    format!("{}.{}", time_and_id(evidence.created_at, evidence.message.0), evidence.stance.word())
}

/// Splits the key of [`of_evidence`] into the key of time and message, and the stance.
pub fn split_stance(key: &str) -> Result<(&str, Stance), Refusal> {
    let (place, stance) = key.rsplit_once('.').ok_or(Refusal::BadCursor)?;
    Ok((place, Stance::parse_word(stance).ok_or(Refusal::BadCursor)?))
}

/// The position after which a list sorted by time and id, latest first, continues: that of the key, or before all rows.
pub fn latest_before(key: Option<&str>) -> Result<(i64, Uuid), Refusal> {
    key.map_or(Ok((i64::MAX, Uuid::max())), parse_number_and_id)
}

/// The position after which a list sorted by a number, greatest first, and by id continues: that of the key, or before all rows.
pub fn least_before(key: Option<&str>) -> Result<(i64, Uuid), Refusal> {
    key.map_or(Ok((i64::MAX, Uuid::nil())), parse_number_and_id)
}

/// Parses exactly what `i64`'s `Display` writes, so that one position has one key.
pub fn parse_number(number: &str) -> Result<i64, Refusal> {
    let parsed: i64 = number.parse().map_err(|_| Refusal::BadCursor)?;
    if parsed.to_string() == number { Ok(parsed) } else { Err(Refusal::BadCursor) }
}

/// Parses an id of 32 lower-case hexadecimal digits.
pub fn parse_id(id: &str) -> Result<Uuid, Refusal> {
    let well_formed = id.len() == 32 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if well_formed { Uuid::try_parse(id).map_err(|_| Refusal::BadCursor) } else { Err(Refusal::BadCursor) }
}

/// The number of rows to read: one more than wanted tells whether more follow.
pub fn limit(page: &Page) -> i64 {
    i64::from(page.first) + 1
}

/// Makes the page of rows that were read up to [`limit`]; `key` is the key of a row.
///
/// # Errors
/// The first row that could not be read.
pub fn page<T, E>(rows: impl Iterator<Item = Result<T, E>>, page: &Page, key: impl Fn(&T) -> String) -> Result<Slice<T>, E> {
    let items = rows.map(|row| row.map(|item| (key(&item), item)));
    Ok(slice(items.collect::<Result<_, _>>()?, page))
}

/// Removes the one extra row and makes the page.
pub fn slice<T>(mut items: Vec<(String, T)>, page: &Page) -> Slice<T> {
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
        fn arbitrary_keys_are_refused_without_panic(key in ".*") {
            if let Ok((number, id)) = parse_number_and_id(&key) {
                prop_assert_eq!(number_and_id(number, id), key);
            }
        }
    }

    #[test]
    fn almost_valid_keys_are_refused() {
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
            assert!(matches!(parse_number_and_id(bad), Err(Refusal::BadCursor)), "{bad}");
        }
    }
}
