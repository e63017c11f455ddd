//! REST returns the same data and codes as GraphQL.

use serde_json::{Value, json};

use super::harness::{ANNA, BORIS, Server, text};

#[tokio::test]
async fn chat_message_is_visible_through_graphql() {
    let server = Server::start().await;
    let response = server.post(ANNA, "/chat").json(&json!({ "message": "John likes Mary." })).send().await.unwrap();
    assert_eq!(response.status(), 202);
    let accepted: Value = response.json().await.unwrap();
    assert_eq!((&accepted["status"], &accepted["llm_response"]), (&json!("processing"), &json!("pending")));
    let read = server
        .data(ANNA, "query($id: ID!) { message(id: $id) { text role session { id } } }", json!({ "id": accepted["message_id"] }))
        .await;
    assert_eq!(read["message"], json!({ "text": "John likes Mary.", "role": "USER", "session": { "id": accepted["session_id"] } }));

    let more = json!({ "session_id": accepted["session_id"], "user_id": ANNA, "message": "Noted.", "role": "assistant" });
    assert_eq!(server.post(ANNA, "/chat").json(&more).send().await.unwrap().status(), 202);
    let read = server.data(ANNA, "{ sessions { totalCount nodes { messages { nodes { text } } } } }", json!({})).await;
    assert_eq!(read["sessions"]["totalCount"], 1);
    assert_eq!(read["sessions"]["nodes"][0]["messages"]["nodes"][1]["text"], "Noted.");
}

#[tokio::test]
async fn refused_rest_requests_are_problems_with_graphql_codes() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    for (body, status, code) in [
        (json!({ "message": "" }), 400, "TEXT_EMPTY"),
        (json!({ "message": "x".repeat(70_000) }), 400, "TEXT_TOO_LONG"),
        (json!({ "message": "Hi", "session_id": "7" }), 400, "INVALID_ID"),
        (json!({ "message": "Hi", "session_id": uuid::Uuid::nil() }), 404, "NOT_FOUND"),
        (json!({ "message": "Hi", "session_id": session, "user_id": BORIS }), 403, "FOREIGN_USER"),
        (json!({ "message": "Hi", "role": "king" }), 400, "BAD_JSON"),
        (json!({ "text": "Hi" }), 400, "BAD_JSON"),
    ] {
        let response = server.post(ANNA, "/chat").json(&body).send().await.unwrap();
        assert_eq!(response.status(), status, "{code}");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: Value = response.json().await.unwrap();
        assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)));
        assert!(problem["detail"].as_str().unwrap().len() > 10);
    }
    for (path, status) in
        [("/context/7?q=a", 404), (&format!("/context/{session}"), 400), (&format!("/context/{session}?q=a&first=0"), 400)]
    {
        assert_eq!(server.get(ANNA, path).send().await.unwrap().status(), status, "{path}");
    }
    let sessions = server.data(ANNA, "{ sessions { totalCount } }", json!({})).await;
    assert_eq!(sessions["sessions"]["totalCount"], 1, "a refused message created a session");
}

#[tokio::test]
async fn part_of_name_finds_every_bearer() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    for (name, city) in [("Carla Weber", "Ghent"), ("Carla Vogt", "Rome")] {
        let query = "mutation($input: AssertFactInput!) { assertFact(input: $input) { errors { code } } }";
        let of = json!({ "sessionId": session, "subject": name, "subjectType": "PERSON", "relation": "LIVES_IN", "object": city });
        assert_eq!(server.data(ANNA, query, json!({ "input": of })).await["assertFact"]["errors"], json!([]));
    }
    let named = async |question: &str| {
        let query = "query($q: String!) { context(input: { query: $q }) { facts { fact { object { name } } } } }";
        let data = server.data(ANNA, query, json!({ "q": question })).await;
        let facts = data["context"]["facts"].as_array().unwrap().clone();
        let mut names: Vec<String> = facts.iter().map(|f| text(&f["fact"]["object"]["name"]).to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(named("Where does Weber live?").await, ["Ghent"]);
    assert_eq!(named("Where does Carla live?").await, ["Ghent", "Rome"]);
    assert_eq!(named("Where does Carla Vogt live?").await, ["Rome"], "a full name also found partial matches");
    assert!(named("Where does Otto live?").await.is_empty());
}

#[tokio::test]
async fn rest_context_and_resolution_equal_graphql() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    server.fact(ANNA, &session, ["John", "LIKES", "Mary"]).await;
    server.fact(ANNA, &session, ["John", "LIVES_IN", "Ghent"]).await;
    server.say(ANNA, &session, "The weather in Ghent was fine on Monday.").await;

    let rest: Value =
        server.get(ANNA, &format!("/context/{session}?q=Where%20does%20John%20live%3F")).send().await.unwrap().json().await.unwrap();
    let query = "{ context(input: { query: \"Where does John live?\" }) { methodsUsed messages { score methods message { id text } }
        facts { score fact { id relation phrase relativeWeight subject { name } object { name } } } entities { id name } } }";
    let graphql = server.data(ANNA, query, json!({})).await["context"].clone();
    let pairs = |list: &Value, id: &dyn Fn(&Value) -> Value| -> Vec<(Value, f64)> {
        let score = |item: &Value| (item["score"].as_f64().unwrap() * 1e6).round() / 1e6;
        list.as_array().unwrap().iter().map(|item| (id(item), score(item))).collect()
    };
    assert!(!graphql["messages"].as_array().unwrap().is_empty() && !graphql["facts"].as_array().unwrap().is_empty(), "{graphql:#}");
    assert_eq!(pairs(&rest["messages"], &|m| m["message"]["id"].clone()), pairs(&graphql["messages"], &|m| m["message"]["id"].clone()));
    assert_eq!(pairs(&rest["facts"], &|f| f["fact"]["fact_id"].clone()), pairs(&graphql["facts"], &|f| f["fact"]["id"].clone()));
    let (one, other) = (&rest["facts"][0]["fact"], &graphql["facts"][0]["fact"]);
    assert_eq!(one["entity"], other["subject"]["name"]);
    assert_eq!(one["target"], other["object"]["name"]);
    assert_eq!(one["relation"], other["phrase"]);
    assert_eq!(one["relation_name"], other["relation"]);
    assert_eq!(one["relative_weight"], other["relativeWeight"]);
    assert_eq!(rest["entities"][0]["entity_id"], graphql["entities"][0]["id"]);

    let rest: Value =
        server.post(ANNA, "/entity/resolve").json(&json!({ "mention": "mary", "type": null })).send().await.unwrap().json().await.unwrap();
    let query = "{ resolveEntity(input: { mention: \"mary\" }) { canonicalForm confidence entity { id } candidates { confidence entity { id name } } } }";
    let graphql = server.data(ANNA, query, json!({})).await["resolveEntity"].clone();
    assert_eq!(text(&rest["canonical_form"]), "Mary");
    assert_eq!(rest["canonical_form"], graphql["canonicalForm"]);
    assert_eq!(rest["entity_id"], graphql["entity"]["id"]);
    assert_eq!(rest["confidence"], graphql["confidence"]);
    assert_eq!(rest["candidates"][0]["name"], graphql["candidates"][0]["entity"]["name"]);
}
