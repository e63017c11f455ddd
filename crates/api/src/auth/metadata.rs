//! Protected resource metadata: tells clients how to get a token (RFC 9728).

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::identity::Permission;

/// Path of the metadata.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// This server as an OAuth protected resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedResource {
    /// URL of this server, without a trailing slash.
    pub resource: String,
    /// The issuers whose tokens this server accepts.
    pub authorization_servers: Vec<String>,
}

impl ProtectedResource {
    pub(crate) fn metadata_url(&self) -> String {
        format!("{}{METADATA_PATH}", self.resource)
    }
}

/// `GET /.well-known/oauth-protected-resource`: returns the metadata. It needs no token, because clients read it first.
pub(crate) async fn metadata(State(resource): State<Arc<ProtectedResource>>) -> Response {
    Json(json!({
        "resource": resource.resource,
        "authorization_servers": resource.authorization_servers,
        "scopes_supported": Permission::ALL.map(Permission::scope),
        "bearer_methods_supported": ["header"],
        "resource_name": "Relevantic Recall",
    }))
    .into_response()
}
