//! The audit log.

use async_graphql::{Context, Object};

use crate::{
    auth::Permission,
    error::ApiError,
    graphql::{
        model::AuditEntryNode,
        page::{self, Connection, Total, cost},
        scope::{Needs, note, scope},
    },
};
use recall_domain::AuditAction;

#[derive(Default)]
pub(super) struct AuditQueries;

#[Object(guard = "Needs::Read")]
impl AuditQueries {
    /// Who did what, the latest first: logins, access tokens, deletions, exports, visits taken over, what administrators did. Of the
    /// viewer alone, or for administrators of everybody.
    #[graphql(complexity = "cost(first, child_complexity)")]
    async fn audit_log(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
        #[graphql(desc = "Whether the entries of all users are shown; for administrators, and noted.", default)] everybody: bool,
    ) -> async_graphql::Result<Connection<AuditEntryNode>> {
        let s = scope(ctx)?;
        if everybody {
            s.identity().require(Permission::Admin)?;
            note(ctx, AuditAction::AdminRead, "auditLog".to_owned()).await?;
        }
        let page = page::page(first, after)?;
        let actor = (!everybody).then(|| s.caller.user());
        let slice = s.store().audited(&s.caller, actor, &page).await.map_err(ApiError::from)?;
        Ok(page::forwards(slice, &page, Total::Unknown, AuditEntryNode::from))
    }
}
