//! The mutation that changes settings of the viewer.

use async_graphql::{Context, InputObject, Object, SimpleObject};

use crate::{
    audit::Auditor,
    graphql::{
        model::{UserError, Viewer, split_user_errors},
        page::CHANGE,
        scope::{Needs, scope, service},
    },
};
use recall_domain::AuditAction;

/// What to change for the viewer.
#[derive(InputObject)]
pub(crate) struct UpdateViewerInput {
    /// Whether remembering is paused in all own sessions, from the next message on.
    paused: bool,
}

/// The result of `updateViewer`.
#[derive(SimpleObject)]
pub(crate) struct UpdateViewerPayload {
    /// The viewer after the change.
    viewer: Option<Viewer>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct ViewerMutations;

#[Object(guard = "Needs::Write")]
impl ViewerMutations {
    /// Pauses or resumes remembering in all of the viewer's own sessions. Facts that are stated directly and documents are remembered meanwhile.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn update_viewer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to change.")] input: UpdateViewerInput,
    ) -> async_graphql::Result<UpdateViewerPayload> {
        let s = scope(ctx)?;
        let change = async {
            s.usecases.set_paused(&s.caller, input.paused).await?;
            let action = if input.paused { AuditAction::RememberingPaused } else { AuditAction::RememberingResumed };
            service::<Auditor>(ctx)?.note_request(s.now, s.identity(), action, None).await;
            Ok(Viewer)
        };
        let (viewer, errors) = split_user_errors::<Viewer>(change.await)?;
        Ok(UpdateViewerPayload { viewer, errors })
    }
}
