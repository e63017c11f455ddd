//! Query of the audit log.

use async_graphql::{Context, Object};

use crate::{
    audit::Auditor,
    auth::Permission,
    error::ApiError,
    graphql::{
        model::AuditEntryNode,
        page::{self, Connection, Total, connection_cost},
        scope::{Needs, audit, scope, service},
    },
};
use recall_domain::AuditAction;

#[derive(Default)]
pub(super) struct AuditQueries;

#[Object(guard = "Needs::Read")]
impl AuditQueries {
    /// The audit log, latest first: logins, access tokens, deletions, exports, adopted visits, and changes by administrators. Contains
    /// the viewer's entries; administrators can read those of all users.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn audit_log(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Return the entries of all users. Requires the role `ADMIN`; the read is itself audited.", default)]
        everybody: bool,
    ) -> async_graphql::Result<Connection<AuditEntryNode>> {
        let s = scope(ctx)?;
        if everybody {
            s.identity().require(Permission::Admin)?;
            audit(ctx, AuditAction::AdminRead, "auditLog".to_owned()).await?;
        }
        let page = page::read_page(first, after)?;
        let actor = (!everybody).then(|| s.caller.user());
        let slice = service::<Auditor>(ctx)?.entries(&s.caller, actor, &page).await.map_err(ApiError::from)?;
        Ok(page::forward_connection(slice, &page, Total::Unknown, AuditEntryNode::from))
    }
}
