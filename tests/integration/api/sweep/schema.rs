//! Reads the schema: which arguments take an id or a cursor, what can be selected, how to fill arguments.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Own;
use crate::api::harness::{BORIS, Server, text};

/// The types of the schema by name, from introspection.
pub(in crate::api) struct Schema(pub(super) BTreeMap<String, Value>);

const INTROSPECTION: &str = "{ __schema { types { name kind enumValues { name } possibleTypes { name }
    inputFields { name type { ...T } defaultValue } fields { name args { name type { ...T } defaultValue } type { ...T } } } } }
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

impl Schema {
    pub(in crate::api) async fn of(server: &Server) -> Self {
        let data = server.data(BORIS, INTROSPECTION, json!({})).await;
        let types = data["__schema"]["types"].as_array().unwrap().iter().map(|t| (text(&t["name"]), t.clone()));
        Self(types.filter(|(name, _)| !name.starts_with("__")).collect())
    }

    pub(super) fn fields(&self, name: &str) -> Vec<Value> {
        self.0[name]["fields"].as_array().cloned().unwrap_or_default()
    }

    pub(super) fn kind(&self, name: &str) -> String {
        text(&self.0[name]["kind"])
    }

    /// Selects scalars of a type, and objects down to `depth`; deeper lists of lists would only repeat.
    /// `alias` prefixes the field names in the answer.
    fn selection(&self, ty: &str, depth: usize, alias: &str) -> String {
        let mut chosen = Vec::new();
        for field in self.fields(ty) {
            let (name, inner) = (text(&field["name"]), named(&field["type"]));
            let needs = field["args"].as_array().unwrap().iter().any(|a| a["type"]["kind"] == "NON_NULL" && a["defaultValue"].is_null());
            assert!(!needs, "{ty}.{name} has a required argument: add it to the sweep");
            let shown = if alias.is_empty() { name.clone() } else { format!("{alias}{name}: {name}") };
            match self.kind(&inner).as_str() {
                "OBJECT" if depth == 0 => {}
                "OBJECT" => chosen.push(format!("{shown} {{ {} }}", self.selection(&inner, depth - 1, ""))),
                // These values differ from call to call.
                _ if ["embedMs", "vectorMs", "keywordMs", "graphMs", "totalMs"].contains(&name.as_str()) => {}
                _ => chosen.push(shown),
            }
        }
        if chosen.is_empty() { "__typename".to_owned() } else { chosen.join(" ") }
    }

    /// Returns the selection set for the type of a field.
    pub(super) fn selected(&self, ty: &str, depth: usize) -> String {
        match self.kind(ty).as_str() {
            "OBJECT" => format!("{{ {} }}", self.selection(ty, depth, "")),
            "INTERFACE" => {
                let possible = self.0[ty]["possibleTypes"].as_array().unwrap().iter().map(|possible| text(&possible["name"]));
                // Implementations may have fields of one name and different types, so each field gets its own alias.
                let of_type = possible.map(|name| format!("... on {name} {{ {} }}", self.selection(&name, depth - 1, &format!("{name}_"))));
                format!("{{ __typename {} }}", of_type.collect::<Vec<_>>().join(" "))
            }
            _ => String::new(),
        }
    }

    /// Collects the paths within an argument that take an id or a cursor.
    pub(super) fn places(&self, argument: &Value, path: Vec<String>, found: &mut Vec<Vec<String>>) {
        let path: Vec<String> = path.into_iter().chain([text(&argument["name"])]).collect();
        let ty = named(&argument["type"]);
        // Others of these names are times.
        let is_cursor = ty == "String" && ["after", "before"].contains(&path.last().unwrap().as_str());
        if ty == "ID" || is_cursor {
            found.push(path);
        } else if self.kind(&ty) == "INPUT_OBJECT" {
            for field in self.0[&ty]["inputFields"].as_array().unwrap() {
                self.places(field, path.clone(), found);
            }
        }
    }

    /// Fills the required parts of an argument, and puts `value` at the path `wanted`.
    pub(super) fn fill(&self, argument: &Value, own: &Own, wanted: &[String], value: &Value) -> Option<Value> {
        let (name, ty) = (text(&argument["name"]), &argument["type"]);
        // Without it the search would ignore the session, and every session would give the same answer.
        let scope = named(ty) == "ContextScope";
        // A fact has an object or a value; the relation of the tests takes an object.
        let stated = name == "object" && ty["kind"] == "SCALAR";
        let needed = scope || stated || ty["kind"] == "NON_NULL" && argument["defaultValue"].is_null();
        let on_the_way = wanted.first() == Some(&name);
        if !needed && !on_the_way {
            return None;
        }
        if on_the_way && wanted.len() == 1 {
            return Some(value.clone());
        }
        let inner = named(ty);
        let one = match self.kind(&inner).as_str() {
            "INPUT_OBJECT" => {
                let mut object = Map::new();
                let rest = if on_the_way { &wanted[1..] } else { &[] };
                for field in self.0[&inner]["inputFields"].as_array().unwrap() {
                    if let Some(value) = self.fill(field, own, rest, value) {
                        object.insert(text(&field["name"]), value);
                    }
                }
                Value::Object(object)
            }
            "ENUM" if scope => json!("SESSION"),
            "ENUM" => self.0[&inner]["enumValues"][0]["name"].clone(),
            _ => own.value(&name, &inner),
        };
        let is_list = ty["kind"] == "LIST" || ty["ofType"]["kind"] == "LIST";
        Some(if is_list { json!([one]) } else { one })
    }
}

pub(super) fn named(ty: &Value) -> String {
    if ty["ofType"].is_null() { text(&ty["name"]) } else { named(&ty["ofType"]) }
}

pub(super) fn written(ty: &Value) -> String {
    match ty["kind"].as_str().unwrap() {
        "NON_NULL" => format!("{}!", written(&ty["ofType"])),
        "LIST" => format!("[{}]", written(&ty["ofType"])),
        _ => text(&ty["name"]),
    }
}
