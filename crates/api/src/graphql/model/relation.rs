//! GraphQL type `Relation`.

use async_graphql::SimpleObject;

use super::{enums::EntityType, value::ValueType};
use recall_domain::Relation;

/// A relation of the ontology, which facts can use.
#[derive(SimpleObject)]
#[graphql(name = "Relation")]
pub(crate) struct RelationNode {
    /// The name, in upper case with underscores.
    name: String,
    /// The verb phrase in the third person singular, such as "lives in".
    phrase: String,
    /// The meaning.
    description: String,
    /// Whether "A relation B" also means "B relation A".
    symmetric: bool,
    /// Whether a subject has one object at a time. Facts with other objects are then rivals.
    functional: bool,
    /// The number of days after which support counts half, unless it is repeated.
    half_life_days: f64,
    /// The relation that states the opposite about the same pair.
    opposite: Option<String>,
    /// Allowed types of the subject; empty means any.
    subject_types: Vec<EntityType>,
    /// Allowed types of the object; empty means any.
    object_types: Vec<EntityType>,
    /// Types of the value; empty means that the object is an entity.
    value_types: Vec<ValueType>,
    /// Whether its facts are notes: statements that fit no other relation.
    notes: bool,
}

impl From<&Relation> for RelationNode {
    fn from(r: &Relation) -> Self {
        Self {
            name: r.name.clone(),
            phrase: r.phrase.clone(),
            description: r.description.clone(),
            symmetric: r.symmetric,
            functional: r.functional,
            half_life_days: r.half_life_days,
            opposite: r.opposite.clone(),
            subject_types: r.subject_types.iter().map(|t| (*t).into()).collect(),
            object_types: r.object_types.iter().map(|t| (*t).into()).collect(),
            value_types: r.value_types.iter().map(|t| (*t).into()).collect(),
            notes: r.notes,
        }
    }
}
