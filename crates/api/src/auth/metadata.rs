//! What clients can read about how to get a token for this server (RFC 9728).

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::Permission;

/// Where the metadata is served.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// This server as something that tokens are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedResource {
    /// Its address, without a slash at the end.
    pub resource: String,
    /// The issuers whose tokens it takes.
    pub authorization_servers: Vec<String>,
}

impl ProtectedResource {
    pub(crate) fn metadata_url(&self) -> String {
        format!("{}{METADATA_PATH}", self.resource)
    }
}

/// `GET /.well-known/oauth-protected-resource`. Open: it is read before there is a token.
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
