//! Personal access tokens as the API shows them.

use async_graphql::{ID, SimpleObject};

use recall_domain::{AccessToken, Timestamp};

/// A personal access token: what scripts and agents of the viewer show instead of a login.
#[derive(SimpleObject)]
#[graphql(name = "AccessToken")]
pub(crate) struct AccessTokenNode {
    /// Identity.
    id: ID,
    /// What the viewer calls it.
    name: String,
    /// What it allows: `recall.read`, `recall.write`.
    scopes: Vec<String>,
    /// When it was made.
    created_at: Timestamp,
    /// From when on it is not accepted.
    expires_at: Timestamp,
    /// When it was last used, to the minute; null when it never was.
    last_used_at: Option<Timestamp>,
}

impl From<AccessToken> for AccessTokenNode {
    fn from(token: AccessToken) -> Self {
        Self {
            id: ID::from(token.id),
            name: token.name.into_string(),
            scopes: token.scopes.split(' ').map(str::to_owned).collect(),
            created_at: token.created_at,
            expires_at: token.expires_at,
            last_used_at: token.last_used_at,
        }
    }
}
