//! Writes the passages for the model, and the schema of its reply.

use serde_json::{Value, json};
use strum::VariantNames;

use crate::dialect::Schema;
use recall_domain::PointKind;
use recall_ports::ComparisonTask;

/// Returns the letter of a document: `A` for the first.
pub(super) fn letter(document: usize) -> String {
    u8::try_from(document).ok().and_then(|n| b'A'.checked_add(n)).map_or_else(String::new, |letter| char::from(letter).to_string())
}

/// The question, the documents and the passages as JSON: what people wrote stays inside its quotes. Passages are numbered from 1.
pub(super) fn shown(task: &ComparisonTask) -> String {
    let documents = task.documents.iter().enumerate().map(|(n, of)| {
        let (document, title) = (&of.document, of.document.title.as_ref());
        json!({ "letter": letter(n), "file": document.filename.as_str(), "version": document.version, "title": title.map(|t| t.as_str()) })
    });
    let mut n = 0;
    let groups = task.groups.iter().map(|group| {
        let passages = group.iter().map(|passage| {
            n += 1;
            let heading = passage.chunk.heading.as_ref().map(|heading| heading.as_str());
            json!({ "n": n, "document": letter(passage.document), "heading": heading, "text": passage.chunk.text.as_str() })
        });
        passages.collect::<Vec<Value>>()
    });
    let groups: Vec<_> = groups.collect();
    let mut shown = json!({ "documents": documents.collect::<Vec<Value>>(), "groups": groups });
    if let Some(question) = &task.question {
        shown["question"] = json!(question.as_str());
    }
    shown.to_string()
}

/// Returns the schema of a reply. It is strict: all properties are required and no others allowed.
pub(super) fn schema() -> Schema {
    let object = |properties: Value| {
        let required: Vec<String> = properties.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    let list = |items: Value| json!({ "type": "array", "items": items });
    let text = json!({ "type": "string" });
    let quote = object(json!({ "passage": { "type": "integer" }, "words": text }));
    let kind = json!({ "type": "string", "enum": PointKind::VARIANTS });
    let point = object(json!({ "kind": kind, "text": text, "quotes": list(quote), "silent": list(text.clone()) }));
    Schema { name: "comparison", schema: object(json!({ "points": list(point) })) }
}
