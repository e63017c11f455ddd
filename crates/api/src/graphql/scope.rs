//! The context of one operation: the caller, the use cases, the loaders and one current time.
//!
//! All weights of a response refer to that time. Guards and audit entries of resolvers are here, too.

use std::{any::Any, hash::Hash, str::FromStr, sync::Arc, time::Duration};

use async_graphql::{
    Context, Guard, ID,
    dataloader::{self, DataLoader},
};

use axum::http::StatusCode;

use super::{batch::BatchQueue, budget::ResponseBudget, loader::Loader};
use crate::{
    audit::Auditor,
    auth::{Identity, Permission},
    error::{ApiError, NOT_FOUND},
    rate::CallerLimits,
};
use recall_domain::{AuditAction, Caller, Timestamp, ViewerRole};
use recall_ports::StoreError;
use recall_usecases::{MemoryReader, ResourceId, UseCases};

/// A memory that an operation reads: the caller's own, or shared memory.
///
/// An object keeps the memory that it was read from, and its fields are read from there, too.
pub(crate) struct Memory {
    /// Reads of single fields.
    pub(crate) read: MemoryReader,
    /// Reads that are batched with those of other fields.
    pub(crate) load: DataLoader<Loader>,
}

impl Memory {
    fn new(read: MemoryReader, batches: &BatchQueue, budget: &Arc<ResponseBudget>) -> Arc<Self> {
        let queue = batches.clone();
        let load = DataLoader::new(Loader::new(read.clone(), budget.clone()), move |read| queue.push(read)).delay(Duration::ZERO);
        Arc::new(Self { read, load })
    }

    /// Returns the caller for this memory.
    pub(crate) fn caller(&self) -> Caller {
        self.read.caller()
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.caller().is_shared()
    }
}

/// The context of one operation.
pub(crate) struct OperationScope {
    pub(crate) caller: Caller,
    identity: Identity,
    pub(crate) usecases: UseCases,
    /// The caller's own memory.
    pub(crate) own: Arc<Memory>,
    /// Shared memory, if the caller may read it.
    shared: Option<Arc<Memory>>,
    pub(crate) now: Timestamp,
    /// Whether the caller's data is being deleted. The remaining data would look complete, so reads are refused.
    is_being_deleted: bool,
    /// Reads that the loaders queue. The engine drives them together with the operation.
    pub(crate) batches: BatchQueue,
    /// The budget of the response.
    pub(crate) budget: Arc<ResponseBudget>,
}

impl OperationScope {
    /// Creates the context for an operation that starts now.
    pub(crate) fn new(identity: Identity, usecases: UseCases, budget: ResponseBudget) -> Arc<Self> {
        let (caller, now, budget) = (identity.caller, usecases.now(), Arc::new(budget));
        // No cache: a later mutation of the same operation must not return what an earlier one read.
        let batches = BatchQueue::default();
        let memory = |caller: Caller| Memory::new(usecases.memory(caller), &batches, &budget);
        let (own, shared) = (memory(caller), caller.shared_reader().filter(|shared| !usecases.is_being_erased(shared)).map(memory));
        let is_being_deleted = usecases.is_being_erased(&caller);
        Arc::new(Self { caller, identity, own, shared, usecases, now, is_being_deleted, batches, budget })
    }

    /// Returns the caller's identity with its permissions.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Refuses reads while the caller's data is being deleted.
    pub(crate) fn reject_during_deletion(&self) -> Result<(), ApiError> {
        if self.is_being_deleted { Err(StoreError::BeingErased.into()) } else { Ok(()) }
    }

    /// Returns the caller's own memory, or shared memory if `shared` is true.
    ///
    /// # Errors
    /// 403 `FORBIDDEN` for visitors.
    pub(crate) fn memory(&self, shared: bool) -> Result<&Arc<Memory>, ApiError> {
        if !shared {
            return Ok(&self.own);
        }
        let refused = || ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "Shared memory requires an account. Log in first.");
        self.shared.as_ref().ok_or_else(refused)
    }

    /// Returns a memory with its forgotten entities, for what a forgetting shows.
    pub(crate) fn with_forgotten(&self, memory: &Memory) -> Arc<Memory> {
        Memory::new(memory.read.with_forgotten(), &self.batches, &self.budget)
    }

    /// Returns the memory in which an object was found.
    pub(crate) fn found_in(&self, shared: bool) -> &Arc<Memory> {
        self.shared.as_ref().filter(|_| shared).unwrap_or(&self.own)
    }

    /// Returns the caller for changes of shared memory.
    ///
    /// # Errors
    /// 403 for callers who are not administrators, or whose token lacks the scope.
    pub(crate) fn shared_writer(&self) -> Result<Caller, ApiError> {
        let refused =
            || ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "Only administrators may change shared memory. Ask one of them.");
        let writer = self.caller.shared_writer().ok_or_else(refused)?;
        self.identity.require(Permission::Admin)?;
        Ok(writer)
    }

    /// Finds an object by its id in own or shared memory, and returns it with its memory.
    pub(crate) async fn find<K>(&self, id: K) -> Result<Option<(<Loader as dataloader::Loader<K>>::Value, Arc<Memory>)>, ApiError>
    where
        K: Copy + Hash + Eq + Send + Sync + 'static,
        Loader: dataloader::Loader<K, Error = ApiError>,
    {
        if let Some(found) = self.own.load.load_one(id).await? {
            return Ok(Some((found, self.own.clone())));
        }
        let Some(shared) = &self.shared else { return Ok(None) };
        Ok(shared.load.load_one(id).await?.map(|found| (found, shared.clone())))
    }

    /// Reads in the caller's own memory, or in shared memory if that holds one of the ids. Returns the memory that was read.
    pub(crate) async fn read_own_or_shared<T, F>(
        &self,
        ids: &[ResourceId],
        act: impl Fn(Caller) -> F,
    ) -> Result<(T, &Arc<Memory>), ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        match act(self.caller).await {
            Err(e) if e.code() == NOT_FOUND => match self.memory_holding(ids).await? {
                memory if memory.is_shared() => Ok((act(memory.caller()).await?, memory)),
                _ => Err(e),
            },
            found => Ok((found?, &self.own)),
        }
    }

    /// Returns shared memory if it holds one of the ids, else the caller's own memory.
    pub(crate) async fn memory_holding(&self, ids: &[ResourceId]) -> Result<&Arc<Memory>, ApiError> {
        match &self.shared {
            Some(shared) if shared.read.holds_any(ids).await? => Ok(shared),
            _ => Ok(&self.own),
        }
    }

    /// Makes a change in the memory that holds one of the ids, and returns that memory.
    ///
    /// A caller who may not change shared memory gets 403 for ids in shared memory, not 404, because the caller can read them.
    ///
    /// # Errors
    /// Those of the change; 403 for changes of shared memory by callers who are not administrators.
    pub(crate) async fn change<T, F>(&self, ids: &[ResourceId], act: impl Fn(Caller) -> F) -> Result<(T, &Arc<Memory>), ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        // What others may not change is looked for only after a failed change, so that their own changes cost nothing more.
        let may_be_shared = self.caller.role() == ViewerRole::Admin && self.usecases.shared_reader(&self.caller).await?.is_some();
        if may_be_shared && self.memory_holding(ids).await?.is_shared() {
            return self.change_shared(act).await;
        }
        match act(self.caller).await {
            // Also for administrators: shared memory may have come into use on another server just now.
            Err(e) if e.code() == NOT_FOUND && self.memory_holding(ids).await?.is_shared() => self.change_shared(act).await,
            done => Ok((done?, &self.own)),
        }
    }

    async fn change_shared<T, F>(&self, act: impl Fn(Caller) -> F) -> Result<(T, &Arc<Memory>), ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        let memory = self.memory(true)?;
        Ok((act(self.shared_writer()?).await?, memory))
    }
}

/// Returns a service of the schema.
pub(crate) fn service<'c, T: Any + Send + Sync>(ctx: &Context<'c>) -> Result<&'c T, ApiError> {
    ctx.data::<T>().map_err(|e| ApiError::internal(Arc::new(std::io::Error::other(e.message)) as Arc<_>))
}

/// Returns the context of the running operation.
pub(crate) fn scope<'c>(ctx: &Context<'c>) -> Result<&'c Arc<OperationScope>, ApiError> {
    service(ctx)
}

/// Returns the rate limiter for callers.
pub(crate) fn limits<'c>(ctx: &Context<'c>) -> Result<&'c Arc<CallerLimits>, ApiError> {
    service(ctx)
}

/// Writes an audit entry for the caller. `target` is an id or a server-defined name, never user text.
pub(crate) async fn audit(ctx: &Context<'_>, action: AuditAction, target: String) -> Result<(), ApiError> {
    let (s, auditor) = (scope(ctx)?, service::<Auditor>(ctx)?);
    auditor.note_request(s.now, s.identity(), action, Some(target)).await;
    Ok(())
}

/// Writes an audit entry if the change was made in shared memory.
pub(crate) async fn audit_shared_change(
    ctx: &Context<'_>,
    memory: &Memory,
    action: AuditAction,
    target: impl ToString,
) -> Result<(), ApiError> {
    if memory.is_shared() { audit(ctx, action, target.to_string()).await } else { Ok(()) }
}

/// Writes an audit entry about a change: the first action if it was made in own memory, the second in shared memory.
pub(crate) async fn audit_change(
    ctx: &Context<'_>,
    memory: &Memory,
    [own, shared]: [AuditAction; 2],
    target: impl ToString,
) -> Result<(), ApiError> {
    audit(ctx, if memory.is_shared() { shared } else { own }, target.to_string()).await
}

/// A guard that requires a permission before a field is resolved.
///
/// Every field that reads or changes user data has one: queries need `recall.read`, mutations `recall.write`. Of a mutation's
/// result, callers with only `recall.write` can read ids and statuses; other fields need `recall.read`.
pub(crate) enum Needs {
    /// Requires permission to read.
    Read,
    /// Requires permission to write.
    Write,
    /// Requires either permission.
    ReadOrWrite,
    /// Requires permission to administer.
    Admin,
}

/// Query fields that can be read while the caller's data is being deleted: the progress, and the audit log, which is kept. The store
/// refuses changes.
const READABLE_DURING_DELETION: [&str; 3] = ["viewer", "deletion", "auditLog"];

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
        if permission == Permission::Read && !READABLE_DURING_DELETION.contains(&ctx.field().name()) {
            scope.reject_during_deletion()?;
        }
        Ok(())
    }
}

/// Parses an id. `path` names the argument.
pub(crate) fn read_id<T: FromStr>(id: &ID, path: &str) -> Result<T, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", path))
}

/// Parses an optional id. `path` names the argument.
pub(crate) fn read_optional_id<T: FromStr>(id: Option<&ID>, path: &str) -> Result<Option<T>, ApiError> {
    id.map(|id| read_id(id, path)).transpose()
}
