//! Relay's `node` field.

use serde_json::{Value, json};

use super::harness::{ADMIN, ANNA, BORIS, Server, text};

const NODE: &str = "query($id: ID!) { node(id: $id) { __typename id ... on Session { title } ... on Message { text } ... on Entity { name }
    ... on Fact { relation } } }";

async fn node(server: &Server, user: &str, id: &str) -> Value {
    server.data(user, NODE, json!({ "id": id })).await["node"].clone()
}

/// Returns the ids of a session, message, entity and fact.
async fn things(server: &Server, user: &str, session: String) -> [String; 4] {
    let message = server.say(user, &session, "Hello.").await;
    let fact = server.fact(user, &session, ["Peter", "LIVES_IN", "Ghent"]).await;
    let data = server.data(user, "query($id: ID!) { fact(id: $id) { subject { id } } }", json!({ "id": fact })).await;
    [session, message, text(&data["fact"]["subject"]["id"]), fact]
}

#[tokio::test]
async fn node_finds_every_kind_of_object() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let [session, message, entity, fact] = things(&server, ANNA, session).await;
    for (id, expected) in [
        (&session, json!({ "__typename": "Session", "id": session, "title": "Hello." })),
        (&message, json!({ "__typename": "Message", "id": message, "text": "Hello." })),
        (&entity, json!({ "__typename": "Entity", "id": entity, "name": "Peter" })),
        (&fact, json!({ "__typename": "Fact", "id": fact, "relation": "LIVES_IN" })),
    ] {
        assert_eq!(node(&server, ANNA, id).await, expected);
        assert_eq!(node(&server, BORIS, id).await, Value::Null, "another user's id is not treated as unknown");
    }
    assert_eq!(node(&server, ANNA, &uuid::Uuid::from_u128(7).to_string()).await, Value::Null);
    assert_eq!(server.code(ANNA, NODE, json!({ "id": "7" })).await, "INVALID_ID");
}

#[tokio::test]
async fn node_finds_shared_objects() {
    let server = Server::start().await;
    let session = server.shared_session().await;
    for id in things(&server, ADMIN, session).await {
        assert_eq!(node(&server, BORIS, &id).await["id"], id.as_str());
    }
}

#[tokio::test]
async fn node_of_merged_entity_is_null() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let [_, _, from, _] = things(&server, ANNA, session.clone()).await;
    let fact = server.fact(ANNA, &session, ["Pete", "LIVES_IN", "Ghent"]).await;
    let subject = "query($id: ID!) { fact(id: $id) { subject { id } } }";
    let into = text(&server.data(ANNA, subject, json!({ "id": fact })).await["fact"]["subject"]["id"]);
    let merge = "mutation($from: ID!, $into: ID!) { mergeEntities(input: { fromId: $from, intoId: $into }) { errors { code } } }";
    assert_eq!(server.data(ANNA, merge, json!({ "from": from, "into": into })).await["mergeEntities"]["errors"], json!([]));
    let entity = server.data(ANNA, "query($id: ID!) { entity(id: $id) { id } }", json!({ "id": from })).await;
    assert_eq!(entity["entity"]["id"], into.as_str());
    assert_eq!(node(&server, ANNA, &from).await, Value::Null, "`node` returned an object with another id");
    assert_eq!(node(&server, ANNA, &into).await["id"], into.as_str());
}

#[tokio::test]
async fn four_types_implement_node() {
    let server = Server::start().await;
    let query = "{ __type(name: \"Node\") { kind possibleTypes { name } } }";
    let data = server.data(ANNA, query, json!({})).await;
    assert_eq!(data["__type"]["kind"], "INTERFACE");
    let mut names: Vec<String> = data["__type"]["possibleTypes"].as_array().unwrap().iter().map(|t| text(&t["name"])).collect();
    names.sort();
    assert_eq!(names, ["Entity", "Fact", "Message", "Session"]);
}
