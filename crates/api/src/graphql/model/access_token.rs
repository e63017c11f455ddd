//! GraphQL type `AccessToken`.

use async_graphql::{ID, SimpleObject};

use recall_domain::{AccessToken, Timestamp};

/// A personal access token, which scripts and agents send instead of a login.
#[derive(SimpleObject)]
#[graphql(name = "AccessToken")]
pub(crate) struct AccessTokenNode {
    /// The id, a UUID.
    id: ID,
    /// The name that the viewer gave it.
    name: String,
    /// The scopes that it grants: `recall.read`, `recall.write`.
    scopes: Vec<String>,
    /// When it was created.
    created_at: Timestamp,
    /// When it expires.
    expires_at: Timestamp,
    /// When it was last used, to the minute; null if never.
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
