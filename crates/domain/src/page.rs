//! Forward pagination by opaque keys.

/// Which part of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many items, 1 to 100.
    pub first: u32,
    /// Key of the item after which to go on; from the start when absent.
    pub after: Option<String>,
}

impl Page {
    /// The first `first` items.
    pub fn first(first: u32) -> Self {
        Self { first, after: None }
    }
}

/// A part of a list, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice<T> {
    /// Items with the key that continues after each.
    pub items: Vec<(String, T)>,
    /// Whether more follow.
    pub has_next: bool,
}
