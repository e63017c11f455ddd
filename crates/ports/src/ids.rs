//! Time and fresh ids. The only places where a clock or a random number is read; everything else takes them as arguments.

use recall_domain::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now, in whole milliseconds.
    fn now(&self) -> Timestamp;
}

/// Makes fresh ids.
pub trait Ids: Send + Sync {
    /// A fresh id, later than every id made before by this process (UUID version 7), so that rows written
    /// together lie together.
    fn fresh(&self) -> uuid::Uuid;
}
