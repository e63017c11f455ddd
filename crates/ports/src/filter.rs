//! Patterns and filters for reading entities and facts.

use recall_domain::{EntityId, EntityType, FactStatus, MessageId, SessionId, Timestamp};

/// A pattern of facts to look up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FactKey {
    /// Subject.
    pub subject: EntityId,
    /// Relation.
    pub relation: String,
    /// Object; any if absent.
    pub object: Option<EntityId>,
}

/// Filters for entities; all given ones must match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntityFilter {
    /// Only of this type.
    pub entity_type: Option<EntityType>,
    /// Name or alias contains this, ignoring case.
    pub text: Option<String>,
    /// Mentioned in this session.
    pub session: Option<SessionId>,
}

/// Filters for facts; all given ones must match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactFilter {
    /// Has this subject.
    pub subject: Option<EntityId>,
    /// Has this object.
    pub object: Option<EntityId>,
    /// Has this entity on either side.
    pub entity: Option<EntityId>,
    /// Uses this relation.
    pub relation: Option<String>,
    /// Has this status.
    pub status: Option<FactStatus>,
    /// Has evidence in this session.
    pub session: Option<SessionId>,
    /// Has evidence in this message.
    pub message: Option<MessageId>,
    /// [`Fact::belief`](recall_domain::Fact::belief), at the time of its last change, is at least this.
    pub min_belief: Option<f64>,
    /// Was known and held at this moment.
    pub as_of: Option<Timestamp>,
    /// A name on either side contains this, ignoring case.
    pub text: Option<String>,
}
