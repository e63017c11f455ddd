//! Records what is new of a caller: another role, another front end.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    middleware::Next,
    response::Response,
};

use crate::{
    audit::Roles,
    auth::{Authenticated, Identity},
    front_ends::FrontEnds,
};

/// What is recorded of callers.
pub(crate) struct CallerLog {
    pub(crate) roles: Roles,
    pub(crate) front_ends: FrontEnds,
}

impl CallerLog {
    /// Records what is new of the caller of a request with these headers.
    pub(crate) async fn note(&self, identity: &Identity, headers: &HeaderMap) {
        self.roles.note_role_change(identity).await;
        self.front_ends.note(identity, headers).await;
    }
}

/// Middleware: records what is new of callers. It stands behind the rate limit, because a record is a write. A WebSocket does this itself, because its token may arrive later.
pub(crate) async fn log_caller(State(log): State<Arc<CallerLog>>, request: Request, next: Next) -> Response {
    let identity = request.extensions().get::<Authenticated>().map(|a| a.0.clone());
    if let Some(identity) = identity {
        log.note(&identity, request.headers()).await;
    }
    next.run(request).await
}
