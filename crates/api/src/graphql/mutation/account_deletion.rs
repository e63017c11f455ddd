//! Mutation that deletes all data of the viewer.

use std::time::Duration;

use async_graphql::{Context, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{DeletionReceipt, UserError, graph::graph_queries, split_user_errors},
        page::CHANGE,
        scope::{Needs, OperationScope, audit, scope},
    },
};
use recall_domain::AuditAction;
use recall_ports::{GraphCopy, GraphError, GraphQueries};

/// The word that confirms the deletion, which prevents accidents.
const CONFIRMATION: &str = "DELETE";
/// How long to wait until the graph engine has deleted its copy.
const GRAPH_FOLLOWS: Duration = Duration::from_secs(3);
/// Pause between two checks of the graph engine.
const GRAPH_PAUSE: Duration = Duration::from_millis(200);
/// Timeout for counting the graph engine's copy before the deletion, which must not depend on the engine.
const GRAPH_ANSWER: Duration = Duration::from_secs(2);

/// The confirmation that all data is to be deleted.
#[derive(InputObject)]
pub(crate) struct DeleteMyDataInput {
    /// The word `DELETE`, which prevents accidents.
    confirm: String,
}

/// The result of `deleteMyData`.
#[derive(SimpleObject)]
pub(crate) struct DeleteMyDataPayload {
    /// What was deleted.
    receipt: Option<DeletionReceipt>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct DeletionMutations;

#[Object(guard = "Needs::Write")]
impl DeletionMutations {
    /// Deletes all data of the viewer: sessions, messages, facts, events, access tokens, and the copy in the graph engine. While it runs,
    /// the viewer's other requests fail with `DATA_BEING_DELETED`, except `viewer { deletion }`. After some seconds the mutation returns
    /// a receipt without `endedAt`; the deletion continues in the background, even after a restart. Calling again waits
    /// for it. Open streams end with `bye deleted`.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn delete_my_data(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The confirmation.")] input: DeleteMyDataInput,
    ) -> async_graphql::Result<DeleteMyDataPayload> {
        let s = scope(ctx)?;
        let erase = async {
            if input.confirm != CONFIRMATION {
                let message = format!("Nothing was deleted. Confirm with `{CONFIRMATION}` to delete everything.");
                return Err(ApiError::invalid("CONFIRMATION_NEEDED", message, "input.confirm"));
            }
            let graph = graph_queries(ctx)?;
            let late = |_| GraphError::Unavailable("it does not respond in time".into());
            let before = tokio::time::timeout(GRAPH_ANSWER, graph.copy(&s.caller)).await.unwrap_or_else(|e| Err(late(e)));
            // Audited first, because the deletion cannot be undone.
            audit(ctx, AuditAction::DataDeleted, s.caller.user().to_string()).await?;
            let erased = s.usecases.erase_everything(&s.caller).await?;
            let receipt = DeletionReceipt::of(s.usecases.engine(), erased);
            Ok(with_graph(s, graph.as_ref(), receipt, before).await)
        };
        let (receipt, errors) = split_user_errors(erase.await)?;
        Ok(DeleteMyDataPayload { receipt, errors })
    }
}

/// Adds the deletions in the graph engine to the receipt, if there is an engine.
async fn with_graph(
    s: &OperationScope,
    graph: &dyn GraphQueries,
    receipt: DeletionReceipt,
    before: Result<Option<GraphCopy>, GraphError>,
) -> DeletionReceipt {
    let before = match before {
        Ok(None) => return receipt,
        Ok(held) => held,
        // The first count may be late because the engine plans its query then.
        Err(_) => None,
    };
    let mut after = None;
    if receipt.has_ended() {
        let follows = async {
            loop {
                after = graph.copy(&s.caller).await.ok().flatten();
                // Unreachable, or done.
                if after.is_none_or(GraphCopy::is_empty) {
                    break;
                }
                tokio::time::sleep(GRAPH_PAUSE).await;
            }
        };
        // `after` holds the result, also after a timeout.
        let _ = tokio::time::timeout(GRAPH_FOLLOWS, follows).await;
    }
    receipt.with_graph(graph.engine(), before, after)
}
