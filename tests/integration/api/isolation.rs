//! Two users of one server: neither can see, change or count data of the other.

use serde_json::{Value, json};

use super::harness::{ANNA, BORIS, Server, text};

#[tokio::test]
async fn foreign_ids_look_like_unknown_ids() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let message = server.say(ANNA, &session, "The code of the safe is 4711.").await;
    let fact = server.fact(ANNA, &session, ["Mary", "LIVES_IN", "Lyon"]).await;
    let data = server.data(ANNA, "query($id: ID!) { fact(id: $id) { subject { id } } }", json!({ "id": fact })).await;
    let entity = text(&data["fact"]["subject"]["id"]);
    let own = server.session(BORIS).await;
    let own_fact = server.fact(BORIS, &own, ["Peter", "LIVES_IN", "Ghent"]).await;
    let data = server.data(BORIS, "query($id: ID!) { fact(id: $id) { subject { id } } }", json!({ "id": own_fact })).await;
    let own_entity = text(&data["fact"]["subject"]["id"]);

    let ids = json!({ "s": session, "m": message, "e": entity, "f": fact });
    let seen = server.data(BORIS, "query($s: ID!, $m: ID!, $e: ID!, $f: ID!) { session(id: $s) { id } message(id: $m) { id } entity(id: $e) { id } fact(id: $f) { id }
        facts(filter: { entityId: $e }) { totalCount nodes { id } } bySession: facts(filter: { sessionId: $s }) { totalCount }
        entities(filter: { sessionId: $s }) { totalCount } byText: facts(filter: { text: \"Lyon\" }) { totalCount }
        context(input: { query: \"What is the code of the safe?\" }) { messages { message { text } } facts { score } }
        resolveEntity(input: { mention: \"Mary\" }) { entity { id } candidates { confidence } } }", ids).await;
    let none = json!({ "totalCount": 0 });
    assert_eq!(seen["session"], Value::Null);
    assert_eq!(seen["message"], Value::Null);
    assert_eq!(seen["entity"], Value::Null);
    assert_eq!(seen["fact"], Value::Null);
    assert_eq!(seen["facts"], json!({ "totalCount": 0, "nodes": [] }));
    assert_eq!((&seen["bySession"], &seen["entities"], &seen["byText"]), (&none, &none, &none));
    assert!(!seen["context"].to_string().contains("4711"), "{seen:#}");
    assert_eq!(seen["resolveEntity"], json!({ "entity": null, "candidates": [] }));

    let unknown = uuid::Uuid::from_u128(7).to_string();
    for (mutation, foreign) in [
        ("sendMessage(input: { sessionId: $id, text: \"Hello\" })", &session),
        ("importMessages(input: { sessionId: $id, messages: [{ text: \"Hello\" }] })", &session),
        ("deleteSession(input: { id: $id })", &session),
        ("assertFact(input: { sessionId: $id, subject: \"A\", relation: \"LIKES\", object: \"B\" })", &session),
        ("cancelAnswer(input: { messageId: $id })", &message),
        ("retractFact(input: { id: $id })", &fact),
        ("restoreFact(input: { id: $id })", &fact),
        ("updateSession(input: { sessionId: $id, title: \"Plans\" })", &session),
        ("forget(input: { factIds: [$id], dryRun: false })", &fact),
        ("forget(input: { messageIds: [$id], dryRun: false })", &message),
        ("deleteMessage(input: { messageId: $id })", &message),
        ("renameEntity(input: { id: $id, name: \"Eve\" })", &entity),
        ("retypeEntity(input: { id: $id, type: PLACE })", &entity),
        ("updateSession(input: { sessionId: $id, pinned: true })", &session),
        ("mergeEntities(input: { intoId: $own, fromId: $id, dryRun: true })", &entity),
        ("mergeEntities(input: { intoId: $own, fromId: $id })", &entity),
        ("mergeEntities(input: { intoId: $id, fromId: $own })", &entity),
    ] {
        let uses_own = mutation.contains("$own");
        let head = if uses_own { "$id: ID!, $own: ID!" } else { "$id: ID!" };
        let query = format!("mutation({head}) {{ result: {mutation} {{ errors {{ code message path }} }} }}");
        let variables = |id: &str| if uses_own { json!({ "id": id, "own": own_entity }) } else { json!({ "id": id }) };
        let as_foreign = server.data(BORIS, &query, variables(foreign)).await;
        let as_unknown = server.data(BORIS, &query, variables(&unknown)).await;
        assert_eq!(as_foreign, as_unknown, "{mutation}");
        assert_eq!(as_foreign["result"]["errors"][0]["code"], "NOT_FOUND", "{mutation}");
    }

    for path in [format!("/context/{session}?q=safe"), format!("/sessions/{session}/events")] {
        assert_eq!(server.get(BORIS, &path).send().await.unwrap().status(), 404, "{path}");
    }
    let after = server.data(ANNA, "query($s: ID!, $e: ID!, $f: ID!) { session(id: $s) { messages { totalCount } } entity(id: $e) { name } fact(id: $f) { status } }",
        json!({ "s": session, "e": entity, "f": fact })).await;
    assert_eq!(
        after,
        json!({ "session": { "messages": { "totalCount": 2 } }, "entity": { "name": "Mary" }, "fact": { "status": "ACTIVE" } })
    );
}
