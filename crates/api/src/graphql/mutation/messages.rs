//! Mutations that send and import messages and cancel answers.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{MessageNode, MessageRole, MessageStatus, SearchSource, UserError, split_user_errors},
        page::CHANGE,
        scope::{Needs, audit_shared_change, limits, read_id, scope},
        sources::{at_document, read_sources},
        time_input::{TimeInput, read_time},
    },
};
use recall_domain::{AuditAction, MessageId, SessionId, context::SearchSources};
use recall_usecases::{ResourceId, SendMessage};

/// A message to store and process.
#[derive(InputObject)]
pub(crate) struct SendMessageInput {
    /// The id of the session.
    session_id: ID,
    /// The text, up to 64 KiB.
    text: String,
    /// Whether the user or the assistant wrote it.
    #[graphql(default_with = "Some(MessageRole::User)")]
    role: Option<MessageRole>,
    /// The speaker, if it is not the user. "I" in the text then means the speaker.
    speaker: Option<String>,
    /// When it was said. Default: now.
    sent_at: Option<TimeInput>,
    /// JSON to store with the message.
    source_metadata: Option<serde_json::Value>,
    /// The client's own id. Sending the same id again in a session returns the first message.
    client_message_id: Option<String>,
    /// What the answer may use. Default: messages and documents. A message that is limited to documents is a question whatever its words are, and nothing is
    /// learned from it.
    sources: Option<Vec<SearchSource>>,
    /// The answer may use only documents of these collections, at most 100. Default: of all.
    collections: Option<Vec<String>>,
    /// The answer may use only these documents, at most 100, whatever their version. Default: all current ones.
    document_ids: Option<Vec<ID>>,
}

/// The result of `sendMessage`.
#[derive(SimpleObject)]
pub(crate) struct SendMessagePayload {
    /// The message as stored.
    message: Option<MessageNode>,
    /// The processing state. Facts follow as events.
    status: Option<MessageStatus>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// Messages of a conversation that took place elsewhere.
#[derive(InputObject)]
pub(crate) struct ImportMessagesInput {
    /// The id of the session.
    session_id: ID,
    /// The messages in order, up to 500. Either all are stored or none.
    messages: Vec<ImportedMessage>,
}

/// One message of an import.
#[derive(InputObject)]
pub(crate) struct ImportedMessage {
    /// Whether the user or the assistant wrote it.
    #[graphql(default_with = "Some(MessageRole::User)")]
    role: Option<MessageRole>,
    /// The speaker, if it is not the user.
    speaker: Option<String>,
    /// The text, up to 64 KiB.
    text: String,
    /// When it was said. Default: now.
    sent_at: Option<TimeInput>,
    /// The id in the source system. Importing the same id again into a session returns the first message.
    external_id: Option<String>,
}

impl ImportedMessage {
    /// Reads the message at a position of an import.
    fn read(self, session: SessionId, position: usize) -> Result<SendMessage, ApiError> {
        Ok(SendMessage {
            session,
            text: self.text,
            role: self.role.unwrap_or(MessageRole::User).into(),
            speaker: self.speaker,
            sent_at: read_time(self.sent_at, &format!("input.messages.{position}.sentAt"))?,
            source_metadata: None,
            client_message_id: self.external_id,
            resources: Vec::new(),
            answer_from: SearchSources::default(),
        })
    }
}

/// The result of `importMessages`.
#[derive(SimpleObject)]
pub(crate) struct ImportMessagesPayload {
    /// The stored messages, in the order given.
    messages: Vec<MessageNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The question whose answer is to be cancelled.
#[derive(InputObject)]
pub(crate) struct CancelAnswerInput {
    /// The message that asks the question.
    message_id: ID,
}

/// The result of `cancelAnswer`.
#[derive(SimpleObject)]
pub(crate) struct CancelAnswerPayload {
    /// The message that asks the question.
    message: Option<MessageNode>,
    /// Whether an answer was cancelled. A finished answer stays.
    cancelled: bool,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct MessageMutations;

#[Object(guard = "Needs::Write")]
impl MessageMutations {
    /// Stores a message and returns at once. The server then processes it and reports the results as events.
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
                sent_at: read_time(input.sent_at, "input.sentAt")?,
                source_metadata: input.source_metadata,
                client_message_id: input.client_message_id,
                resources: Vec::new(),
                answer_from: read_sources(input.sources, input.collections, input.document_ids)?,
            };
            let message = &message;
            let send =
                |caller| async move { s.usecases.send(&caller, message.clone()).await.map_err(|e| at_document(e, "input.documentIds")) };
            let (message, memory) = s.change(&[ResourceId::Session(session)], send).await.map_err(|e| e.at("input.sessionId"))?;
            audit_shared_change(ctx, memory, AuditAction::SharedMessagesStored, message.id).await?;
            Ok(MessageNode(message, memory.clone()))
        };
        let (message, errors) = split_user_errors(send.await)?;
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
            let messages = input.messages.into_iter().enumerate().map(|(n, message)| message.read(session, n));
            let messages = &messages.collect::<Result<Vec<_>, _>>()?;
            let import = |caller| async move {
                let stored = s.usecases.import(&caller, session, messages.clone()).await;
                stored.map_err(|e| ApiError::from(e).renamed(&[("clientMessageId", "externalId")]))
            };
            let (messages, memory) = s.change(&[ResourceId::Session(session)], import).await.map_err(|e| e.at("input.sessionId"))?;
            if let Some(first) = messages.first() {
                audit_shared_change(ctx, memory, AuditAction::SharedMessagesStored, first.id).await?;
            }
            Ok(messages.into_iter().map(|m| MessageNode(m, memory.clone())).collect())
        };
        let (messages, errors) = split_user_errors::<Vec<MessageNode>>(import.await)?;
        Ok(ImportMessagesPayload { messages: messages.unwrap_or_default(), errors })
    }

    /// Cancels the answer to a question, at any stage. Followers get `answer_failed` with the code `CANCELLED`. Facts from the
    /// message are kept.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn cancel_answer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question.")] input: CancelAnswerInput,
    ) -> async_graphql::Result<CancelAnswerPayload> {
        let s = scope(ctx)?;
        let cancel = async {
            let question: MessageId = read_id(&input.message_id, "input.messageId")?;
            let cancel = |caller| async move { s.usecases.cancel_answer(&caller, question).await.map_err(ApiError::from) };
            let (done, memory) = s.change(&[ResourceId::Message(question)], cancel).await.map_err(|e| e.at("input.messageId"))?;
            let (message, cancelled) = done;
            if cancelled {
                audit_shared_change(ctx, memory, AuditAction::SharedAnswerCancelled, question).await?;
            }
            Ok((MessageNode(message, memory.clone()), cancelled))
        };
        let (done, errors) = split_user_errors(cancel.await)?;
        let (message, cancelled) = done.map_or((None, false), |(message, cancelled)| (Some(message), cancelled));
        Ok(CancelAnswerPayload { message, cancelled, errors })
    }
}
