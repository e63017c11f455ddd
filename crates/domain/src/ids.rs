//! Identifiers: one type per kind of object, so that they cannot be confused.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta] $name:ident),+ $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ToSchema)]
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
    /// The owner of data. The server derives it, and never takes it from a request.
    UserId,
    /// One conversation of a user.
    SessionId,
    /// One turn of a conversation.
    MessageId,
    /// One entity that a user talks about.
    EntityId,
    /// One fact.
    FactId,
    /// One entry of a session's event log.
    EventId,
    /// One personal access token.
    AccessTokenId,
    /// One document.
    DocumentId,
    /// One comparison of documents.
    ComparisonId,
    /// One forgetting, which can be undone for a while.
    ForgettingId,
    /// One topic.
    TopicId,
    /// One file outside the store. It is random: no path contains anything that a user chose.
    FileId,
}

impl UserId {
    /// The user that owns shared memory, which all signed-in users may read and only administrators may write.
    ///
    /// It is a UUID of version 8 (RFC 9562). Random ids and ids made from issuer and subject have other versions. Its last bytes spell
    /// "shared".
    pub const SHARED: Self = Self(Uuid::from_u128(0x0000_0000_0000_8000_8000_7368_6172_6564));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_id_differs_from_generated_ids() {
        assert_eq!(UserId::SHARED.to_string(), "00000000-0000-8000-8000-736861726564");
        assert_eq!(UserId::SHARED.0.get_version_num(), 8);
    }
}
