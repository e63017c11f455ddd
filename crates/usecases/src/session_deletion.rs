//! Deletes a session.
//!
//! A small session is deleted in one transaction. A large one is hidden in one, and its rows are deleted in steps: in a background task of
//! this process, or in any process that finds it unfinished.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};

use super::{error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{Caller, Evidence, Fact, SessionId, Timestamp};
use recall_facts::weigh;
use recall_ports::{SessionDeleted, SessionRemainder, StoreError};

/// Most messages, and most recorded events, of a session that is deleted in one transaction.
const AT_ONCE: u64 = 200;
const EVENTS_AT_ONCE: u64 = 2_000;
/// Rows deleted in one step. Other writers wait for a step, not for the whole deletion.
const STEP: u32 = 500;
/// Least pause between two steps; a pause is at least as long as the step.
///
/// So waiting writers proceed, also on other servers, where plans made before a step are stale and must be made again.
const STEP_PAUSE: Duration = Duration::from_millis(2);
/// Longest wait of a request for the changes of facts and entities.
const TIMEOUT: Duration = Duration::from_secs(10);

impl UseCases {
    /// Deletes a session with its messages. Facts with evidence in other sessions stay and are re-weighed.
    ///
    /// The deletion of a very large session may outlast the request. The result then counts the rows so far, and the rest continues.
    ///
    /// # Errors
    /// `NotFound` when it is not the caller's.
    pub async fn delete_session(&self, caller: &Caller, id: SessionId) -> Result<SessionDeleted, UseCaseError> {
        self.delete_session_unused_since(caller, id, None).await
    }

    /// Deletes a session as [`Self::delete_session`] does; with `since`, only if nobody wrote in it after that moment.
    ///
    /// # Errors
    /// `NotFound` when it is not the caller's, or was used.
    pub async fn delete_session_unused_since(
        &self,
        caller: &Caller,
        id: SessionId,
        since: Option<Timestamp>,
    ) -> Result<SessionDeleted, UseCaseError> {
        shared::may_write(caller)?;
        let p = &self.parts;
        let session = self.session(caller, id).await?;
        self.delete_comparisons_of(caller, id).await?;
        if session.message_count <= AT_ONCE && session.head <= EVENTS_AT_ONCE {
            let _guard = self.learner.lock_user(caller).await;
            let deleted = p.store.delete_session_unused_since(caller, id, since, p.clock.now(), &self.reweigh()).await;
            let deleted = deleted.map_err(|e| UseCaseError::of(e, "session"))?;
            self.tell_deleted(caller, id);
            return Ok(deleted);
        }
        let messages = p.store.hide_session(caller, id, since, p.clock.now()).await.map_err(|e| UseCaseError::of(e, "session"))?;
        self.tell_deleted(caller, id);
        // A task of its own, so that it continues if the client disconnects.
        let (progress, mut news) = watch::channel((SessionDeleted { messages, ..Default::default() }, true));
        let (this, whose) = (self.clone(), *caller);
        drop(self.background_tasks.run(async move {
            if let Err(e) = this.steps(&whose, id, &progress).await {
                tracing::warn!(error = %e, session = %id, "the deletion of a session was interrupted and will be resumed");
            }
        }));
        // The wait also ends when the task ends, whatever its outcome.
        let _ = tokio::time::timeout(TIMEOUT, news.wait_for(|(_, goes_on)| !goes_on)).await;
        Ok(news.borrow().0)
    }

    /// Resumes the deletion of a hidden session until nothing is left or the process stops.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn resume_session_deletion(&self, caller: &Caller, id: SessionId) -> Result<(), UseCaseError> {
        self.steps(caller, id, &watch::channel((SessionDeleted::default(), true)).0).await
    }

    /// Runs the steps. After each one it reports the deleted rows, and whether facts or entities may still change.
    async fn steps(&self, caller: &Caller, id: SessionId, progress: &watch::Sender<(SessionDeleted, bool)>) -> Result<(), UseCaseError> {
        let p = &self.parts;
        while !self.background_tasks.are_ending() {
            let started = Instant::now();
            let step = {
                let _guard = self.learner.lock_user(caller).await;
                p.store.delete_hidden(caller, id, p.clock.now(), STEP, &self.reweigh()).await
            };
            let step = match step {
                // Another process finished it, or all data of the user was deleted.
                Err(StoreError::NotFound) => break,
                step => step?,
            };
            progress.send_replace((step.deleted, step.left == SessionRemainder::Knowledge));
            if step.left == SessionRemainder::Nothing {
                p.announcer.deleted(caller, id);
                break;
            }
            tokio::time::sleep(STEP_PAUSE.max(started.elapsed())).await;
        }
        Ok(())
    }

    fn tell_deleted(&self, caller: &Caller, id: SessionId) {
        self.parts.index.forget(caller);
        self.parts.announcer.deleted(caller, id);
    }

    /// Returns the function that re-weighs a fact from its remaining evidence.
    fn reweigh(&self) -> impl Fn(&Fact, &[Evidence]) -> Option<Fact> + Send + Sync + use<> {
        let ontology = self.parts.ontology.clone();
        move |fact: &Fact, left: &[Evidence]| weigh::reweigh(fact, left, recall_domain::belief::half_life(ontology.get(&fact.relation)))
    }
}
