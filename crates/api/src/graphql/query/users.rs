//! Query of the users, for administrators.

use async_graphql::{Context, Object};

use crate::{
    auth::Permission,
    error::ApiError,
    graphql::{
        model::UserNode,
        page::{self, Connection, STATEMENT, Total, connection_cost},
        scope::{Needs, audit, scope},
    },
};
use recall_domain::AuditAction;

/// Statements that count the data of one user.
const STATEMENTS_OF_USER: usize = 4;

#[derive(Default)]
pub(super) struct UserQueries;

#[Object(guard = "Needs::Read")]
impl UserQueries {
    /// Users with data, ordered by id, with counts and without contents. Requires the role `ADMIN`; the read is audited.
    #[graphql(complexity = "connection_cost(first, STATEMENTS_OF_USER * STATEMENT + child_complexity)")]
    async fn users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<UserNode>> {
        let s = scope(ctx)?;
        s.identity().require(Permission::Admin)?;
        audit(ctx, AuditAction::AdminRead, "users".to_owned()).await?;
        let page = page::read_page(first, after)?;
        let slice = s.usecases.users(&s.caller, &page).await.map_err(ApiError::from)?;
        Ok(page::forward_connection(slice, &page, Total::Unknown, UserNode::from))
    }
}
