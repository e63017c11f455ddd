//! Mutations that create, update and delete sessions.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{SessionNode, UserError, split_user_errors},
        page::CHANGE,
        scope::{Needs, audit_change, audit_shared_change, read_id, scope},
    },
};
use recall_domain::{AuditAction, SessionId, UserText};
use recall_ports::{SessionDeleted, SessionUpdate};
use recall_usecases::ResourceId;

/// A new session.
#[derive(InputObject)]
pub(crate) struct CreateSessionInput {
    /// The title. Default: taken from the first message.
    title: Option<String>,
    /// Whether to create it in shared memory, which all signed-in users can read. Requires the role `ADMIN`.
    #[graphql(default)]
    shared: bool,
}

/// The result of `createSession`.
#[derive(SimpleObject)]
pub(crate) struct CreateSessionPayload {
    /// The new session.
    session: Option<SessionNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// What to change in a session. Absent values stay.
#[derive(InputObject)]
pub(crate) struct UpdateSessionInput {
    /// The id of the session.
    session_id: ID,
    /// The new title.
    title: Option<String>,
    /// Whether the user wants it above the others.
    pinned: Option<bool>,
    /// Whether the user puts it away.
    archived: Option<bool>,
    /// Whether remembering is paused in it, from the next message on.
    paused: Option<bool>,
}

impl UpdateSessionInput {
    fn read(self) -> Result<(SessionId, SessionUpdate), ApiError> {
        let Self { session_id, title, pinned, archived, paused } = self;
        let update = SessionUpdate { title: title.map(UserText::from), pinned, archived, paused };
        Ok((read_id(&session_id, "input.sessionId")?, update))
    }
}

/// The result of `updateSession`.
#[derive(SimpleObject)]
pub(crate) struct UpdateSessionPayload {
    /// The session after the change.
    session: Option<SessionNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The session to delete.
#[derive(InputObject)]
pub(crate) struct DeleteSessionInput {
    /// The id of the session.
    id: ID,
}

/// The result of `deleteSession`.
#[derive(SimpleObject)]
pub(crate) struct DeleteSessionPayload {
    /// The id of the deleted session.
    deleted_id: Option<ID>,
    /// What was deleted. A very large session may take longer than ten seconds: the receipt then covers what was deleted so far, and the
    /// rest follows in the background.
    receipt: Option<SessionReceipt>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// What was deleted with a session. Events and jobs are not counted.
#[derive(SimpleObject)]
pub(crate) struct SessionReceipt {
    /// The number of deleted messages.
    messages: u64,
    /// The number of deleted facts, which had evidence only in this session.
    facts_deleted: u64,
    /// The number of facts that have other evidence and were re-weighed.
    facts_reweighed: u64,
    /// The number of deleted entities, which nothing else mentions.
    entities_deleted: u64,
}

impl From<SessionDeleted> for SessionReceipt {
    fn from(deleted: SessionDeleted) -> Self {
        let SessionDeleted { messages, facts_deleted, facts_reweighed, entities_deleted } = deleted;
        Self { messages, facts_deleted, facts_reweighed, entities_deleted }
    }
}

/// What the audit log says of the flags that an update sets, in own and in shared memory.
fn flag_actions(update: &SessionUpdate) -> impl Iterator<Item = [AuditAction; 2]> {
    use AuditAction as A;
    [
        (update.pinned, [A::SessionPinned, A::SharedSessionPinned], [A::SessionUnpinned, A::SharedSessionUnpinned]),
        (update.archived, [A::SessionArchived, A::SharedSessionArchived], [A::SessionUnarchived, A::SharedSessionUnarchived]),
        (update.paused, [A::SessionPaused, A::SharedSessionPaused], [A::SessionResumed, A::SharedSessionResumed]),
    ]
    .into_iter()
    .filter_map(|(flag, set, unset)| flag.map(|flag| if flag { set } else { unset }))
}

#[derive(Default)]
pub(super) struct SessionMutations;

#[Object(guard = "Needs::Write")]
impl SessionMutations {
    /// Creates a session.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn create_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new session.")] input: CreateSessionInput,
    ) -> async_graphql::Result<CreateSessionPayload> {
        let s = scope(ctx)?;
        let create = async {
            let caller = if input.shared { s.shared_writer().map_err(|e| e.at("input.shared"))? } else { s.caller };
            let session = s.usecases.create_session(&caller, input.title).await?;
            Ok(SessionNode(session, s.memory(input.shared)?.clone()))
        };
        let (session, errors) = split_user_errors(create.await)?;
        if let Some(SessionNode(session, memory)) = &session {
            audit_shared_change(ctx, memory, AuditAction::SharedSessionCreated, session.id).await?;
        }
        Ok(CreateSessionPayload { session, errors })
    }

    /// Changes the title of a session, pins or archives it, or pauses remembering in it.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn update_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session and what to change in it.")] input: UpdateSessionInput,
    ) -> async_graphql::Result<UpdateSessionPayload> {
        let s = scope(ctx)?;
        let update = async {
            let (id, update) = input.read()?;
            let is_renamed = update.title.is_some();
            let update = &update;
            let change = |caller| async move { s.usecases.update_session(&caller, id, update.clone()).await.map_err(ApiError::from) };
            let (session, memory) = s.change(&[ResourceId::Session(id)], change).await.map_err(|e| e.at("input.sessionId"))?;
            if is_renamed {
                audit_change(ctx, memory, [AuditAction::SessionRenamed, AuditAction::SharedSessionRenamed], id).await?;
            }
            for actions in flag_actions(update) {
                audit_change(ctx, memory, actions, id).await?;
            }
            Ok(SessionNode(session, memory.clone()))
        };
        let (session, errors) = split_user_errors(update.await)?;
        Ok(UpdateSessionPayload { session, errors })
    }

    /// Deletes a session with its messages, its events and its evidence. Facts with other evidence are re-weighed.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn delete_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session.")] input: DeleteSessionInput,
    ) -> async_graphql::Result<DeleteSessionPayload> {
        let s = scope(ctx)?;
        let delete = async {
            let id: SessionId = read_id(&input.id, "input.id")?;
            let delete = |caller| async move { s.usecases.delete_session(&caller, id).await.map_err(ApiError::from) };
            let (deleted, memory) = s.change(&[ResourceId::Session(id)], delete).await.map_err(|e| e.at("input.id"))?;
            audit_change(ctx, memory, [AuditAction::SessionDeleted, AuditAction::SharedSessionDeleted], id).await?;
            Ok((ID::from(id), SessionReceipt::from(deleted)))
        };
        let (deleted, errors) = split_user_errors(delete.await)?;
        let (deleted_id, receipt) = deleted.unzip();
        Ok(DeleteSessionPayload { deleted_id, receipt, errors })
    }
}
