//! Patterns and filters for reading entities and facts.

use recall_domain::{EntityId, EntityType, Fact, FactStatus, FactValue, MessageId, Ontology, RelationName, SessionId, Timestamp};

/// A pattern of facts to look up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FactKey {
    /// Subject.
    pub subject: EntityId,
    /// Relation.
    pub relation: String,
    /// Object; any if absent. The subject for facts with a value.
    pub object: Option<EntityId>,
    /// [`FactValue::key`](recall_domain::FactValue::key); any if absent.
    pub value: Option<String>,
}

impl FactKey {
    /// The key of one fact.
    pub fn of(fact: &Fact) -> Self {
        Self {
            subject: fact.subject,
            relation: fact.relation.clone(),
            object: Some(fact.object),
            value: fact.value.as_ref().map(FactValue::key),
        }
    }
}

/// Which of facts and notes to list. A note is a fact of a relation of the ontology that has `notes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Notes {
    /// Both.
    #[default]
    Included,
    /// Only facts of other relations than these.
    Excluded(Vec<RelationName>),
    /// Only facts of these relations.
    Only(Vec<RelationName>),
}

impl Notes {
    /// Only facts; with the relation of notes as the wanted `relation`, notes.
    pub fn excluded(ontology: &Ontology, relation: Option<&str>) -> Self {
        let wanted = relation.and_then(|r| ontology.get(r)).is_some_and(|r| r.notes);
        if wanted { Self::Included } else { Self::Excluded(Self::relations(ontology)) }
    }

    /// Only notes.
    pub fn only(ontology: &Ontology) -> Self {
        Self::Only(Self::relations(ontology))
    }

    fn relations(ontology: &Ontology) -> Vec<RelationName> {
        ontology.iter().filter(|r| r.notes).map(|r| r.name.clone()).collect()
    }
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
    /// A name on either side or the value contains this, ignoring case.
    pub text: Option<String>,
    /// Whether to list facts or notes.
    pub notes: Notes,
}
