//! REST returns the same data and codes as GraphQL.

use serde_json::{Value, json};

use super::harness::{ANNA, BORIS, Server, VISITOR, text};

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
        (json!({ "text": "Hi" }), 400, "UNKNOWN_FIELD"),
        (json!({ "message": "Hi", "message_": "Hi" }), 400, "UNKNOWN_FIELD"),
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
    let query = "{ context(input: { query: \"Where does John live?\" }) { methodsUsed route { chosen reason } messages { score methods message { id text } }
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
    assert_eq!(rest["route"]["chosen"], text(&graphql["route"]["chosen"]).to_lowercase());
    assert_eq!(rest["route"]["reason"], graphql["route"]["reason"]);
    for (route, methods) in [("graph", json!(["graph"])), ("vector", json!(["vector", "keyword"]))] {
        let path = format!("/context/{session}?q=Where%20does%20John%20live%3F&route={route}");
        let forced: Value = server.get(ANNA, &path).send().await.unwrap().json().await.unwrap();
        assert_eq!((&forced["route"], &forced["methods_used"]), (&json!({ "chosen": route, "reason": "requested" }), &methods));
    }
    assert_eq!(server.get(ANNA, &format!("/context/{session}?q=a&route=x")).send().await.unwrap().status(), 400);

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

/// Reads a list of Anna's page by page, following the links, and returns all items.
async fn pages(server: &Server, path: &str) -> Vec<Value> {
    let (mut items, mut path) = (Vec::new(), path.to_owned());
    loop {
        let response = server.get(ANNA, &path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let link = response.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
        let page: Value = response.json().await.unwrap();
        items.extend(page["items"].as_array().unwrap().clone());
        assert_eq!(link.is_some(), page["next"].is_string(), "{page}");
        let Some(link) = link else { return items };
        path = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned();
    }
}

#[tokio::test]
async fn rest_lists_equal_graphql_lists() {
    let server = Server::start().await;
    let (first, second) = (server.session(ANNA).await, server.session(ANNA).await);
    server.fact(ANNA, &first, ["John", "LIVES_IN", "Ghent"]).await;
    server.fact(ANNA, &first, ["John", "LIVES_IN", "Rome"]).await;
    server.fact(ANNA, &second, ["Mary", "LIKES", "John"]).await;
    for n in 0..5 {
        server.say(ANNA, &second, &format!("This is message {n}.")).await;
    }
    let query = "query($s: ID!) { sessions { nodes { id title head createdAt } } session(id: $s) { messages { nodes { id text status } } }
        facts { nodes { id relation phrase weight relativeWeight subject { name } object { id } } } entities { nodes { id name type mentionCount } } }";
    let graphql = server.data(ANNA, query, json!({ "s": second })).await;
    let pairs = [
        ("/sessions?first=1", "/sessions/nodes", [("session_id", "/id"), ("head", "/head"), ("title", "/title")]),
        (&format!("/sessions/{second}/messages?first=2"), "/session/messages/nodes", [("id", "/id"), ("text", "/text"), ("id", "/id")]),
        ("/facts?first=2", "/facts/nodes", [("fact_id", "/id"), ("entity", "/subject/name"), ("relative_weight", "/relativeWeight")]),
        ("/entities?first=3", "/entities/nodes", [("entity_id", "/id"), ("name", "/name"), ("mention_count", "/mentionCount")]),
    ];
    for (path, list, fields) in pairs {
        let (rest, graphql) = (pages(&server, path).await, graphql.pointer(list).unwrap().as_array().unwrap());
        assert!(rest.len() > 1 && rest.len() == graphql.len(), "{path}: {rest:#?}");
        for (one, other) in rest.iter().zip(graphql) {
            for (name, pointer) in fields {
                assert_eq!(Some(&one[name]), other.pointer(pointer), "{path}: {name}");
            }
        }
    }
    assert_eq!(pages(&server, "/facts?relation=LIKES").await.len(), 1);
    assert_eq!(pages(&server, &format!("/facts?session_id={first}&first=1&status=ACTIVE")).await.len(), 2);
    assert_eq!(pages(&server, "/facts?text=rom").await[0]["target"], "Rome");
    assert_eq!(pages(&server, "/entities?text=mary&type=Place").await.len(), 0);
    let john = pages(&server, "/entities?text=john").await[0]["entity_id"].clone();
    assert_eq!(pages(&server, &format!("/facts?subject_id={}&min_belief=0.1", text(&john))).await.len(), 2);
}

#[tokio::test]
async fn refused_rest_lists_name_the_parameter() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    for (path, status, code, parameter) in [
        ("/sessions?first=0", 400, "INVALID_PAGE_SIZE", "first"),
        ("/sessions?first=101", 400, "INVALID_PAGE_SIZE", "first"),
        ("/sessions?after=x", 400, "BAD_CURSOR", "after"),
        ("/sessions/7/messages", 404, "NOT_FOUND", ""),
        (&format!("/sessions/{session}/messages?first=-1"), 400, "INVALID_PAGE_SIZE", "first"),
        ("/facts?status=lost", 400, "UNKNOWN_STATUS", "status"),
        ("/facts?relation=LIKE", 400, "UNKNOWN_RELATION", "relation"),
        ("/facts?min_belief=2", 400, "INVALID_BELIEF", "min_belief"),
        ("/facts?subject_id=7", 400, "INVALID_ID", "subject_id"),
        ("/facts?as_of=yesterday", 400, "BAD_REQUEST", "as_of"),
        ("/facts?first=abc", 400, "BAD_REQUEST", "first"),
        ("/facts?min_belief=x", 400, "BAD_REQUEST", "min_belief"),
        ("/facts?shared=maybe", 400, "BAD_REQUEST", "shared"),
        ("/facts?text=a&text=b", 400, "BAD_REQUEST", "text"),
        ("/facts?unknown=1", 400, "UNKNOWN_PARAMETER", "unknown"),
        ("/entities?kind=person", 400, "UNKNOWN_PARAMETER", "kind"),
        ("/sessions?archive=true", 400, "UNKNOWN_PARAMETER", "archive"),
        (&format!("/sessions/{session}/messages?last=1"), 400, "UNKNOWN_PARAMETER", "last"),
        ("/documents?current=perhaps", 400, "BAD_REQUEST", "current"),
        ("/documents?collections=a", 400, "UNKNOWN_PARAMETER", "collections"),
        ("/entities?type=king", 400, "UNKNOWN_TYPE", "type"),
        ("/entities?session_id=7", 400, "INVALID_ID", "session_id"),
    ] {
        let response = server.get(ANNA, path).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], code, "{path}");
        assert_eq!(problem["path"].as_array().map_or("", |p| p[0].as_str().unwrap()), parameter, "{path}");
        assert!(!text(&problem["detail"]).contains("encoding"), "{problem}");
    }
    server.begin_visit().await;
    assert_eq!(server.get(VISITOR, "/facts?shared=true").send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn chat_waits_for_the_answer_if_preferred() {
    let server = Server::start().await;
    let work = server.work();
    let session = server.session(ANNA).await;
    server.fact(ANNA, &session, ["John", "LIVES_IN", "Ghent"]).await;
    let chat = async |prefer: &str, message: &str| {
        let request = server.post(ANNA, "/chat").header("prefer", prefer);
        let response = request.json(&json!({ "session_id": session, "message": message })).send().await.unwrap();
        let applied = response.headers().get("preference-applied").map(|v| v.to_str().unwrap().to_owned());
        (response.status().as_u16(), applied, response.json::<Value>().await.unwrap())
    };
    let (status, applied, answer) = chat("wait=60", "Where does John live?").await;
    assert_eq!((status, applied.as_deref()), (200, Some("wait=60")), "{answer:#}");
    assert_eq!((&answer["status"], &answer["grounded"]), (&json!("answered"), &json!(true)));
    assert!(text(&answer["llm_response"]).contains("Ghent"), "{answer:#}");
    assert!(answer["citations"][0]["index"] == 1 && answer["citations"][0]["message_id"].is_string(), "{answer:#}");
    let query = "query($id: ID!) { message(id: $id) { answer { id text } } }";
    let read = server.data(ANNA, query, json!({ "id": answer["message_id"] })).await["message"]["answer"].clone();
    assert_eq!((&read["id"], &read["text"]), (&answer["answer_id"], &answer["llm_response"]));

    // A statement gets no answer, so the response does not wait for one.
    let (status, applied, stored) = chat("wait=60", "John likes Mary.").await;
    assert_eq!((status, applied.as_deref(), &stored["status"]), (202, Some("wait=60"), &json!("processed")));
    assert_eq!((&stored["llm_response"], stored.get("citations")), (&Value::Null, None));
    let (status, applied, stored) = chat("respond-async", "Where does Mary live?").await;
    assert_eq!((status, applied, &stored["llm_response"]), (202, None, &json!("pending")));
    work.shutdown(std::time::Duration::from_secs(10)).await;

    // Nobody works now, so the time passes.
    let (status, applied, stored) = chat("wait=1", "Where does John live?").await;
    assert_eq!((status, applied.as_deref()), (202, Some("wait=1")));
    assert_eq!((&stored["status"], &stored["llm_response"]), (&json!("processing"), &json!("pending")));
}

#[tokio::test]
async fn chat_that_waits_ends_with_the_server() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let request = server.post(ANNA, "/chat").header("prefer", "wait=60");
    let request = request.json(&json!({ "session_id": session, "message": "Where does John live?" }));
    let waiting = tokio::spawn(request.send());
    while server.hub().stats().subscribers == 0 {
        tokio::task::yield_now().await;
    }
    server.stop().await;
    assert_eq!(waiting.await.unwrap().unwrap().status(), 202);
}
