//! A verb of the ontology in force.

use async_graphql::SimpleObject;

use super::enums::EntityType;
use recall_domain::Relation;

/// A verb that facts may use.
#[derive(SimpleObject)]
#[graphql(name = "Relation")]
pub(crate) struct RelationNode {
    /// Its name, upper case with underscores.
    name: String,
    /// As people say it, third person singular: "lives in".
    phrase: String,
    /// What it means.
    description: String,
    /// Whether A R B means B R A.
    symmetric: bool,
    /// Whether a subject has one object at a time, so that others are rivals.
    functional: bool,
    /// Days after which unrepeated support counts half.
    half_life_days: f64,
    /// The relation that says the contrary of the same pair.
    opposite: Option<String>,
    /// Types that may be its subject; empty means any.
    subject_types: Vec<EntityType>,
    /// Types that may be its object; empty means any.
    object_types: Vec<EntityType>,
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
        }
    }
}
