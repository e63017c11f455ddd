//! What one operation works with: who asks, the use cases, the loaders, and one moment that counts as now, so that all
//! weights of a response refer to the same time.

use std::{str::FromStr, sync::Arc, time::Duration};

use async_graphql::{Context, Guard, ID, dataloader::DataLoader};

use super::{batch::Batches, loader::Loader};
use crate::{
    api::{
        audit::Auditor,
        auth::{Identity, Permission},
        error::ApiError,
        rate::CallerLimits,
    },
    conversation::Conversation,
    domain::{AuditAction, Caller, Timestamp},
    ports::{Store, StoreError},
};

/// The surroundings of one operation.
pub(crate) struct Scope {
    pub(crate) caller: Caller,
    identity: Identity,
    pub(crate) conversation: Conversation,
    pub(crate) load: DataLoader<Loader>,
    pub(crate) now: Timestamp,
    /// Everything of the caller's is being deleted: what is left would be taken for a whole.
    being_erased: bool,
    /// Reads that the loaders put off. Whoever runs the operation drives them.
    pub(crate) batches: Batches,
}

impl Scope {
    /// A scope for an operation that begins now.
    pub(crate) fn new(identity: Identity, conversation: Conversation) -> Arc<Self> {
        let (caller, now) = (identity.caller, conversation.now());
        let loader = Loader::new(caller, conversation.clone());
        // Without a cache: a later mutation of the same operation must not answer with what an earlier one saw.
        let batches = Batches::default();
        let queue = batches.clone();
        let load = DataLoader::new(loader, move |read| queue.push(read)).delay(Duration::ZERO);
        let being_erased = conversation.is_being_erased(&caller);
        Arc::new(Self { caller, identity, load, conversation, now, being_erased, batches })
    }

    /// Who asks, with what their proof allows.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Refuses to show what is left while everything is being deleted.
    pub(crate) fn whole(&self) -> Result<(), ApiError> {
        if self.being_erased { Err(StoreError::BeingErased.into()) } else { Ok(()) }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.conversation.store()
    }
}

/// The scope of the running operation.
pub(crate) fn scope<'c>(ctx: &Context<'c>) -> Result<&'c Arc<Scope>, ApiError> {
    ctx.data::<Arc<Scope>>().map_err(|e| ApiError::internal(Arc::new(std::io::Error::other(e.message)) as Arc<_>))
}

/// What the caller may ask for.
pub(crate) fn limits<'c>(ctx: &Context<'c>) -> Result<&'c Arc<CallerLimits>, ApiError> {
    ctx.data::<Arc<CallerLimits>>().map_err(|e| ApiError::internal(Arc::new(std::io::Error::other(e.message)) as Arc<_>))
}

/// Writes an entry of the audit log in the name of the caller. `target` is an id or a name of the server's own.
pub(crate) async fn note(ctx: &Context<'_>, action: AuditAction, target: String) -> Result<(), ApiError> {
    let auditor = ctx.data::<Auditor>().map_err(|e| ApiError::internal(Arc::new(std::io::Error::other(e.message)) as Arc<_>))?;
    let s = scope(ctx)?;
    auditor.of_request(s.now, s.identity(), action, Some(target)).await;
    Ok(())
}

/// Demands a permission before a field is resolved. Every field that shows or changes what a user owns has one: those of
/// a query need `recall.read`, mutations `recall.write`. What a mutation returns shows its identity to whoever may write,
/// and the rest to whoever may read.
pub(crate) enum Needs {
    /// Reading.
    Read,
    /// Changing.
    Write,
    /// Either of them.
    ReadOrWrite,
    /// What only administrators may do.
    Admin,
}

/// What is shown while everything is being deleted: how far that has got, and what was noted, which stays. What is changed is
/// refused by the store.
const SHOWN_MEANWHILE: [&str; 3] = ["viewer", "deletion", "auditLog"];

impl Guard for Needs {
    async fn check(&self, ctx: &Context<'_>) -> async_graphql::Result<()> {
        let scope = scope(ctx)?;
        let identity = &scope.identity;
        let permission = match self {
            Self::ReadOrWrite if identity.permissions.include(Permission::Write) => Permission::Write,
            Self::Read | Self::ReadOrWrite => Permission::Read,
            Self::Write => Permission::Write,
            Self::Admin => Permission::Admin,
        };
        identity.require(permission)?;
        if permission == Permission::Read && !SHOWN_MEANWHILE.contains(&ctx.field().name()) {
            scope.whole()?;
        }
        Ok(())
    }
}

/// Reads an id. `path` names the argument.
pub(crate) fn read_id<T: FromStr>(id: &ID, path: &str) -> Result<T, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", path))
}

/// Reads an id that may be missing.
pub(crate) fn read_optional_id<T: FromStr>(id: Option<&ID>, path: &str) -> Result<Option<T>, ApiError> {
    id.map(|id| read_id(id, path)).transpose()
}
