//! The clock and the source of ids. Only adapters read a clock or random numbers; other code gets times and ids as arguments.

use recall_domain::Timestamp;

/// A clock.
pub trait Clock: Send + Sync {
    /// Returns the present time in whole milliseconds.
    fn now(&self) -> Timestamp;
}

/// A source of new ids.
pub trait Ids: Send + Sync {
    /// Returns a new id (UUID version 7), greater than every earlier id of this process. So rows written together are stored together.
    fn fresh(&self) -> uuid::Uuid;
}
