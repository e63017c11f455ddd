//! The shape of what a model may say about a message, made from the ontology in force.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::dialect::Schema;
use recall_domain::{EntityType, Ontology};

/// How the person who says "I" is written.
pub(super) const SPEAKER: &str = "SPEAKER";

/// The schema, strict: everything is required and nothing else allowed.
pub(super) fn of(ontology: &Ontology) -> Schema {
    Schema { name: "extraction", schema: object(shape(ontology)) }
}

/// The schema for several messages, each with its number.
pub(super) fn together(ontology: &Ontology) -> Schema {
    let mut one = json!({ "n": { "type": "integer" } });
    if let (Some(one), Value::Object(shape)) = (one.as_object_mut(), shape(ontology)) {
        one.extend(shape);
    }
    Schema { name: "extractions", schema: object(json!({ "messages": { "type": "array", "items": object(one) } })) }
}

fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// What is said about one message.
fn shape(ontology: &Ontology) -> Value {
    let types: Vec<&str> = EntityType::ALL.iter().map(|t| t.as_str()).collect();
    let relations: Vec<&str> = ontology.iter().map(|r| r.name.as_str()).collect();
    let entity = object(json!({ "name": { "type": "string" }, "type": { "type": "string", "enum": types } }));
    let fact = object(json!({
        "quote": { "type": "string" },
        "subject": { "type": "string" },
        "relation": { "type": "string", "enum": relations },
        "object": { "type": "string" },
        "polarity": { "type": "string", "enum": ["affirmed", "negated", "ended"] },
    }));
    json!({
        "kind": { "type": "string", "enum": ["statement", "question", "mixed", "other"] },
        "entities": { "type": "array", "items": entity },
        "facts": { "type": "array", "items": fact },
    })
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
