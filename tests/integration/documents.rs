//! Operations by document id, allow-listed documents, hidden schema, and the cost in answers.
//! The tests run the built binary, because they need the operator's file and settings.

use serde_json::{Value, json};

use crate::server::Server;

async fn post(server: &Server, body: Value) -> (u16, Value) {
    let answer = server.http.post(server.url("/graphql")).header("accept", "application/graphql-response+json").json(&body).send();
    let answer = answer.await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn code(body: &Value) -> &str {
    body["errors"][0]["extensions"]["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn answer_contains_cost_and_schema_is_visible_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let (_, one) = post(&server, json!({ "query": "{ viewer { id } }" })).await;
    let (_, many) = post(&server, json!({ "query": "{ sessions(first: 50) { nodes { id title } } }" })).await;
    let cost = |body: &Value| body["extensions"]["cost"]["requested"].as_u64().unwrap();
    assert_eq!((cost(&one), &one["extensions"]["cost"]["depth"]), (2, &json!(2)), "{one}");
    assert!(cost(&many) > 50 && many["extensions"]["cost"]["limit"].as_u64().unwrap() > cost(&many), "{many}");
    let (_, schema) = post(&server, json!({ "query": "{ __schema { queryType { name } } }" })).await;
    assert_eq!(schema["data"]["__schema"]["queryType"]["name"], "Query");
    let unknown = json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": "ab".repeat(32) } } });
    let (status, body) = post(&server, unknown).await;
    assert_eq!((status, code(&body)), (400, "PERSISTED_QUERY_NOT_FOUND"), "{body}");
}

#[tokio::test]
async fn only_listed_documents_run_when_required() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("documents.json");
    let text = "query Who { viewer { id role } }";
    std::fs::write(&list, json!({ "who": text, "open": "mutation { createSession(input: {}) { session { id } } }" }).to_string()).unwrap();
    let env = [
        ("RECALL_GRAPHQL_DOCUMENTS", list.to_str().unwrap()),
        ("RECALL_GRAPHQL_DOCUMENTS_ONLY", "true"),
        ("RECALL_GRAPHQL_INTROSPECTION", "false"),
    ];
    let server = Server::start_with(folder.path(), &env);
    for body in [
        json!({ "documentId": "who" }),
        json!({ "query": text }),
        json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": "who" } } }),
    ] {
        let (status, answer) = post(&server, body).await;
        assert_eq!((status, &answer["data"]["viewer"]["role"]), (200, &json!("ADMIN")), "{answer}");
    }
    for (body, expected) in [
        (json!({ "query": "query Who { viewer { id role name } }" }), "DOCUMENT_NOT_LISTED"),
        (json!({ "query": "{ __schema { queryType { name } } }" }), "DOCUMENT_NOT_LISTED"),
        (json!({ "query": "{ viewer { id } }", "documentId": "who" }), "DOCUMENT_NOT_LISTED"),
        (json!({ "documentId": "other" }), "PERSISTED_QUERY_NOT_FOUND"),
        (json!({ "documentId": "" }), "PERSISTED_QUERY_NOT_FOUND"),
        (json!({}), "QUERY_REQUIRED"),
    ] {
        let (status, answer) = post(&server, body.clone()).await;
        assert_eq!((status, code(&answer)), (400, expected), "{body}: {answer}");
    }
    // GET runs a query and no mutation, by id or text.
    let get = async |query: &str| {
        let answer = server.http.get(server.url(&format!("/graphql?{query}"))).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    assert_eq!(get("documentId=who").await.1["data"]["viewer"]["role"], "ADMIN");
    assert_eq!(get("documentId=open").await.0, 405);
    let bundled: Value = serde_json::from_str(include_str!("../../web-demo/documents.json")).unwrap();
    let start = bundled.as_object().unwrap().values().find(|t| t.as_str().unwrap().starts_with("query Start")).unwrap();
    assert!(post(&server, json!({ "query": start })).await.1["data"]["relations"].is_array(), "the demo does not work");
}

#[tokio::test]
async fn disabled_introspection_hides_schema_and_suggestions() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &[("RECALL_GRAPHQL_INTROSPECTION", "false")]);
    let (_, schema) = post(&server, json!({ "query": "{ __schema { types { name } } __type(name: \"Viewer\") { name } }" })).await;
    assert!(!schema.to_string().contains("Viewer"), "{schema}");
    let (_, wrong) = post(&server, json!({ "query": "{ viewr { id } }" })).await;
    assert!(wrong["errors"].is_array() && !wrong.to_string().contains("viewer"), "{wrong}");
    assert!(post(&server, json!({ "query": "{ viewer { __typename } }" })).await.1["data"]["viewer"]["__typename"].is_string());
}
