//! Answers the last message of a conversation without a model server.

use recall_domain::{Caller, MessageKind, context::SearchSources};
use recall_ports::{AnswerDraft, AnswerSink, Answerer, Asked, ExtractInput, Extractor};

use super::{Conversation, Remembered, block};
use crate::{error::UseCaseError, forget_command::forget_command, use_cases::UseCases};

/// The reply to a message that only states something.
const NOTED: &str = "Noted. I will remember that.";

/// Receives parts of an answer that is sent as a whole.
struct Whole;

impl AnswerSink for Whole {
    fn delta(&self, _: &str) {}
}

impl UseCases {
    /// Answers the last message of a stored conversation with `answerer`. `extractor` finds out whether it asks something.
    ///
    /// # Errors
    /// As [`UseCases::context`], and if the answerer fails.
    pub async fn answer_conversation(
        &self,
        caller: &Caller,
        conversation: &Conversation,
        stored: &Remembered,
        answerer: &dyn Answerer,
        extractor: &dyn Extractor,
    ) -> Result<AnswerDraft, UseCaseError> {
        let text = conversation.question().cloned().unwrap_or_default();
        // Without a text, such as for an image, nothing is asked.
        let Some(question) = stored.question().filter(|_| !text.as_str().trim().is_empty()) else {
            return Ok(AnswerDraft::ungrounded(""));
        };
        if let Some(meant) = forget_command(text.as_str()) {
            return self.answer_command_at_once(caller, meant, question).await;
        }
        let input = ExtractInput { text: text.clone(), ..ExtractInput::default() };
        let kind = extractor.extract(caller, &input).await.map(|extraction| extraction.kind);
        if matches!(kind, Ok(MessageKind::Statement)) {
            return Ok(AnswerDraft::ungrounded(NOTED));
        }
        let text = block::searchable(&text);
        let asked = Asked { message: Some(question), text, original: None, at: self.now() };
        let mut draft = AnswerDraft::ungrounded("");
        for (mut asked, sources) in self.attempts(caller, asked, SearchSources::default()).await? {
            let context = self.context_of_question(caller, answerer, &mut asked, question, sources).await?;
            let answer = answerer.answer(caller, &asked, &context, &Whole).await;
            draft = answer.map_err(|error| UseCaseError::Internal { cause: error.into() })?;
            for citation in draft.quoted_mut() {
                citation.shared = context.is_shared(citation);
            }
            if draft.grounded {
                break;
            }
        }
        self.cite_documents(caller, &mut draft.citations).await?;
        Ok(draft)
    }
}
