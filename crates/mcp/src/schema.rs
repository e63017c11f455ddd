//! JSON schemas of tools, as small as clients need them.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::Value;
use strum::VariantNames;

use recall_domain::EntityType;

/// Formats that validators know without plug-ins. They refuse or warn about others, such as `uint32`.
const KNOWN_FORMATS: [&str; 2] = ["date-time", "uuid"];

/// Returns the schema of a tool's arguments.
pub(crate) fn of_input<T: JsonSchema>() -> Arc<JsonObject> {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12());
    schema.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    // Clients of models check arguments before they send them, so a misspelt name is found there.
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    Arc::new(schema)
}

/// Returns the schema of a tool's result. Programs read it and models do not, so it has no descriptions.
pub(crate) fn of_output<T: JsonSchema>() -> Arc<JsonObject> {
    let mut schema = Value::Object(generate::<T>(SchemaSettings::draft2020_12().for_serialize()));
    each_schema(&mut schema, true, &mut |object| _ = object.remove("description"));
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// The schema of a type of entity: its words, without a description of each.
pub(crate) fn entity_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": EntityType::VARIANTS })
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let settings = settings.with(|s| s.inline_subschemas = true);
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    each_schema(&mut value, true, &mut strip);
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Calls a function for a schema and each schema in it.
fn each_schema(value: &mut Value, is_schema: bool, change: &mut impl FnMut(&mut JsonObject)) {
    match value {
        Value::Object(object) => {
            if is_schema {
                change(object);
            }
            for (name, inner) in object.iter_mut() {
                // The names below `properties` are those of fields, which may be called `title` or `format`.
                each_schema(inner, name != "properties", change);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_schema(item, true, change)),
        _ => {}
    }
}

/// Removes what only the generator needs: the dialect, titles, formats of Rust's numbers, and null as an alternative.
fn strip(schema: &mut JsonObject) {
    for name in ["$schema", "title"] {
        schema.remove(name);
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(|f| !KNOWN_FORMATS.contains(&f)) {
        schema.remove("format");
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(one) = schema.get("type").and_then(only_type) {
        schema.insert("type".to_owned(), one);
    }
}

/// Returns the type without its alternative `null`. Absent fields and arguments are left out instead.
fn only_type(types: &Value) -> Option<Value> {
    let types = types.as_array()?;
    let mut others = types.iter().filter(|t| *t != "null");
    match (others.next(), others.next()) {
        (Some(one), None) => Some(one.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
    struct Inner {
        title: String,
        format: Option<u32>,
    }

    #[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Outer {
        /// How many.
        limit: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inner: Option<Inner>,
    }

    #[test]
    fn schema_keeps_fields_named_like_keywords() {
        let schema = Value::Object((*of_input::<Outer>()).clone());
        assert_eq!(schema["properties"]["limit"]["type"], json!("integer"), "{schema:#}");
        assert_eq!(schema["properties"]["limit"]["description"], "How many.");
        let text = schema.to_string();
        assert!(!text.contains("$schema") && !text.contains("uint32") && !text.contains("$ref"), "{text}");
        assert!(text.contains("\"title\":{") && text.contains("\"format\":{"), "{text}");
    }
}
