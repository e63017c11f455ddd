//! The open write transaction of an engine.

use async_trait::async_trait;

use super::Refusal;
use recall_domain::{Timestamp, UserId};
use recall_ports::StoreError;

/// An open write transaction. If the work in it fails, the engine rolls it back.
#[async_trait]
pub trait Transaction: Send {
    /// The engine's failures. A failed read of a plan comes back as a [`StoreError`].
    type Error: From<Refusal> + From<StoreError> + Send;

    /// The time as it will be read back: in whole milliseconds, and within the engine's range.
    fn stored_time(time: Timestamp) -> Timestamp;

    /// Continues on behalf of another user, if the engine restricts a transaction to one.
    async fn act_for(&mut self, user: UserId) -> Result<(), Self::Error>;
}
