//! Creating and deleting sessions.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    api::{
        error::ApiError,
        graphql::{
            model::{SessionNode, UserError, settle},
            scope::{Needs, note, read_id, scope},
        },
    },
    domain::{AuditAction, SessionId},
};

/// A new session.
#[derive(InputObject)]
pub(crate) struct CreateSessionInput {
    /// Its title; taken from the first message when nothing is said.
    title: Option<String>,
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
    /// Why it was not deleted.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct SessionMutations;

#[Object(guard = "Needs::Write")]
impl SessionMutations {
    /// Starts a session.
    async fn create_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new session.")] input: CreateSessionInput,
    ) -> async_graphql::Result<CreateSessionPayload> {
        let s = scope(ctx)?;
        let created = s.conversation.create_session(&s.caller, input.title).await.map_err(ApiError::from);
        let (session, errors) = settle(created)?;
        Ok(CreateSessionPayload { session: session.map(SessionNode), errors })
    }

    /// Deletes a session with its messages, its events and all evidence from it. Facts are weighed anew without it.
    async fn delete_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session.")] input: DeleteSessionInput,
    ) -> async_graphql::Result<DeleteSessionPayload> {
        let s = scope(ctx)?;
        let delete = async {
            let id: SessionId = read_id(&input.id, "input.id")?;
            s.conversation.delete_session(&s.caller, id).await.map_err(|e| ApiError::from(e).at("input.id"))?;
            Ok(ID::from(id))
        };
        let (deleted_id, errors) = settle(delete.await)?;
        if let Some(id) = &deleted_id {
            note(ctx, AuditAction::SessionDeleted, id.to_string()).await?;
        }
        Ok(DeleteSessionPayload { deleted_id, errors })
    }
}
