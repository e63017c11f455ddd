//! Visits: people who came without a login. The browser holds a secret, the store what it stands for.

use std::net::IpAddr;

use super::{EntityId, SessionId, Timestamp, TokenDigest, UserId};

/// What is known of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Of the secret in the browser's cookie, which is kept nowhere else.
    pub digest: TokenDigest,
    /// How many messages may still be stored.
    pub messages_left: u32,
    /// How many sessions may still be begun.
    pub sessions_left: u32,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ends unless it is used before.
    pub ends_at: Timestamp,
    /// As long as nothing was said on it, the sooner end.
    pub empty_until: Option<Timestamp>,
}

impl Visit {
    /// When it is over unless it is used before.
    pub fn over_at(&self) -> Timestamp {
        self.empty_until.map_or(self.ends_at, |empty| empty.min(self.ends_at))
    }
}

/// How many visits there may be at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitLimits {
    /// In all.
    pub most: u64,
    /// Where the new one is begun from, if that is known.
    pub origin: Option<IpAddr>,
    /// From there.
    pub most_of_origin: u64,
}

/// What an account took over from a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// Whose it was.
    pub visitor: UserId,
    /// The sessions, which keep their ids.
    pub sessions: Vec<SessionId>,
    /// How many messages.
    pub messages: u64,
    /// How many of them are not answers that were made here.
    pub told: u64,
    /// How many facts.
    pub facts: u64,
}

/// An entity that came from a visit and is still to be compared with what the account knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// Which.
    pub entity: EntityId,
    /// Whether it was the visitor, who is the account's user now.
    pub is_viewer: bool,
}
