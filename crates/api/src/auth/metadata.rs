//! Protected resource metadata: tells clients how to get a token (RFC 9728).

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::identity::Permission;
use crate::mcp;

/// Path of the metadata.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Path of the metadata of the MCP endpoint, whose clients expect its own URL as the resource (RFC 9728, section 3.1).
pub(crate) const MCP_METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// This server as an OAuth protected resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedResource {
    /// URL of this server, without a trailing slash.
    pub resource: String,
    /// The issuers whose tokens this server accepts.
    pub authorization_servers: Vec<String>,
}

impl ProtectedResource {
    /// Returns the URL of the metadata for clients of a path.
    pub(crate) fn metadata_url(&self, path: &str) -> String {
        let metadata = if path == mcp::PATH { MCP_METADATA_PATH } else { METADATA_PATH };
        format!("{}{metadata}", self.resource)
    }

    fn describe(&self, resource: &str, permissions: &[Permission]) -> Response {
        let scopes: Vec<_> = permissions.iter().map(|p| p.scope()).collect();
        Json(json!({
            "resource": resource,
            "authorization_servers": self.authorization_servers,
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Relevantic Recall",
        }))
        .into_response()
    }
}

/// `GET /.well-known/oauth-protected-resource`: returns the metadata. It needs no token, because clients read it first.
pub(crate) async fn metadata(State(resource): State<Arc<ProtectedResource>>) -> Response {
    resource.describe(&resource.resource, &Permission::ALL)
}

/// `GET /.well-known/oauth-protected-resource/mcp`: the same for the MCP endpoint.
///
/// Agents ask for all scopes that it names, and no tool needs an administrator.
pub(crate) async fn mcp_metadata(State(resource): State<Arc<ProtectedResource>>) -> Response {
    resource.describe(&format!("{}{}", resource.resource, mcp::PATH), &[Permission::Read, Permission::Write])
}
