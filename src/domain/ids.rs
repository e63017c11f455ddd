//! Identifiers, one type per noun, so that a session id can never be passed where a message id is meant.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta] $name:ident),+ $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(s).map(Self)
            }
        }
    )+};
}

id! {
    /// Who owns data. Derived by the server, never taken from a request.
    UserId,
    /// One conversation of a user.
    SessionId,
    /// One turn of a conversation.
    MessageId,
    /// One thing a user talks about.
    EntityId,
    /// One (subject, relation, object).
    FactId,
    /// One entry of a session's event log.
    EventId,
    /// One personal access token.
    AccessTokenId,
}
