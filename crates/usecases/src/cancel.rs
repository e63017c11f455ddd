//! Cancels answers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::{UseCaseError, UseCases, shared};
use recall_domain::{Caller, EventBody, EventDraft, EventId, Message, MessageId, UserId, event::AnswerFailed};

/// The code of `answer_failed` after a cancellation.
pub const CANCELLED: &str = "CANCELLED";

impl UseCases {
    /// Cancels the answer to a question at any stage. Returns whether there was anything to cancel.
    ///
    /// A finished answer stays, and so do facts that the message states.
    ///
    /// # Errors
    /// `NotFound` if the message is not the caller's.
    pub async fn cancel_answer(&self, caller: &Caller, question: MessageId) -> Result<(Message, bool), UseCaseError> {
        shared::may_write(caller)?;
        let found = self.parts.store.messages_by_id(caller, &[question]).await?;
        let message = found.into_iter().next().ok_or(UseCaseError::NotFound { noun: "message" })?;
        let body = EventBody::AnswerFailed(AnswerFailed {
            session_id: message.session,
            message_id: question,
            code: CANCELLED.to_owned(),
            message: "The answer was cancelled.".to_owned(),
        });
        let event = EventDraft { id: EventId(self.parts.ids.fresh()), body };
        let ended = self.parts.store.cancel_answer(caller, question, &event, self.parts.clock.now()).await?;
        if ended {
            // This stops the work in this process at once. A worker of another process loses its claim.
            self.answering.cancel(caller.user(), question);
            self.parts.announcer.committed(caller, message.session);
            self.parts.wake.notify_one();
            metrics::counter!("recall_answers_cancelled_total").increment(1);
        }
        Ok((message, ended))
    }
}

/// The answers in progress in this process.
#[derive(Default)]
pub(super) struct Answering(Mutex<HashMap<(UserId, MessageId), CancellationToken>>);

impl Answering {
    /// Registers an answer until the returned guard is dropped.
    pub(super) fn begin(self: &Arc<Self>, user: UserId, question: MessageId) -> AnswerGuard {
        let token = CancellationToken::new();
        self.lock().insert((user, question), token.clone());
        AnswerGuard { all: self.clone(), key: (user, question), token }
    }

    fn cancel(&self, user: UserId, question: MessageId) {
        if let Some(token) = self.lock().get(&(user, question)) {
            token.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(UserId, MessageId), CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One answer in progress.
pub(super) struct AnswerGuard {
    all: Arc<Answering>,
    key: (UserId, MessageId),
    token: CancellationToken,
}

impl AnswerGuard {
    /// Completes when the answer is cancelled.
    pub(super) async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}
