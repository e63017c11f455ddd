//! Relay connections: arguments checked once, opaque cursors, one cost rule.

use async_graphql::{
    Context, Object, OutputType,
    connection::{self, CursorType, Edge, OpaqueCursor},
};

use super::scope::scope;
use crate::error::ApiError;
use recall_domain::{Caller, Message, Page, Slice};
use recall_ports::{EntityFilter, FactFilter};

/// Most items of a page.
pub(crate) const MAX_PAGE: u32 = 100;
/// Items of a page when the client does not say.
const DEFAULT_PAGE: u32 = 20;

/// A page of a list. Cursors wrap the store's own keys, which clients must not read.
pub(crate) type Connection<N> = connection::Connection<OpaqueCursor<String>, N, Total>;

/// How long a whole list is, where that is cheap to know. Counted only when asked for.
pub(crate) enum Total {
    Unknown,
    Known(u64),
    Sessions(Caller),
    Entities(Caller, EntityFilter),
    Facts(Caller, FactFilter),
}

/// The part of a connection that counts.
#[Object(name = "ConnectionTotal")]
impl Total {
    /// Number of items in the whole list, without regard to the page; null where counting would be expensive.
    #[graphql(complexity = "COUNT")]
    async fn total_count(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<u64>> {
        let s = scope(ctx)?;
        let counted = match self {
            Self::Unknown => return Ok(None),
            Self::Known(count) => return Ok(Some(*count)),
            Self::Sessions(whose) => s.store().count_sessions(whose).await,
            Self::Entities(whose, filter) => s.store().count_entities(whose, filter).await,
            Self::Facts(whose, filter) => s.store().count_facts(whose, filter).await,
        };
        Ok(Some(counted.map_err(ApiError::from)?))
    }
}

/// What a statement of its own costs, in fields. Everybody's statements stand in one queue.
pub(crate) const STATEMENT: usize = 40;
/// What counting a list costs.
const COUNT: usize = 10;
/// What a change costs, in fields: it waits for the disk.
pub(crate) const CHANGE: usize = 100;
/// What looking for a question costs, in fields: several statements and a search of all messages.
pub(crate) const SEARCH: usize = 200;
/// Most things of one message, or candidates for one name, that are listed.
pub(crate) const MOST_CANDIDATES: usize = 20;

/// Cost of a connection field: one statement, and its children for every item. Bounded, so that sums of products in hostile
/// queries cannot overflow.
pub(crate) fn cost(first: Option<i32>, child: usize) -> usize {
    STATEMENT.saturating_add(batched(first, child))
}

/// Cost of a list that is read together with those of other objects: its children for every item. An item costs something even
/// if nothing is selected of it but its type.
pub(crate) fn batched(first: Option<i32>, child: usize) -> usize {
    let items = usize::try_from(first.unwrap_or(DEFAULT_PAGE as i32)).unwrap_or(1).clamp(1, MAX_PAGE as usize);
    items.saturating_mul(child.max(1)).min(1_000_000_000)
}

/// Cost of a list with a bound of its own.
pub(crate) fn bounded(most: usize, child: usize) -> usize {
    most.saturating_mul(child.max(1)).min(1_000_000_000)
}

/// Checks `first` of a list without cursors: how many items at most.
pub(crate) fn most(first: Option<i32>) -> Result<usize, ApiError> {
    Ok(size(first, "first")? as usize)
}

/// Complexity of a connection field that can be read from both ends.
pub(crate) fn cost_either(first: Option<i32>, last: Option<i32>, child: usize) -> usize {
    cost(first.or(last), child)
}

fn size(count: Option<i32>, name: &str) -> Result<u32, ApiError> {
    let count = count.unwrap_or(DEFAULT_PAGE as i32);
    match u32::try_from(count) {
        Ok(n) if (1..=MAX_PAGE).contains(&n) => Ok(n),
        _ => Err(ApiError::invalid("INVALID_PAGE_SIZE", format!("`{name}` must be between 1 and {MAX_PAGE}."), name)),
    }
}

fn key(cursor: Option<String>, name: &str) -> Result<Option<String>, ApiError> {
    let read = |text: String| OpaqueCursor::<String>::decode_cursor(&text).map(|c| c.0);
    cursor.map(read).transpose().map_err(|_| ApiError::invalid("BAD_CURSOR", "The cursor is not one of this server.", name))
}

/// The cursor of a message in the list of its session, whose key is its position.
pub(crate) fn message_cursor(message: &Message) -> String {
    OpaqueCursor(message.position.to_string()).encode_cursor()
}

/// Checks `first` and `after`.
pub(crate) fn page(first: Option<i32>, after: Option<String>) -> Result<Page, ApiError> {
    Ok(Page { first: size(first, "first")?, after: key(after, "after")? })
}

/// Checks the four arguments of a list that can be read from both ends; true means backwards.
pub(crate) fn page_either(
    first: Option<i32>,
    after: Option<String>,
    last: Option<i32>,
    before: Option<String>,
) -> Result<(Page, bool), ApiError> {
    let backwards = last.is_some() || (first.is_none() && before.is_some());
    let mixed = if backwards { first.is_some() || after.is_some() } else { before.is_some() };
    if mixed {
        return Err(ApiError::invalid("INVALID_PAGE", "Use either `first` with `after` or `last` with `before`.", "first"));
    }
    if backwards {
        Ok((Page { first: size(last, "last")?, after: key(before, "before")? }, true))
    } else {
        Ok((page(first, after)?, false))
    }
}

/// A page read forwards.
pub(crate) fn forwards<T, N: OutputType>(slice: Slice<T>, page: &Page, total: Total, node: impl Fn(T) -> N) -> Connection<N> {
    let mut connection = Connection::with_additional_fields(page.after.is_some(), slice.has_next, total);
    connection.edges.extend(slice.items.into_iter().map(|(key, item)| Edge::new(OpaqueCursor(key), node(item))));
    connection
}

/// A page read from the end; its items are in the list's own order all the same.
pub(crate) fn backwards<T, N: OutputType>(slice: Slice<T>, page: &Page, total: Total, node: impl Fn(T) -> N) -> Connection<N> {
    let mut connection = Connection::with_additional_fields(slice.has_next, page.after.is_some(), total);
    connection.edges.extend(slice.items.into_iter().rev().map(|(key, item)| Edge::new(OpaqueCursor(key), node(item))));
    connection
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_between_1_and_100() {
        assert_eq!(page(None, None).unwrap().first, 20);
        assert_eq!(page(Some(100), None).unwrap().first, 100);
        for bad in [0, -1, 101, i32::MAX, i32::MIN] {
            assert_eq!(page(Some(bad), None).unwrap_err().code(), "INVALID_PAGE_SIZE");
        }
    }

    #[test]
    fn cursors_are_opaque_and_checked() {
        let cursor = OpaqueCursor("k:17".to_owned()).encode_cursor();
        assert!(!cursor.contains("17"));
        assert_eq!(page(None, Some(cursor)).unwrap().after.as_deref(), Some("k:17"));
        for bad in ["", "17", "!!!", "\u{0}"] {
            assert_eq!(page(None, Some(bad.to_owned())).unwrap_err().code(), "BAD_CURSOR", "{bad:?}");
        }
    }

    #[test]
    fn both_ends_do_not_mix() {
        assert!(page_either(None, None, Some(3), None).unwrap().1);
        assert!(!page_either(Some(3), None, None, None).unwrap().1);
        assert_eq!(page_either(Some(3), None, Some(3), None).unwrap_err().code(), "INVALID_PAGE");
        assert_eq!(page_either(None, None, Some(0), None).unwrap_err().code(), "INVALID_PAGE_SIZE");
    }

    #[test]
    fn costs_do_not_overflow() {
        let mut child = 1;
        for _ in 0..100 {
            child = cost(Some(i32::MAX), child);
        }
        assert_eq!(child, 1_000_000_000 + STATEMENT);
        assert_eq!(cost(Some(-5), 3), STATEMENT + 3);
    }
}
