//! The shape of what a model may say about a message, made from the ontology in force.

use std::fmt::Write;

use serde_json::json;

use super::super::dialect::Schema;
use crate::domain::{EntityType, Ontology};

/// How the person who says "I" is written.
pub(super) const SPEAKER: &str = "SPEAKER";

/// The schema, strict: everything is required and nothing else allowed.
pub(super) fn of(ontology: &Ontology) -> Schema {
    let types: Vec<&str> = EntityType::ALL.iter().map(|t| t.as_str()).collect();
    let relations: Vec<&str> = ontology.iter().map(|r| r.name.as_str()).collect();
    let object = |properties: serde_json::Value| {
        let required: Vec<String> = properties.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    let entity = object(json!({ "name": { "type": "string" }, "type": { "type": "string", "enum": types } }));
    let fact = object(json!({
        "quote": { "type": "string" },
        "subject": { "type": "string" },
        "relation": { "type": "string", "enum": relations },
        "object": { "type": "string" },
        "polarity": { "type": "string", "enum": ["affirmed", "negated", "ended"] },
    }));
    let schema = object(json!({
        "kind": { "type": "string", "enum": ["statement", "question", "mixed", "other"] },
        "entities": { "type": "array", "items": entity },
        "facts": { "type": "array", "items": fact },
    }));
    Schema { name: "extraction", schema }
}

/// The relations as lines of the instructions.
pub(super) fn relations(ontology: &Ontology) -> String {
    let any = |types: &[EntityType]| {
        if types.is_empty() { "anything".to_owned() } else { types.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(" or ") }
    };
    ontology.iter().fold(String::new(), |mut lines, r| {
        let _ = writeln!(lines, "- {}: {} -> {}. {}", r.name, any(&r.subject_types), any(&r.object_types), r.description);
        lines
    })
}
