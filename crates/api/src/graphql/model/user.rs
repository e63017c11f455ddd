//! GraphQL type `User`.

use async_graphql::{ID, SimpleObject};

use super::{
    enums::UserKind,
    usage::{TokenUsage, sum},
};
use recall_domain::{Timestamp, UserId};
use recall_usecases::UserSummary;

/// A user with counts of their data. Administrators see no names and no contents.
#[derive(SimpleObject)]
#[graphql(name = "User")]
pub(crate) struct UserNode {
    /// The id, as in `viewer` and in the audit log.
    id: ID,
    /// Who it is.
    kind: UserKind,
    /// When the last message was stored, or the last session created; null without sessions.
    last_active_at: Option<Timestamp>,
    /// The number of sessions.
    sessions: u64,
    /// The number of messages written in these sessions, including those that were deleted alone.
    messages: u64,
    /// The number of facts, with notes, ended and retracted ones.
    facts: u64,
    /// The number of documents, with their older versions.
    documents: u64,
    /// Tokens that model servers used for the user in the last 30 days (UTC), without embeddings.
    tokens: TokenUsage,
}

impl From<UserSummary> for UserNode {
    fn from(summary: UserSummary) -> Self {
        let UserSummary { user, is_visitor, activity, facts, documents, usage } = summary;
        let kind = match user {
            UserId::SHARED => UserKind::Shared,
            _ if is_visitor => UserKind::Visitor,
            _ => UserKind::Account,
        };
        Self {
            id: ID::from(user),
            kind,
            last_active_at: activity.latest,
            sessions: activity.sessions,
            messages: activity.messages,
            facts,
            documents,
            tokens: sum(usage.iter()),
        }
    }
}
