//! `openapi.json`: it is served, and it describes every route.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::{harness::Server, sweep};

/// Routes that the description leaves out.
const LEFT_OUT: &[(&str, &str)] = &[
    ("/graphql", "schema.graphql describes it"),
    ("/graphql/ws", "schema.graphql describes it"),
    ("/mcp", "the Model Context Protocol describes it"),
    ("/v1/responses", "the OpenAI protocol describes it"),
    ("/v1/chat/completions", "the OpenAI protocol describes it"),
    ("/v1/models", "the OpenAI protocol describes it"),
    ("/v1/models/{*model}", "the OpenAI protocol describes it"),
    ("/v1/embeddings", "the OpenAI protocol describes it"),
    ("/v1/memory", "its body is a chat request of the OpenAI protocol"),
    ("MCP_METADATA_PATH", "a standard describes it, and clients find it through a header"),
    ("METADATA_PATH", "a standard describes it, and clients find it through a header"),
    ("/auth/session", "for the pages of this server"),
    ("/auth/login", "for the pages of this server"),
    ("/auth/visit", "for the pages of this server"),
    ("/auth/adopt", "for the pages of this server"),
    ("/auth/callback", "for the login provider"),
    ("/auth/logout", "for the pages of this server"),
    ("/auth/backchannel-logout", "for the login provider"),
];

fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation)))
}

#[tokio::test]
async fn description_is_served_without_login_and_covers_every_route() {
    let server = Server::start().await;
    let response = server.http.get(server.url("/openapi.json")).send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["content-type"]), (200, &"application/json".parse().unwrap()));
    let text = response.text().await.unwrap();
    let committed = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json")).unwrap();
    assert!(text == recall_api::openapi() && text == committed, "run scripts/generate");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let described: BTreeSet<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    let left_out: BTreeSet<String> = LEFT_OUT.iter().map(|(route, _)| (*route).to_owned()).collect();
    assert_eq!(described.union(&left_out).cloned().collect::<BTreeSet<_>>(), sweep::routes(), "a route has no description");
    assert!(described.is_disjoint(&left_out));
}

#[test]
fn operations_are_complete() {
    let document: Value = serde_json::from_str(recall_api::openapi()).unwrap();
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let name = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{name} shares its id");
        assert!(operation["summary"].as_str().is_some_and(|summary| summary.ends_with('.')), "{name} has no summary");
        assert!(operation["security"].is_array() && operation["tags"][0].is_string(), "{name}");
        let problem = &operation["responses"]["default"]["content"]["application/problem+json"]["schema"]["$ref"];
        assert_eq!(problem, "#/components/schemas/Problem", "{name}");
        let named: BTreeSet<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let in_path = parameters.iter().filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect::<BTreeSet<_>>();
        assert_eq!(in_path, named, "{name}");
        let bare: Vec<_> = parameters.iter().filter(|p| p["description"].as_str().is_none_or(str::is_empty)).collect();
        assert!(bare.is_empty(), "{name} has parameters without a description: {bare:?}");
    }
}
