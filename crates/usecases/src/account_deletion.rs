//! Deleting everything of a user. It is begun in the store and goes on there in steps: here, after the request too, and in
//! whatever process finds it unfinished.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{UseCaseError, UseCases, shared};
use recall_domain::{Caller, UserId};
use recall_ports::{AccountDeletion, StoreError};

/// Rows deleted in one step. Others' writes wait for a step, not for the whole.
const STEP: u32 = 1_000;
/// Between two steps, so that whoever waits to write comes first.
const BREATH: Duration = Duration::from_millis(2);
/// Longest wait of a request; what is not done by then goes on without it.
const TIMEOUT: Duration = Duration::from_secs(10);

impl UseCases {
    /// Deletes everything of the caller's. The receipt of a large account may have no end yet: calling again waits on for the same.
    /// `None` when there never was anything.
    ///
    /// # Errors
    /// When the store fails; what was begun goes on later all the same.
    pub async fn erase_everything(&self, caller: &Caller) -> Result<Option<AccountDeletion>, UseCaseError> {
        shared::may_write(caller)?;
        let p = &self.parts;
        match p.store.begin_erasure(caller, p.clock.now()).await {
            Err(StoreError::NotFound) => return Ok(None),
            begun => begun?,
        };
        let _mark = self.being_erased.mark(caller.user());
        p.index.forget(caller);
        // Of its own, so that it goes on when whoever asked hangs up.
        let (this, whose) = (self.clone(), *caller);
        let work = self.background_tasks.run(async move { this.go_on_erasing(&whose).await });
        match tokio::time::timeout(TIMEOUT, work).await {
            Ok(Ok(Some(done))) => done.map(Some),
            Ok(Err(panicked)) => Err(UseCaseError::Internal { cause: panicked.into() }),
            Ok(Ok(None)) | Err(_) => Ok(p.store.erasure(caller).await?),
        }
    }

    /// Makes steps until nothing is left, or the process stops; then another goes on.
    ///
    /// # Errors
    /// When the store fails, or no erasure was begun.
    pub async fn go_on_erasing(&self, caller: &Caller) -> Result<AccountDeletion, UseCaseError> {
        let p = &self.parts;
        let _mark = self.being_erased.mark(caller.user());
        loop {
            let step = p.store.erase(caller, p.clock.now(), STEP).await?;
            for session in step.sessions {
                p.announcer.deleted(caller, session);
            }
            if step.erasure.ended_at.is_some() {
                p.index.forget(caller);
                lock(&self.being_erased.elsewhere).remove(&caller.user());
                return Ok(step.erasure);
            }
            if self.background_tasks.are_ending() {
                return Ok(step.erasure);
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    /// Whether everything of the caller's is being deleted. What other processes began is known since the last
    /// [`Self::look_for_erasures`].
    pub fn is_being_erased(&self, caller: &Caller) -> bool {
        let erased = &self.being_erased;
        lock(&erased.here).contains_key(&caller.user()) || lock(&erased.elsewhere).contains(&caller.user())
    }

    /// Looks for erasures that other processes began, or one before.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn look_for_erasures(&self) -> Result<(), UseCaseError> {
        let p = &self.parts;
        let all = p.store.unfinished_erasures(p.clock.now() + chrono::TimeDelta::days(1)).await?;
        *lock(&self.being_erased.elsewhere) = all.iter().map(Caller::user).collect();
        Ok(())
    }
}

/// Whose data is being deleted, so that nobody is shown half of it.
#[derive(Default)]
pub(super) struct BeingErased {
    /// By this process, and how often that was begun.
    here: Mutex<HashMap<UserId, usize>>,
    elsewhere: Mutex<HashSet<UserId>>,
}

impl BeingErased {
    fn mark(self: &Arc<Self>, user: UserId) -> Mark {
        *lock(&self.here).entry(user).or_default() += 1;
        Mark { erased: self.clone(), user }
    }
}

/// An erasure that this process works on.
struct Mark {
    erased: Arc<BeingErased>,
    user: UserId,
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut here = lock(&self.erased.here);
        if let Some(count) = here.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                here.remove(&self.user);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
