//! Creating and deleting sessions.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{SessionNode, UserError, settle},
        page::CHANGE,
        scope::{Needs, note, note_shared, read_id, scope},
    },
};
use recall_domain::{AuditAction, SessionId};
use recall_ports::SessionDeleted;
use recall_usecases::ResourceId;

/// A new session.
#[derive(InputObject)]
pub(crate) struct CreateSessionInput {
    /// Its title; taken from the first message when nothing is said.
    title: Option<String>,
    /// Whether it is one of shared memory, which all signed-in users read. Only administrators start such.
    #[graphql(default)]
    shared: bool,
}

/// What came of `createSession`.
#[derive(SimpleObject)]
pub(crate) struct CreateSessionPayload {
    /// The new session.
    session: Option<SessionNode>,
    /// Why there is none.
    errors: Vec<UserError>,
}

/// The session to be deleted.
#[derive(InputObject)]
pub(crate) struct DeleteSessionInput {
    /// Which one.
    id: ID,
}

/// What came of `deleteSession`.
#[derive(SimpleObject)]
pub(crate) struct DeleteSessionPayload {
    /// The id of the session that is no more.
    deleted_id: Option<ID>,
    /// What went with it. Of a very large session: what went within ten seconds; the rest goes by itself.
    receipt: Option<SessionReceipt>,
    /// Why it was not deleted.
    errors: Vec<UserError>,
}

/// What went with a session, its events and jobs apart.
#[derive(SimpleObject)]
pub(crate) struct SessionReceipt {
    /// Its messages.
    messages: u64,
    /// Facts that rested on it alone, and are no more.
    facts_deleted: u64,
    /// Facts that rest on other sessions too, and were weighed anew.
    facts_reweighed: u64,
    /// Things that nothing else speaks of, and are no more.
    entities_deleted: u64,
}

impl From<SessionDeleted> for SessionReceipt {
    fn from(deleted: SessionDeleted) -> Self {
        let SessionDeleted { messages, facts_deleted, facts_reweighed, entities_deleted } = deleted;
        Self { messages, facts_deleted, facts_reweighed, entities_deleted }
    }
}

#[derive(Default)]
pub(super) struct SessionMutations;

#[Object(guard = "Needs::Write")]
impl SessionMutations {
    /// Starts a session. Administrators start those of shared memory too.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn create_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new session.")] input: CreateSessionInput,
    ) -> async_graphql::Result<CreateSessionPayload> {
        let s = scope(ctx)?;
        let create = async {
            let whose = if input.shared { s.shared_writer().map_err(|e| e.at("input.shared"))? } else { s.caller };
            let session = s.usecases.create_session(&whose, input.title).await?;
            Ok(SessionNode(session, s.memory(input.shared)?.clone()))
        };
        let (session, errors) = settle(create.await)?;
        if let Some(SessionNode(session, memory)) = &session {
            note_shared(ctx, memory, AuditAction::SharedSessionCreated, session.id).await?;
        }
        Ok(CreateSessionPayload { session, errors })
    }

    /// Deletes a session with its messages, its events and all evidence from it. Facts are weighed anew without it.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn delete_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session.")] input: DeleteSessionInput,
    ) -> async_graphql::Result<DeleteSessionPayload> {
        let s = scope(ctx)?;
        let delete = async {
            let id: SessionId = read_id(&input.id, "input.id")?;
            let delete = |whose| async move { s.usecases.delete_session(&whose, id).await.map_err(ApiError::from) };
            let (deleted, memory) = s.change(&[ResourceId::Session(id)], delete).await.map_err(|e| e.at("input.id"))?;
            let action = if memory.is_shared() { AuditAction::SharedSessionDeleted } else { AuditAction::SessionDeleted };
            note(ctx, action, id.to_string()).await?;
            Ok((ID::from(id), SessionReceipt::from(deleted)))
        };
        let (deleted, errors) = settle(delete.await)?;
        let (deleted_id, receipt) = deleted.unzip();
        Ok(DeleteSessionPayload { deleted_id, receipt, errors })
    }
}
