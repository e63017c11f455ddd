//! Visits: use without a login. The browser holds a secret; the store holds its digest.

use std::net::IpAddr;

use super::{EntityId, SessionId, Timestamp, TokenDigest, UserId};

/// A visit and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Digest of the secret in the browser's cookie. The secret itself is not stored.
    pub digest: TokenDigest,
    /// Messages that may still be stored.
    pub messages_left: u32,
    /// Sessions that may still be created.
    pub sessions_left: u32,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ends unless it is used earlier.
    pub ends_at: Timestamp,
    /// The earlier end that applies while the visit has no messages.
    pub empty_until: Option<Timestamp>,
}

impl Visit {
    /// Returns when it ends unless it is used earlier.
    pub fn over_at(&self) -> Timestamp {
        self.empty_until.map_or(self.ends_at, |empty| empty.min(self.ends_at))
    }
}

/// Limits on the number of concurrent visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitLimits {
    /// Most visits in total.
    pub most: u64,
    /// Address from which the new visit begins, if known.
    pub origin: Option<IpAddr>,
    /// Most visits from that address.
    pub most_of_origin: u64,
}

/// What an account took over from a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// The visitor.
    pub visitor: UserId,
    /// Its sessions, which keep their ids.
    pub sessions: Vec<SessionId>,
    /// Number of messages.
    pub messages: u64,
    /// Number of messages, not counting the answers of the server.
    pub told: u64,
    /// Number of facts.
    pub facts: u64,
}

/// An adopted entity that must still be compared with the account's entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The entity.
    pub entity: EntityId,
    /// Whether it stood for the visitor, who is now the account's user.
    pub is_viewer: bool,
}
