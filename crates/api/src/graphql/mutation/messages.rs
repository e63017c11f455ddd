//! Saying things.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{MessageNode, MessageRole, MessageStatus, UserError, settle},
        page::CHANGE,
        scope::{Needs, limits, note_shared, read_id, scope},
    },
};
use recall_domain::{AuditAction, MessageId, SessionId, Timestamp};
use recall_usecases::{ResourceId, SendMessage};

/// A message to be stored and understood.
#[derive(InputObject)]
pub(crate) struct SendMessageInput {
    /// The session it belongs to.
    session_id: ID,
    /// What is said, up to 64 KiB.
    text: String,
    /// Who writes it.
    #[graphql(default_with = "Some(MessageRole::User)")]
    role: Option<MessageRole>,
    /// Who says it, when that is not the user; "I" in the text then means that person.
    speaker: Option<String>,
    /// When it was said; now when nothing is said.
    sent_at: Option<Timestamp>,
    /// Whatever the client wants to keep with it.
    source_metadata: Option<serde_json::Value>,
    /// The client's own id. A second message of the session with the same one is the first one again.
    client_message_id: Option<String>,
}

/// What came of `sendMessage`.
#[derive(SimpleObject)]
pub(crate) struct SendMessagePayload {
    /// The message as stored.
    message: Option<MessageNode>,
    /// How far it has come: its facts follow as events.
    status: Option<MessageStatus>,
    /// Why it was not stored.
    errors: Vec<UserError>,
}

/// Messages of a conversation that took place elsewhere.
#[derive(InputObject)]
pub(crate) struct ImportMessagesInput {
    /// The session they belong to.
    session_id: ID,
    /// The messages in order, up to 500. All are stored or none.
    messages: Vec<ImportedMessage>,
}

/// One message of an import.
#[derive(InputObject)]
pub(crate) struct ImportedMessage {
    /// Who wrote it.
    #[graphql(default_with = "Some(MessageRole::User)")]
    role: Option<MessageRole>,
    /// Who said it, when that is not the user.
    speaker: Option<String>,
    /// What was said, up to 64 KiB.
    text: String,
    /// When it was said; now when nothing is said.
    sent_at: Option<Timestamp>,
    /// Its id elsewhere. A second message of the session with the same one is the first one again.
    external_id: Option<String>,
}

/// What came of `importMessages`.
#[derive(SimpleObject)]
pub(crate) struct ImportMessagesPayload {
    /// The messages as stored, in the order given.
    messages: Vec<MessageNode>,
    /// Why nothing was stored.
    errors: Vec<UserError>,
}

/// The question that needs no answer any more.
#[derive(InputObject)]
pub(crate) struct CancelAnswerInput {
    /// The message that asks.
    message_id: ID,
}

/// What came of `cancelAnswer`.
#[derive(SimpleObject)]
pub(crate) struct CancelAnswerPayload {
    /// The message that asks.
    message: Option<MessageNode>,
    /// Whether there was anything to cancel. An answer that is there already stays.
    cancelled: bool,
    /// Why it was not cancelled.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct MessageMutations;

#[Object(guard = "Needs::Write")]
impl MessageMutations {
    /// Stores a message and answers at once; what it means is worked out afterwards and told by events.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn send_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The message.")] input: SendMessageInput,
    ) -> async_graphql::Result<SendMessagePayload> {
        let s = scope(ctx)?;
        limits(ctx)?.messages(s.caller, 1).await?;
        let send = async {
            let session: SessionId = read_id(&input.session_id, "input.sessionId")?;
            let message = SendMessage {
                session,
                text: input.text,
                role: input.role.unwrap_or(MessageRole::User).into(),
                speaker: input.speaker,
                sent_at: input.sent_at,
                source_metadata: input.source_metadata,
                client_message_id: input.client_message_id,
            };
            let send = |whose| async move { s.usecases.send(&whose, message).await.map_err(ApiError::from) };
            let (message, memory) = s.change(&[ResourceId::Session(session)], send).await.map_err(|e| e.at("input.sessionId"))?;
            note_shared(ctx, memory, AuditAction::SharedMessagesStored, message.id).await?;
            Ok(MessageNode(message, memory.clone()))
        };
        let (message, errors) = settle(send.await)?;
        let status = message.as_ref().map(|m| m.0.status.into());
        Ok(SendMessagePayload { message, status, errors })
    }

    /// Stores messages of a conversation that took place elsewhere, with their own times and speakers.
    #[graphql(complexity = "10 + 500 * child_complexity")]
    async fn import_messages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The messages.")] input: ImportMessagesInput,
    ) -> async_graphql::Result<ImportMessagesPayload> {
        let s = scope(ctx)?;
        limits(ctx)?.messages(s.caller, input.messages.len()).await?;
        let import = async {
            let session: SessionId = read_id(&input.session_id, "input.sessionId")?;
            let message = |m: ImportedMessage| SendMessage {
                session,
                text: m.text,
                role: m.role.unwrap_or(MessageRole::User).into(),
                speaker: m.speaker,
                sent_at: m.sent_at,
                source_metadata: None,
                client_message_id: m.external_id,
            };
            let messages = input.messages.into_iter().map(message).collect();
            let import = |whose| async move { s.usecases.import(&whose, session, messages).await.map_err(ApiError::from) };
            let (messages, memory) = s.change(&[ResourceId::Session(session)], import).await.map_err(|e| e.at("input.sessionId"))?;
            if let Some(first) = messages.first() {
                note_shared(ctx, memory, AuditAction::SharedMessagesStored, first.id).await?;
            }
            Ok(messages.into_iter().map(|m| MessageNode(m, memory.clone())).collect())
        };
        let (messages, errors) = settle::<Vec<MessageNode>>(import.await)?;
        Ok(ImportMessagesPayload { messages: messages.unwrap_or_default(), errors })
    }

    /// Ends the answering of a question, wherever it has got to; the event `answer_failed` with the code `CANCELLED` says so. What
    /// the message states is remembered all the same.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn cancel_answer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question.")] input: CancelAnswerInput,
    ) -> async_graphql::Result<CancelAnswerPayload> {
        let s = scope(ctx)?;
        let cancel = async {
            let question: MessageId = read_id(&input.message_id, "input.messageId")?;
            let cancel = |whose| async move { s.usecases.cancel_answer(&whose, question).await.map_err(ApiError::from) };
            let (done, memory) = s.change(&[ResourceId::Message(question)], cancel).await.map_err(|e| e.at("input.messageId"))?;
            let (message, cancelled) = done;
            if cancelled {
                note_shared(ctx, memory, AuditAction::SharedAnswerCancelled, question).await?;
            }
            Ok((MessageNode(message, memory.clone()), cancelled))
        };
        let (done, errors) = settle(cancel.await)?;
        let (message, cancelled) = done.map_or((None, false), |(message, cancelled)| (Some(message), cancelled));
        Ok(CancelAnswerPayload { message, cancelled, errors })
    }
}
