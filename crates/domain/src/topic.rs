//! Topics: what texts are about, found by grouping them by meaning.

use super::{TopicId, UserText};

/// A topic: texts of about the same meaning, in one or several documents and conversations.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Identity.
    pub id: TopicId,
    /// The words that tell its texts from others.
    pub name: UserText,
    /// The number of its messages and chunks.
    pub size: u64,
}
