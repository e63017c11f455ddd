//! Commits a plan that a test has made, as the work of a claimed job.

use std::sync::Arc;

use async_trait::async_trait;
use recall_domain::{Caller, EventId, Fact, MessageId, SessionId};
use recall_ports::{CommitError, Job, JobWork, KnowledgeCommit, KnowledgeReads, KnowledgeStore, MessagePlanner, StoreError};
use uuid::Uuid;

/// A plan that does not depend on what is known.
pub(crate) struct Planned {
    pub(crate) message: MessageId,
    pub(crate) plan: KnowledgeCommit,
}

#[async_trait]
impl MessagePlanner for Planned {
    fn session(&self) -> SessionId {
        self.plan.session
    }

    fn message(&self) -> MessageId {
        self.message
    }

    /// Only documents have progress.
    fn chunk_event(&self) -> Option<EventId> {
        Some(EventId(Uuid::new_v5(&self.message.0, b"progress")))
    }

    async fn plan(&self, _known: &mut dyn KnowledgeReads) -> Result<KnowledgeCommit, StoreError> {
        Ok(self.plan.clone())
    }
}

/// The message that a job is about.
pub(crate) fn message_of(job: &Job) -> MessageId {
    match job.work {
        JobWork::Understand { message, .. } | JobWork::Answer(message) | JobWork::Parse(message) | JobWork::Compare(message) => message,
    }
}

/// Commits plans as the work of jobs.
#[async_trait]
pub(crate) trait Finish {
    /// Commits a plan and the end of a job. Returns the changed facts.
    async fn finish(&self, caller: &Caller, plan: &KnowledgeCommit, job: &Job) -> Result<Vec<Fact>, CommitError>;
}

#[async_trait]
impl<S: KnowledgeStore + ?Sized> Finish for S {
    async fn finish(&self, caller: &Caller, plan: &KnowledgeCommit, job: &Job) -> Result<Vec<Fact>, CommitError> {
        let planned = Arc::new(Planned { message: message_of(job), plan: plan.clone() });
        Ok(self.learn(caller, &[planned], Some(&job.claim)).await?.remove(0))
    }
}
