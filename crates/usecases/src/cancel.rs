//! Cancels answers.

use super::{error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{Caller, EventBody, EventDraft, EventId, Message, MessageId, event::AnswerFailed};

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
            self.parts.wake.notify_one();
            metrics::counter!("recall_answers_cancelled_total").increment(1);
        }
        Ok((message, ended))
    }
}
