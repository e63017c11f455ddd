//! What one operation works with: who asks, the use cases, the loaders, and one moment that counts as now, so that all
//! weights of a response refer to the same time.

use std::{str::FromStr, sync::Arc, time::Duration};

use async_graphql::{Context, ID, dataloader::DataLoader};

use super::{batch::Batches, loader::Loader};
use crate::{
    api::error::ApiError,
    conversation::Conversation,
    domain::{Caller, Timestamp},
    ports::Store,
};

/// The surroundings of one operation.
pub(crate) struct Scope {
    pub(crate) caller: Caller,
    pub(crate) conversation: Conversation,
    pub(crate) load: DataLoader<Loader>,
    pub(crate) now: Timestamp,
    /// Reads that the loaders put off. Whoever runs the operation drives them.
    pub(crate) batches: Batches,
}

impl Scope {
    /// A scope for an operation that begins now.
    pub(crate) fn new(caller: Caller, conversation: Conversation) -> Arc<Self> {
        let now = conversation.now();
        let loader = Loader::new(caller, conversation.clone());
        // Without a cache: a later mutation of the same operation must not answer with what an earlier one saw.
        let batches = Batches::default();
        let queue = batches.clone();
        let load = DataLoader::new(loader, move |read| queue.push(read)).delay(Duration::ZERO);
        Arc::new(Self { caller, load, conversation, now, batches })
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.conversation.store()
    }
}

/// The scope of the running operation.
pub(crate) fn scope<'c>(ctx: &Context<'c>) -> Result<&'c Arc<Scope>, ApiError> {
    ctx.data::<Arc<Scope>>().map_err(|e| ApiError::internal(Arc::new(std::io::Error::other(e.message)) as Arc<_>))
}

/// Reads an id. `path` names the argument.
pub(crate) fn read_id<T: FromStr>(id: &ID, path: &str) -> Result<T, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", path))
}

/// Reads an id that may be missing.
pub(crate) fn read_optional_id<T: FromStr>(id: Option<&ID>, path: &str) -> Result<Option<T>, ApiError> {
    id.map(|id| read_id(id, path)).transpose()
}
