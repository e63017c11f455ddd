//! Deletes all data of a user.
//!
//! The store records the deletion, which runs in steps: in a background task of this process, or in any process that finds it unfinished.

use std::time::Duration;

use super::{error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::Caller;
use recall_ports::{AccountDeletion, StoreError};

/// Rows deleted in one step. Other writers wait for a step, not for the whole deletion.
const STEP: u32 = 1_000;
/// Pause between two steps, so that waiting writers proceed.
const STEP_PAUSE: Duration = Duration::from_millis(2);
/// Longest wait of a request; the rest continues in the background.
const TIMEOUT: Duration = Duration::from_secs(10);

impl UseCases {
    /// Deletes all data of the caller; `None` if there never was any.
    ///
    /// The receipt of a large deletion may be unfinished. A repeated call waits for the same deletion.
    ///
    /// # Errors
    /// Fails if the store fails; a deletion already begun is resumed later.
    pub async fn erase_everything(&self, caller: &Caller) -> Result<Option<AccountDeletion>, UseCaseError> {
        shared::may_write(caller)?;
        let p = &self.parts;
        match p.store.begin_erasure(caller, p.clock.now()).await {
            Err(StoreError::NotFound) => return Ok(None),
            begun => begun?,
        };
        let _mark = self.being_erased.mark(caller.user());
        p.index.forget(caller);
        // A task of its own, so that it continues if the client disconnects.
        let (this, whose) = (self.clone(), *caller);
        let work = self.background_tasks.run(async move { this.resume_account_deletion(&whose).await });
        match tokio::time::timeout(TIMEOUT, work).await {
            Ok(Ok(Some(done))) => done.map(Some),
            Ok(Err(panicked)) => Err(UseCaseError::Internal { cause: panicked.into() }),
            Ok(Ok(None)) | Err(_) => Ok(p.store.erasure(caller).await?),
        }
    }

    /// Runs steps until nothing is left or the process stops. Another process then resumes.
    ///
    /// # Errors
    /// Fails if the store fails, or if no deletion was begun.
    pub async fn resume_account_deletion(&self, caller: &Caller) -> Result<AccountDeletion, UseCaseError> {
        let p = &self.parts;
        let _mark = self.being_erased.mark(caller.user());
        loop {
            let step = p.store.erase(caller, p.clock.now(), STEP).await?;
            for session in step.sessions {
                p.announcer.deleted(caller, session);
            }
            if step.erasure.ended_at.is_some() {
                p.index.forget(caller);
                self.being_erased.has_ended(caller.user());
                return Ok(step.erasure);
            }
            if self.background_tasks.are_ending() {
                return Ok(step.erasure);
            }
            tokio::time::sleep(STEP_PAUSE).await;
        }
    }

    /// Returns the latest deletion of all data of the caller.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn account_deletion(&self, caller: &Caller) -> Result<Option<AccountDeletion>, UseCaseError> {
        Ok(self.parts.store.erasure(caller).await?)
    }

    /// Whether all data of the caller is being deleted.
    ///
    /// Deletions begun by other processes are known since the last [`Self::look_for_erasures`].
    pub fn is_being_erased(&self, caller: &Caller) -> bool {
        self.being_erased.contains(caller.user())
    }

    /// Loads the deletions begun by other processes or by an earlier one.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn look_for_erasures(&self) -> Result<(), UseCaseError> {
        let p = &self.parts;
        let all = p.store.unfinished_erasures(p.clock.now() + chrono::TimeDelta::days(1)).await?;
        self.being_erased.set_elsewhere(all.iter().map(Caller::user).collect());
        Ok(())
    }
}
