//! Deleting a session. A small one goes in one transaction. A large one is hidden in one, and its rows go in steps: here, after the
//! request too, and in whatever process finds that nobody is at it.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};

use super::{UseCaseError, UseCases, shared};
use recall_domain::{Caller, Evidence, Fact, SessionId, Timestamp};
use recall_facts::weigh;
use recall_ports::{SessionDeleted, SessionRemainder, StoreError};

/// Messages, and events ever recorded, of a session that is deleted in one transaction.
const AT_ONCE: u64 = 200;
const EVENTS_AT_ONCE: u64 = 2_000;
/// Rows deleted in one step. Others' writes wait for a step, not for the whole.
const STEP: u32 = 500;
/// Between two steps, and at least as long as a step took, so that whoever waits to write comes first: on other servers too, where
/// what was planned before a step is planned anew.
const BREATH: Duration = Duration::from_millis(2);
/// Longest wait of a request for what facts and entities become.
const TIMEOUT: Duration = Duration::from_secs(10);

impl UseCases {
    /// Deletes a conversation with its messages. Facts that rest on other conversations stay and are weighed anew. Of a very large one
    /// that takes longer than a request may; then what is returned went so far, and the rest goes by itself.
    ///
    /// # Errors
    /// `NotFound` when it is not the caller's.
    pub async fn delete_session(&self, caller: &Caller, id: SessionId) -> Result<SessionDeleted, UseCaseError> {
        self.delete_session_unused_since(caller, id, None).await
    }

    /// As [`Self::delete_session`]; with a moment only if nobody wrote in it since.
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
        if session.message_count <= AT_ONCE && session.head <= EVENTS_AT_ONCE {
            let _guard = self.learner.lock_user(caller).await;
            let deleted = p.store.delete_session_unused_since(caller, id, since, &self.reweigh()).await;
            let deleted = deleted.map_err(|e| UseCaseError::of(e, "session"))?;
            self.tell_deleted(caller, id);
            return Ok(deleted);
        }
        let messages = p.store.hide_session(caller, id, since, p.clock.now()).await.map_err(|e| UseCaseError::of(e, "session"))?;
        self.tell_deleted(caller, id);
        // Of its own, so that it goes on when whoever asked hangs up.
        let (progress, mut news) = watch::channel((SessionDeleted { messages, ..Default::default() }, true));
        let (this, whose) = (self.clone(), *caller);
        drop(self.background_tasks.run(async move {
            if let Err(e) = this.steps(&whose, id, &progress).await {
                tracing::warn!(error = %e, session = %id, "the deletion of a session was interrupted and will be gone on with");
            }
        }));
        // It also ends when the work does, however that went.
        let _ = tokio::time::timeout(TIMEOUT, news.wait_for(|(_, goes_on)| !goes_on)).await;
        Ok(news.borrow().0)
    }

    /// Goes on with the deletion of a hidden session until nothing is left, or the process stops.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn go_on_deleting(&self, caller: &Caller, id: SessionId) -> Result<(), UseCaseError> {
        self.steps(caller, id, &watch::channel((SessionDeleted::default(), true)).0).await
    }

    /// Says after each step what went so far, and whether more of what is known may go.
    async fn steps(&self, caller: &Caller, id: SessionId, progress: &watch::Sender<(SessionDeleted, bool)>) -> Result<(), UseCaseError> {
        let p = &self.parts;
        while !self.background_tasks.are_ending() {
            let started = Instant::now();
            let step = {
                let _guard = self.learner.lock_user(caller).await;
                p.store.delete_hidden(caller, id, p.clock.now(), STEP, &self.reweigh()).await
            };
            let step = match step {
                // Another process was faster, or everything of the user's was deleted.
                Err(StoreError::NotFound) => break,
                step => step?,
            };
            progress.send_replace((step.deleted, step.left == SessionRemainder::Knowledge));
            if step.left == SessionRemainder::Nothing {
                break;
            }
            tokio::time::sleep(BREATH.max(started.elapsed())).await;
        }
        Ok(())
    }

    fn tell_deleted(&self, caller: &Caller, id: SessionId) {
        self.parts.index.forget(caller);
        self.parts.announcer.deleted(caller, id);
    }

    /// What becomes of a fact without some of its evidence.
    fn reweigh(&self) -> impl Fn(&Fact, &[Evidence]) -> Option<Fact> + Send + Sync + use<> {
        let ontology = self.parts.ontology.clone();
        move |fact: &Fact, left: &[Evidence]| weigh::reweigh(fact, left, weigh::half_life(ontology.get(&fact.relation)))
    }
}
