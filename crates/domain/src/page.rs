//! Forward pagination with opaque keys.

/// The requested part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Number of items, 1 to 100.
    pub first: u32,
    /// Key of the item after which the part starts; from the beginning if absent.
    pub after: Option<String>,
}

impl Page {
    /// Requests the first items of a list.
    pub fn first(first: u32) -> Self {
        Self { first, after: None }
    }
}

/// A part of a list, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice<T> {
    /// Items, each with its key.
    pub items: Vec<(String, T)>,
    /// Whether more follow.
    pub has_next: bool,
}
