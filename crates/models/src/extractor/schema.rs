//! Makes the JSON schema of a reply and the list of relations from the ontology.

use std::fmt::Write;

use serde_json::{Value, json};
use strum::VariantNames;

use super::{super::dialect::Schema, proposal::Mark};
use recall_domain::{EntityType, MessageKind, NameChange, Ontology, Polarity, Relation, Word};

/// The name of the speaker in prompts and replies.
pub(super) const SPEAKER: &str = "SPEAKER";

/// Returns the schema for one message. It is strict: all properties are required and no others allowed.
pub(super) fn of(ontology: &Ontology) -> Schema {
    Schema { name: "extraction", schema: object(shape(ontology)) }
}

/// Returns the schema for a batch of numbered messages.
pub(super) fn batch_schema_of(ontology: &Ontology) -> Schema {
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

/// Returns the properties for one message.
fn shape(ontology: &Ontology) -> Value {
    let relations: Vec<&str> = listed(ontology).map(|r| r.name.as_str()).collect();
    let word = |words: &[&str]| json!({ "type": "string", "enum": words });
    let text = json!({ "type": "string" });
    let entity = object(json!({ "name": text, "words": text, "type": word(EntityType::VARIANTS) }));
    let fact = object(json!({
        "quote": text,
        "subject": text,
        "relation": word(&relations),
        "object": text,
        "polarity": word(Polarity::VARIANTS),
        "mark": word(Mark::VARIANTS),
    }));
    let name = object(json!({ "name": text, "of": text, "change": word(NameChange::VARIANTS) }));
    json!({
        "kind": word(MessageKind::VARIANTS),
        "entities": { "type": "array", "items": entity },
        "facts": { "type": "array", "items": fact },
        "names": { "type": "array", "items": name },
    })
}

/// Returns the relations as lines of the instructions.
pub(super) fn relations(ontology: &Ontology) -> String {
    let any = |types: &[EntityType]| {
        if types.is_empty() { "anything".to_owned() } else { types.iter().map(|t| t.word()).collect::<Vec<_>>().join(" or ") }
    };
    listed(ontology).fold(String::new(), |mut lines, r| {
        let _ = writeln!(lines, "- {}: {} -> {}. {}", r.name, any(&r.subject_types), any(&r.object_types), r.description);
        lines
    })
}

/// Returns the relations that a model may state. It marks a plan instead of stating the relation of plans.
fn listed(ontology: &Ontology) -> impl Iterator<Item = &Relation> {
    ontology.iter().filter(|r| !r.plan && !r.has_values())
}
