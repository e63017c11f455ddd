//! Tests of the catalogue: size, hints and schemas.

use serde_json::Value;

use super::*;

/// Most characters of all descriptions together. A model reads them with every question.
const MAX_DESCRIPTIONS: usize = 4_000;

/// Returns the descriptions in a schema.
fn descriptions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("description").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|inner| descriptions(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
        _ => {}
    }
}

#[test]
fn descriptions_fit_into_their_budget() {
    let tools = serde_json::to_value(list()).unwrap();
    let mut found = Vec::new();
    descriptions(&tools, &mut found);
    let total: usize = found.iter().map(|text| text.chars().count()).sum();
    println!("{total} characters of descriptions, {} of all definitions", tools.to_string().chars().count());
    assert!(total < MAX_DESCRIPTIONS, "{total}");
    assert!(found.iter().all(|text| !text.contains("  ")), "{found:#?}");
}

#[test]
fn tools_have_names_and_hints_of_the_contract() {
    let tools = serde_json::to_value(list()).unwrap();
    let hint = |tool: &Value, name: &str| tool["annotations"][name].as_bool();
    let found: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["name"].as_str().unwrap(), hint(t, "readOnlyHint"), hint(t, "destructiveHint"), hint(t, "idempotentHint")))
        .collect();
    assert_eq!(
        found,
        [
            ("remember", Some(false), Some(false), Some(false)),
            ("recall", Some(true), None, None),
            ("query_graph", Some(true), None, None),
            ("how_do_you_know", Some(true), None, None),
            ("forget", Some(false), Some(true), Some(true)),
            ("list_entities", Some(true), None, None),
            ("timeline", Some(true), None, None),
        ]
    );
}

#[test]
fn schemas_are_self_contained_objects() {
    let tools = serde_json::to_value(list()).unwrap();
    let arguments: Vec<Vec<&str>> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            assert_eq!((&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]), (&json!("object"), &json!("object")), "{tool:#}");
            assert!(!tool.to_string().contains("$ref"), "{tool:#}");
            tool["inputSchema"]["properties"].as_object().unwrap().keys().map(String::as_str).collect()
        })
        .collect();
    let names = |list: &[&'static str]| list.iter().map(|n| (*n).to_owned()).collect::<std::collections::BTreeSet<_>>();
    let expected: [&[&str]; 7] = [
        &["text", "speaker", "at"],
        &["query", "limit"],
        &["query", "entity", "entity_type", "relation", "as_of", "limit"],
        &["fact_id", "question"],
        &["query", "fact_ids", "entity_ids", "session_id", "after", "before", "dry_run"],
        &["type", "query"],
        &["entity"],
    ];
    for (found, expected) in arguments.iter().zip(expected) {
        assert_eq!(found.iter().map(|n| (*n).to_owned()).collect::<std::collections::BTreeSet<_>>(), names(expected));
    }
}

#[test]
fn refusal_is_a_tool_error_with_stable_code() {
    let refusal = Refusal::invalid("TEXT_EMPTY", "text", "The message is empty. Give it a text.");
    let result = serde_json::to_value(refused(&refusal)).unwrap();
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "TEXT_EMPTY: The message is empty. Give it a text.");
    assert_eq!(result["_meta"], json!({ "recall/code": "TEXT_EMPTY", "recall/path": "text" }));
}
