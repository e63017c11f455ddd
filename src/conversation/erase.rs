//! Deleting everything of a user. It is begun in the store and goes on there in steps: here, after the request too, and in
//! whatever process finds it unfinished.

use std::time::Duration;

use super::{Conversation, UseCaseError, shared};
use crate::domain::Caller;
use crate::ports::{Erasure, StoreError};

/// Rows deleted in one step. Others' writes wait for a step, not for the whole.
const STEP: u32 = 1_000;
/// Between two steps, so that whoever waits to write comes first.
const BREATH: Duration = Duration::from_millis(2);
/// Longest wait of a request; what is not done by then goes on without it.
const PATIENCE: Duration = Duration::from_secs(10);

impl Conversation {
    /// Deletes everything of the caller's. The receipt of a large account may have no end yet: calling again waits on for the same.
    /// `None` when there never was anything.
    ///
    /// # Errors
    /// When the store fails; what was begun goes on later all the same.
    pub async fn erase_everything(&self, caller: &Caller) -> Result<Option<Erasure>, UseCaseError> {
        shared::may_write(caller)?;
        let p = &self.parts;
        match p.store.begin_erasure(caller, p.clock.now()).await {
            Err(StoreError::NotFound) => return Ok(None),
            begun => begun?,
        };
        p.index.forget(caller);
        // Of its own, so that it goes on when whoever asked hangs up.
        let (this, whose) = (self.clone(), *caller);
        let work = tokio::spawn(async move { this.go_on_erasing(&whose).await });
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(Ok(done)) => done.map(Some),
            Ok(Err(panicked)) => Err(UseCaseError::Internal { cause: panicked.into() }),
            Err(_) => Ok(p.store.erasure(caller).await?),
        }
    }

    /// Makes steps until nothing is left.
    ///
    /// # Errors
    /// When the store fails, or no erasure was begun.
    pub async fn go_on_erasing(&self, caller: &Caller) -> Result<Erasure, UseCaseError> {
        let p = &self.parts;
        loop {
            let step = p.store.erase(caller, p.clock.now(), STEP).await?;
            for session in step.sessions {
                p.announcer.deleted(caller, session);
            }
            if step.erasure.ended_at.is_some() {
                p.index.forget(caller);
                return Ok(step.erasure);
            }
            tokio::time::sleep(BREATH).await;
        }
    }
}
