//! What one operation works with: who asks, the use cases, the loaders, and one moment that counts as now, so that all
//! weights of a response refer to the same time.

use std::{hash::Hash, str::FromStr, sync::Arc, time::Duration};

use async_graphql::{
    Context, Guard, ID,
    dataloader::{self, DataLoader},
};

use axum::http::StatusCode;

use super::{batch::Batches, budget::AnswerBudget, loader::Loader};
use crate::{
    audit::Auditor,
    auth::{Identity, Permission},
    error::{ApiError, NOT_FOUND},
    rate::CallerLimits,
};
use recall_domain::{AuditAction, Caller, Timestamp, ViewerRole};
use recall_ports::{Store, StoreError};
use recall_usecases::{ResourceId, UseCases};

/// One of the memories that an operation looks into: the caller's own, or shared memory. What was read from one holds on to it, so
/// that what hangs together with it is read from there too.
pub(crate) struct Memory {
    /// On whose behalf it is read.
    pub(crate) caller: Caller,
    pub(crate) load: DataLoader<Loader>,
}

impl Memory {
    pub(crate) fn is_shared(&self) -> bool {
        self.caller.is_shared()
    }
}

/// The surroundings of one operation.
pub(crate) struct Scope {
    pub(crate) caller: Caller,
    identity: Identity,
    pub(crate) usecases: UseCases,
    /// The caller's own memory.
    pub(crate) own: Arc<Memory>,
    /// Shared memory, for those who may read it.
    shared: Option<Arc<Memory>>,
    pub(crate) now: Timestamp,
    /// Everything of the caller's is being deleted: what is left would be taken for a whole.
    being_erased: bool,
    /// Reads that the loaders put off. Whoever runs the operation drives them.
    pub(crate) batches: Batches,
    /// What the answer may hold.
    pub(crate) budget: Arc<AnswerBudget>,
}

impl Scope {
    /// A scope for an operation that begins now.
    pub(crate) fn new(identity: Identity, usecases: UseCases, budget: AnswerBudget) -> Arc<Self> {
        let (caller, now, budget) = (identity.caller, usecases.now(), Arc::new(budget));
        // Without a cache: a later mutation of the same operation must not answer with what an earlier one saw.
        let batches = Batches::default();
        let memory = |caller: Caller| {
            let queue = batches.clone();
            let load =
                DataLoader::new(Loader::new(caller, usecases.clone(), budget.clone()), move |read| queue.push(read)).delay(Duration::ZERO);
            Arc::new(Memory { caller, load })
        };
        let (own, shared) = (memory(caller), caller.shared_reader().filter(|shared| !usecases.is_being_erased(shared)).map(memory));
        let being_erased = usecases.is_being_erased(&caller);
        Arc::new(Self { caller, identity, own, shared, usecases, now, being_erased, batches, budget })
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
        self.usecases.store()
    }

    /// The caller's own memory, or shared memory where that is asked for.
    ///
    /// # Errors
    /// 403 `FORBIDDEN` for visitors without an account.
    pub(crate) fn memory(&self, shared: bool) -> Result<&Arc<Memory>, ApiError> {
        if !shared {
            return Ok(&self.own);
        }
        let refused =
            || ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "Shared memory is for those who have an account. Log in first.");
        self.shared.as_ref().ok_or_else(refused)
    }

    /// In which memory something was found.
    pub(crate) fn found_in(&self, shared: bool) -> &Arc<Memory> {
        self.shared.as_ref().filter(|_| shared).unwrap_or(&self.own)
    }

    /// The one who changes shared memory.
    ///
    /// # Errors
    /// 403 for everybody but administrators whose token says so.
    pub(crate) fn shared_writer(&self) -> Result<Caller, ApiError> {
        let refused =
            || ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "Only administrators may change shared memory. Ask one of them.");
        let writer = self.caller.shared_writer().ok_or_else(refused)?;
        self.identity.require(Permission::Admin)?;
        Ok(writer)
    }

    /// What an id names, in the caller's own memory or in shared memory, with the memory that it is in.
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

    /// Reads in the caller's own memory, and in shared memory where one of some things is there and the caller's own has it not. Tells
    /// which one it was.
    pub(crate) async fn look<T, F>(&self, things: &[ResourceId], act: impl Fn(Caller) -> F) -> Result<(T, &Arc<Memory>), ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        match act(self.caller).await {
            Err(e) if e.code() == NOT_FOUND => match self.holder(things).await? {
                memory if memory.is_shared() => Ok((act(memory.caller).await?, memory)),
                _ => Err(e),
            },
            found => Ok((found?, &self.own)),
        }
    }

    /// The memory that holds one of some things: shared memory if it does, else the caller's own, whether it does or not.
    pub(crate) async fn holder(&self, things: &[ResourceId]) -> Result<&Arc<Memory>, ApiError> {
        match &self.shared {
            Some(shared) if self.usecases.holds_any(&shared.caller, things).await? => Ok(shared),
            _ => Ok(&self.own),
        }
    }

    /// Makes a change in the memory that holds one of some things, and tells which one that was. Who owns none of them and may not
    /// change shared memory is told so where shared memory holds one, since they may read it there.
    ///
    /// # Errors
    /// What the change says; 403 for a change of shared memory by others than administrators.
    pub(crate) async fn change<T, F>(&self, things: &[ResourceId], act: impl FnOnce(Caller) -> F) -> Result<(T, &Arc<Memory>), ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        // Others are asked about afterwards: their own changes cost nothing more.
        let first = self.caller.role() == ViewerRole::Admin;
        if first && self.holder(things).await?.is_shared() {
            let memory = self.memory(true)?;
            return Ok((act(self.shared_writer()?).await?, memory));
        }
        match act(self.caller).await {
            Err(e) if !first && e.code() == NOT_FOUND && self.holder(things).await?.is_shared() => {
                self.shared_writer()?;
                Err(e)
            }
            done => Ok((done?, &self.own)),
        }
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
    auditor.note_request(s.now, s.identity(), action, Some(target)).await;
    Ok(())
}

/// Writes an entry of the audit log if it was shared memory that was changed.
pub(crate) async fn note_shared(ctx: &Context<'_>, memory: &Memory, action: AuditAction, target: impl ToString) -> Result<(), ApiError> {
    if memory.is_shared() { note(ctx, action, target.to_string()).await } else { Ok(()) }
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
