//! Mutations that forget facts and messages, and undo that.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::{ApiError, NOT_FOUND},
    graphql::{
        model::{FactNode, MessageNode, UserError, split_user_errors},
        page::{self, CHANGE, SEARCH, list_cost},
        scope::{Memory, Needs, audit, read_id, scope},
        time_input::{TimeInput, read_time},
    },
};
use recall_domain::{AuditAction, MessageId, Timestamp};
use recall_ports::MessageRange;
use recall_usecases::{ForgetRequest, Forgotten, ResourceId};

/// What to forget. `query`, `factIds`, `messageIds` and `entityIds` add up. `sessionId`, `after` and `before` name all messages in that session and
/// time, or narrow the rest to those messages.
#[derive(InputObject)]
pub(crate) struct ForgetInput {
    /// Words that name it, such as "everything about Oakwood" or "that I have a dog". They are looked up in the viewer's own memory.
    query: Option<String>,
    /// Ids of facts, at most 1,000.
    fact_ids: Option<Vec<ID>>,
    /// Ids of messages, at most 1,000. They vanish, whatever they state.
    message_ids: Option<Vec<ID>>,
    /// Ids of entities, at most 1,000: everything about them.
    entity_ids: Option<Vec<ID>>,
    /// Only messages of this session. The session stays; `deleteSession` deletes it.
    session_id: Option<ID>,
    /// Only messages that were said at this time or later.
    after: Option<TimeInput>,
    /// Only messages that were said before this time.
    before: Option<TimeInput>,
    /// Whether to change nothing and only return what would be forgotten.
    #[graphql(default = true)]
    dry_run: bool,
}

/// The forgetting to undo.
#[derive(InputObject)]
pub(crate) struct UndoForgetInput {
    /// The `token` of the forgetting.
    token: String,
}

/// The message to delete.
#[derive(InputObject)]
pub(crate) struct DeleteMessageInput {
    /// The id of the message.
    message_id: ID,
}

/// The result of `deleteMessage`.
#[derive(SimpleObject)]
pub(crate) struct DeleteMessagePayload {
    /// The id of the deleted message.
    deleted_id: Option<ID>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// What a forgetting found, and the memory that it is about.
pub(crate) struct ForgetPayload {
    found: Option<(Forgotten, Arc<Memory>)>,
    errors: Vec<UserError>,
}

/// The result of `forget` and `undoForget`.
#[Object]
impl ForgetPayload {
    /// The facts that are forgotten, would be forgotten, or were restored.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn facts(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<FactNode>> {
        let first = page::list_size(first)?;
        let nodes = self.found.iter().flat_map(|(f, memory)| f.facts.iter().map(|fact| FactNode(fact.clone().into(), memory.clone())));
        Ok(nodes.take(first).collect())
    }

    /// The messages that vanish or lose their text, as they were before, or that were restored.
    #[graphql(complexity = "list_cost(first, child_complexity)", guard = "Needs::Read")]
    async fn messages(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<MessageNode>> {
        let first = page::list_size(first)?;
        let nodes = self.found.iter().flat_map(|(f, memory)| f.messages.iter().map(|m| MessageNode(m.clone(), memory.clone())));
        Ok(nodes.take(first).collect())
    }

    /// The number of these facts.
    async fn fact_count(&self) -> usize {
        self.found.as_ref().map_or(0, |(f, _)| f.facts.len())
    }

    /// The number of these messages.
    async fn message_count(&self) -> usize {
        self.found.as_ref().map_or(0, |(f, _)| f.messages.len())
    }

    /// Undoes the forgetting, for ten minutes by default. Null in a dry run, and if nothing was found.
    async fn token(&self) -> Option<&str> {
        self.found.as_ref().and_then(|(f, _)| f.token.as_deref())
    }

    /// Until when the token undoes the forgetting. Null if there is no token.
    async fn undo_until(&self) -> Option<Timestamp> {
        self.found.as_ref().and_then(|(f, _)| f.undo_until)
    }

    /// Errors that the client can correct; empty on success.
    async fn errors(&self) -> &[UserError] {
        &self.errors
    }
}

#[derive(Default)]
pub(super) struct ForgetMutations;

#[Object(guard = "Needs::Write")]
impl ForgetMutations {
    /// Forgets facts and the messages that state them. At once they are in no list, search, context or answer; they can be restored with
    /// `undoForget` for a while, and are deleted for good after that. A message that also states other facts stays as their evidence,
    /// without its text. By default, nothing is changed, and the result shows what would be forgotten.
    #[graphql(complexity = "CHANGE + SEARCH + child_complexity")]
    async fn forget(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to forget.")] input: ForgetInput,
    ) -> async_graphql::Result<ForgetPayload> {
        let s = scope(ctx)?;
        let forget = async {
            let facts = read_ids(input.fact_ids, "input.factIds")?;
            let messages = read_ids(input.message_ids, "input.messageIds")?;
            let entities = read_ids(input.entity_ids, "input.entityIds")?;
            let session = input.session_id.map(|id| read_id(&id, "input.sessionId")).transpose()?;
            let (after, before) = (read_time(input.after, "input.after")?, read_time(input.before, "input.before")?);
            let range = MessageRange { session, after, before };
            let request = ForgetRequest { query: input.query, facts, messages, entities, range, dry_run: input.dry_run };
            let (things, path) = (request.ids(), request.first_input());
            let request = &request;
            let forget = |caller| async move { s.usecases.forget(&caller, request.clone()).await.map_err(ApiError::from) };
            let (found, memory) = s.change(&things, forget).await.map_err(|e| e.at(path).within("input"))?;
            if found.token.is_some() {
                audit(ctx, AuditAction::MemoryForgotten, found.counts()).await?;
            }
            Ok((found, s.with_forgotten(memory)))
        };
        let (found, errors) = split_user_errors(forget.await)?;
        Ok(ForgetPayload { found, errors })
    }

    /// Restores what was forgotten, as long as the token is valid.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn undo_forget(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The forgetting.")] input: UndoForgetInput,
    ) -> async_graphql::Result<ForgetPayload> {
        let s = scope(ctx)?;
        let undo = async {
            let (mut found, mut memory) = (s.usecases.undo_forget(&s.caller, &input.token).await.map_err(ApiError::from), s.memory(false)?);
            // A token does not say whose memory it is about.
            if let (Err(e), Ok(shared)) = (&found, s.shared_writer())
                && e.code() == NOT_FOUND
            {
                (found, memory) = (s.usecases.undo_forget(&shared, &input.token).await.map_err(ApiError::from), s.memory(true)?);
            }
            let found = found.map_err(|e| e.at("input.token"))?;
            audit(ctx, AuditAction::MemoryRestored, found.counts()).await?;
            Ok((found, memory.clone()))
        };
        let (found, errors) = split_user_errors(undo.await)?;
        Ok(ForgetPayload { found, errors })
    }

    /// Deletes a message for good. Its facts are re-weighed, or deleted if no other message states them. Answers that cite it are deleted,
    /// too.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn delete_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The message.")] input: DeleteMessageInput,
    ) -> async_graphql::Result<DeleteMessagePayload> {
        let s = scope(ctx)?;
        let delete = async {
            let id: MessageId = read_id(&input.message_id, "input.messageId")?;
            let delete = |caller| async move { s.usecases.delete_message(&caller, id).await.map_err(ApiError::from) };
            s.change(&[ResourceId::Message(id)], delete).await.map_err(|e| e.at("input.messageId"))?;
            audit(ctx, AuditAction::MessageDeleted, id.to_string()).await?;
            Ok(ID::from(id))
        };
        let (deleted_id, errors) = split_user_errors(delete.await)?;
        Ok(DeleteMessagePayload { deleted_id, errors })
    }
}

fn read_ids<T: std::str::FromStr>(ids: Option<Vec<ID>>, path: &str) -> Result<Vec<T>, ApiError> {
    ids.unwrap_or_default().iter().map(|id| read_id(id, path)).collect()
}
