//! Deleting everything of the viewer.

use std::{sync::Arc, time::Duration};

use async_graphql::{Context, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{DeletionReceipt, UserError, settle},
        page::CHANGE,
        scope::{Needs, Scope, note, scope},
    },
};
use recall_domain::AuditAction;
use recall_ports::{GraphCopy, GraphError, GraphQueries};

/// What has to be said, so that nobody does it by mistake.
const CONFIRMATION: &str = "DELETE";
/// How long the graph engine is looked at, and how often, for whether it has followed.
const GRAPH_FOLLOWS: Duration = Duration::from_secs(3);
const GRAPH_PAUSE: Duration = Duration::from_millis(200);
/// Longest wait for what it holds before: what is deleted must not depend on it.
const GRAPH_ANSWER: Duration = Duration::from_secs(2);

/// That everything is to be deleted.
#[derive(InputObject)]
pub(crate) struct DeleteMyDataInput {
    /// The word `DELETE`, so that nobody does it by mistake.
    confirm: String,
}

/// What came of `deleteMyData`.
#[derive(SimpleObject)]
pub(crate) struct DeleteMyDataPayload {
    /// What was deleted.
    receipt: Option<DeletionReceipt>,
    /// Why nothing was.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct EraseMutations;

#[Object(guard = "Needs::Write")]
impl EraseMutations {
    /// Deletes everything that is kept of the viewer: sessions, messages, facts, events, access tokens, and the copy in the graph
    /// engine. It goes in steps; meanwhile whatever else the viewer asks for, reading too, is refused (`DATA_BEING_DELETED`), but for
    /// `viewer { deletion }`. If it takes longer than some seconds the receipt has no end yet: the deletion goes on, whatever becomes of the client and of the server, and
    /// calling again waits on. Open streams end with `bye deleted`.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn delete_my_data(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "That this is meant.")] input: DeleteMyDataInput,
    ) -> async_graphql::Result<DeleteMyDataPayload> {
        let s = scope(ctx)?;
        let erase = async {
            if input.confirm != CONFIRMATION {
                let message = format!("Nothing was deleted. Confirm with `{CONFIRMATION}` to delete everything.");
                return Err(ApiError::invalid("CONFIRMATION_NEEDED", message, "input.confirm"));
            }
            let graph = ctx
                .data::<Arc<dyn GraphQueries>>()
                .map_err(|e| ApiError::internal(Arc::new(std::io::Error::other(e.message)) as Arc<_>))?;
            let late = |_| GraphError::Unavailable("it does not answer in time".into());
            let before = tokio::time::timeout(GRAPH_ANSWER, graph.copy(&s.caller)).await.unwrap_or_else(|e| Err(late(e)));
            // First of all: what cannot be undone is never done unseen.
            note(ctx, AuditAction::DataDeleted, s.caller.user().to_string()).await?;
            let erased = s.usecases.erase_everything(&s.caller).await?;
            let receipt = DeletionReceipt::of(s.store().engine(), erased);
            Ok(with_graph(s, graph.as_ref(), receipt, before).await)
        };
        let (receipt, errors) = settle(erase.await)?;
        Ok(DeleteMyDataPayload { receipt, errors })
    }
}

/// The receipt with what became of the copy in the graph engine, if there is one.
async fn with_graph(
    s: &Scope,
    graph: &dyn GraphQueries,
    receipt: DeletionReceipt,
    before: Result<Option<GraphCopy>, GraphError>,
) -> DeletionReceipt {
    let before = match before {
        Ok(None) => return receipt,
        Ok(held) => held,
        Err(_) => None,
    };
    let mut after = None;
    if receipt.has_ended() && before.is_some() {
        let follows = async {
            loop {
                after = graph.copy(&s.caller).await.ok().flatten();
                // Away, or done.
                if after.is_none_or(GraphCopy::is_empty) {
                    break;
                }
                tokio::time::sleep(GRAPH_PAUSE).await;
            }
        };
        // Whether it got there says `after`.
        let _ = tokio::time::timeout(GRAPH_FOLLOWS, follows).await;
    }
    receipt.with_graph(graph.engine(), before, after)
}
