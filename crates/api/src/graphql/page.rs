//! Relay connections: checked arguments, opaque cursors and one cost rule.

use async_graphql::{
    Object, OutputType,
    connection::{self, CursorType, Edge, OpaqueCursor},
};

use crate::error::ApiError;
use recall_domain::{DocumentId, Message, Page, SessionId, Slice};
use recall_ports::{DocumentFilter, EntityFilter, FactFilter, SessionFilter};
use recall_usecases::MemoryReader;

/// Maximum items of a page.
pub(crate) const MAX_PAGE: u32 = 100;
/// Default items of a page.
const DEFAULT_PAGE: u32 = 20;

/// A page of a list. Cursors wrap the store's keys, which are opaque to clients.
pub(crate) type Connection<N> = connection::Connection<OpaqueCursor<String>, N, Total>;

/// The length of a whole list, where counting is cheap. Counted only on request.
pub(crate) enum Total {
    Unknown,
    Known(u64),
    Messages(MemoryReader, SessionId),
    Sessions(MemoryReader, SessionFilter),
    Entities(MemoryReader, EntityFilter),
    Facts(MemoryReader, FactFilter),
    Documents(MemoryReader, DocumentFilter),
    Comparisons(MemoryReader, Option<DocumentId>),
}

/// The count of all items of a list.
#[Object(name = "ConnectionTotal")]
impl Total {
    /// The number of items in the whole list, regardless of the page; null if counting would be expensive.
    #[graphql(complexity = "COUNT")]
    async fn total_count(&self) -> async_graphql::Result<Option<u64>> {
        let counted = match self {
            Self::Unknown => return Ok(None),
            Self::Known(count) => return Ok(Some(*count)),
            Self::Messages(memory, session) => memory.count_messages(*session).await,
            Self::Sessions(memory, filter) => memory.count_sessions(filter).await,
            Self::Entities(memory, filter) => memory.count_entities(filter).await,
            Self::Facts(memory, filter) => memory.count_facts(filter).await,
            Self::Documents(memory, filter) => memory.count_documents(filter).await,
            Self::Comparisons(memory, document) => memory.count_comparisons(*document).await,
        };
        Ok(Some(counted.map_err(ApiError::from)?))
    }
}

/// Cost of one database statement, in fields. All callers share the database.
pub(crate) const STATEMENT: usize = 40;
/// Cost of counting a list.
const COUNT: usize = 10;
/// Cost of a change, in fields. A change waits for the disk.
pub(crate) const CHANGE: usize = 100;
/// Cost of a context query, in fields: several statements and a search of all messages.
pub(crate) const SEARCH: usize = 200;
/// Maximum number of entities of one message, or of candidates for one name.
pub(crate) const MAX_CANDIDATES: usize = 20;

/// Returns the cost of a connection field: one statement, and its children for every item.
///
/// The result is bounded, so that sums and products in hostile queries cannot overflow.
pub(crate) fn connection_cost(first: Option<i32>, child: usize) -> usize {
    STATEMENT.saturating_add(list_cost(first, child))
}

/// Returns the cost of a list whose reads are batched: its children for every item. Every item costs at least 1, even if only its type
/// is selected.
pub(crate) fn list_cost(first: Option<i32>, child: usize) -> usize {
    let items = usize::try_from(first.unwrap_or(DEFAULT_PAGE as i32)).unwrap_or(1).clamp(1, MAX_PAGE as usize);
    items.saturating_mul(child.max(1)).min(1_000_000_000)
}

/// Returns the cost of a list with a fixed maximum length.
pub(crate) fn bounded_list_cost(most: usize, child: usize) -> usize {
    most.saturating_mul(child.max(1)).min(1_000_000_000)
}

/// Checks `first` of a list without cursors, and returns the maximum number of items.
pub(crate) fn list_size(first: Option<i32>) -> Result<usize, ApiError> {
    Ok(page_size(first, "first")? as usize)
}

/// Like [`list_size`], for a statement with a limit.
pub(crate) fn limit(first: Option<i32>) -> Result<u32, ApiError> {
    page_size(first, "first")
}

/// Returns the cost of a connection field that can be read from both ends.
pub(crate) fn either_end_cost(first: Option<i32>, last: Option<i32>, child: usize) -> usize {
    connection_cost(first.or(last), child)
}

fn page_size(count: Option<i32>, name: &str) -> Result<u32, ApiError> {
    let count = count.unwrap_or(DEFAULT_PAGE as i32);
    match u32::try_from(count) {
        Ok(n) if (1..=MAX_PAGE).contains(&n) => Ok(n),
        _ => Err(ApiError::invalid("INVALID_PAGE_SIZE", format!("`{name}` must be between 1 and {MAX_PAGE}."), name)),
    }
}

fn decode_cursor(cursor: Option<String>, name: &str) -> Result<Option<String>, ApiError> {
    let read = |text: String| OpaqueCursor::<String>::decode_cursor(&text).map(|c| c.0);
    cursor.map(read).transpose().map_err(|_| ApiError::invalid("BAD_CURSOR", "The cursor was not issued by this server.", name))
}

/// Returns the cursor of the item with this key.
pub(crate) fn encode_cursor(key: String) -> String {
    OpaqueCursor(key).encode_cursor()
}

/// Returns the cursor of a message in the list of its session. The key is its position.
pub(crate) fn message_cursor(message: &Message) -> String {
    encode_cursor(message.position.to_string())
}

/// Checks `first` and `after`.
pub(crate) fn read_page(first: Option<i32>, after: Option<String>) -> Result<Page, ApiError> {
    Ok(Page { first: page_size(first, "first")?, after: decode_cursor(after, "after")? })
}

/// Checks the four arguments of a list that can be read from both ends. Returns true for a page from the end.
pub(crate) fn read_page_from_either_end(
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
        Ok((Page { first: page_size(last, "last")?, after: decode_cursor(before, "before")? }, true))
    } else {
        Ok((read_page(first, after)?, false))
    }
}

/// Returns a page that was read from the start.
pub(crate) fn forward_connection<T, N: OutputType>(slice: Slice<T>, page: &Page, total: Total, node: impl Fn(T) -> N) -> Connection<N> {
    let mut connection = Connection::with_additional_fields(page.after.is_some(), slice.has_next, total);
    connection.edges.extend(slice.items.into_iter().map(|(key, item)| Edge::new(OpaqueCursor(key), node(item))));
    connection
}

/// Returns a page that was read from the end. Its items have the list's own order.
pub(crate) fn backward_connection<T, N: OutputType>(slice: Slice<T>, page: &Page, total: Total, node: impl Fn(T) -> N) -> Connection<N> {
    let mut connection = Connection::with_additional_fields(slice.has_next, page.after.is_some(), total);
    connection.edges.extend(slice.items.into_iter().rev().map(|(key, item)| Edge::new(OpaqueCursor(key), node(item))));
    connection
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn page_size_is_between_1_and_100() {
        assert_eq!(read_page(None, None).unwrap().first, 20);
        assert_eq!(read_page(Some(100), None).unwrap().first, 100);
        for bad in [0, -1, 101, i32::MAX, i32::MIN] {
            assert_eq!(read_page(Some(bad), None).unwrap_err().code(), "INVALID_PAGE_SIZE");
        }
    }

    #[test]
    fn cursors_are_opaque_and_checked() {
        let cursor = OpaqueCursor("k:17".to_owned()).encode_cursor();
        assert!(!cursor.contains("17"));
        assert_eq!(read_page(None, Some(cursor)).unwrap().after.as_deref(), Some("k:17"));
        for bad in ["", "17", "!!!", "\u{0}"] {
            assert_eq!(read_page(None, Some(bad.to_owned())).unwrap_err().code(), "BAD_CURSOR", "{bad:?}");
        }
    }

    #[test]
    fn arguments_of_both_ends_do_not_mix() {
        assert!(read_page_from_either_end(None, None, Some(3), None).unwrap().1);
        assert!(!read_page_from_either_end(Some(3), None, None, None).unwrap().1);
        assert_eq!(read_page_from_either_end(Some(3), None, Some(3), None).unwrap_err().code(), "INVALID_PAGE");
        assert_eq!(read_page_from_either_end(None, None, Some(0), None).unwrap_err().code(), "INVALID_PAGE_SIZE");
    }

    #[test]
    fn costs_do_not_overflow() {
        let mut child = 1;
        for _ in 0..100 {
            child = connection_cost(Some(i32::MAX), child);
        }
        assert_eq!(child, 1_000_000_000 + STATEMENT);
        assert_eq!(connection_cost(Some(-5), 3), STATEMENT + 3);
    }
}
