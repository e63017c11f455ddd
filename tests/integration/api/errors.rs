//! Errors have a stable code, a sentence that says what to do, and the argument's path in its interface.

use serde_json::{Value, json};

use super::harness::{ANNA, Server, text};

/// Whether a message follows the style of all error sentences.
fn is_sentence(message: &Value) -> bool {
    let message = text(message);
    let begins = message.starts_with(|c: char| c.is_uppercase() || c == '`');
    begins && message.ends_with('.') && message.len() > 20 && !message.contains("input.")
}

#[tokio::test]
async fn refused_mutation_names_argument_within_input() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    server.fact(ANNA, &session, ["John", "LIKES", "Mary"]).await;
    let john = server.data(ANNA, "{ entities { nodes { id name } } }", json!({})).await["entities"]["nodes"][0]["id"].clone();
    let nowhere = json!(uuid::Uuid::nil());
    let of = |more: Value| {
        let mut input = json!({ "sessionId": session, "text": "Hi." });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let fact = |relation: &str| json!({ "sessionId": session, "subject": "John", "relation": relation, "object": "Mary" });
    for (mutation, input, code, path) in [
        ("sendMessage", of(json!({ "text": "" })), "TEXT_EMPTY", "text"),
        ("sendMessage", of(json!({ "text": "x".repeat(70_000) })), "TEXT_TOO_LONG", "text"),
        ("sendMessage", of(json!({ "sessionId": "7" })), "INVALID_ID", "sessionId"),
        ("sendMessage", of(json!({ "sessionId": nowhere })), "NOT_FOUND", "sessionId"),
        ("sendMessage", of(json!({ "speaker": "a\nb" })), "NAME_CONTROL_CHARACTERS", "speaker"),
        ("sendMessage", of(json!({ "clientMessageId": "" })), "CLIENT_ID_EMPTY", "clientMessageId"),
        ("sendMessage", of(json!({ "sentAt": "2999-01-01T00:00:00Z" })), "SENT_AT_IN_FUTURE", "sentAt"),
        ("sendMessage", of(json!({ "sourceMetadata": { "a": "x".repeat(20_000) } })), "METADATA_TOO_LARGE", "sourceMetadata"),
        ("importMessages", json!({ "sessionId": session, "messages": [] }), "IMPORT_SIZE", "messages"),
        ("importMessages", json!({ "sessionId": nowhere, "messages": [{ "text": "Hi." }] }), "NOT_FOUND", "sessionId"),
        ("createSession", json!({ "title": " " }), "TITLE_EMPTY", "title"),
        ("deleteSession", json!({ "id": nowhere }), "NOT_FOUND", "id"),
        ("assertFact", fact("BOGUS"), "UNKNOWN_RELATION", "relation"),
        ("assertFact", json!({ "sessionId": session, "subject": "John", "relation": "LIKES", "object": "john" }), "SAME_SIDES", "object"),
        ("retractFact", json!({ "id": nowhere }), "NOT_FOUND", "id"),
        ("updateSession", json!({ "sessionId": nowhere, "title": "Plans" }), "NOT_FOUND", "sessionId"),
        ("updateSession", json!({ "sessionId": session, "title": " " }), "TITLE_EMPTY", "title"),
        ("forget", json!({}), "NOTHING_NAMED", "query"),
        ("forget", json!({ "query": "" }), "QUERY_EMPTY", "query"),
        ("forget", json!({ "factIds": [nowhere] }), "NOT_FOUND", "factIds"),
        ("forget", json!({ "messageIds": ["7"] }), "INVALID_ID", "messageIds"),
        ("undoForget", json!({ "token": nowhere }), "NOT_FOUND", "token"),
        ("undoForget", json!({ "token": "x" }), "NOT_FOUND", "token"),
        ("deleteMessage", json!({ "messageId": nowhere }), "NOT_FOUND", "messageId"),
        ("renameEntity", json!({ "id": nowhere, "name": "Jo" }), "NOT_FOUND", "id"),
        ("renameEntity", json!({ "id": john, "name": "" }), "NAME_EMPTY", "name"),
        ("retypeEntity", json!({ "id": nowhere, "type": "PLACE" }), "NOT_FOUND", "id"),
        ("updateSession", json!({ "sessionId": nowhere, "pinned": true }), "NOT_FOUND", "sessionId"),
        ("mergeEntities", json!({ "intoId": john, "fromId": john, "dryRun": true }), "SAME_ENTITY", "fromId"),
        ("mergeEntities", json!({ "intoId": john, "fromId": john }), "SAME_ENTITY", "fromId"),
        ("unmergeEntities", json!({ "entityId": john }), "NOT_MERGED", "entityId"),
        ("openEventStream", json!({ "sessionId": session, "offer": "x" }), "BAD_SDP", "offer"),
        ("openEventStream", json!({ "sessionId": nowhere, "offer": super::streams::OFFER }), "NOT_FOUND", "sessionId"),
    ] {
        let kind = mutation[..1].to_uppercase() + &mutation[1..] + "Input!";
        let query = format!("mutation($input: {kind}) {{ {mutation}(input: $input) {{ errors {{ code message path }} }} }}");
        let error = server.data(ANNA, &query, json!({ "input": input })).await[mutation]["errors"][0].clone();
        assert_eq!((&error["code"], &error["path"]), (&json!(code), &json!(["input", path])), "{mutation}: {error}");
        assert!(is_sentence(&error["message"]), "{error}");
    }
}

#[tokio::test]
async fn refused_query_names_argument_in_extensions() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let nowhere = uuid::Uuid::nil();
    for (query, code, path) in [
        ("{ fact(id: \"7\") { id } }".to_owned(), "INVALID_ID", json!(["id"])),
        ("{ sessions(first: 0) { totalCount } }".to_owned(), "INVALID_PAGE_SIZE", json!(["first"])),
        ("{ sessions(after: \"zzz\") { nodes { id } } }".to_owned(), "BAD_CURSOR", json!(["after"])),
        ("{ context(input: { query: \"\" }) { methodsUsed } }".to_owned(), "QUERY_EMPTY", json!(["input", "query"])),
        ("{ context(input: { query: \"a\", first: 0 }) { methodsUsed } }".to_owned(), "INVALID_PAGE_SIZE", json!(["input", "first"])),
        (
            format!("{{ context(input: {{ query: \"a\", scope: SESSION, sessionId: \"{nowhere}\" }}) {{ methodsUsed }} }}"),
            "NOT_FOUND",
            json!(["input", "sessionId"]),
        ),
        ("{ resolveEntity(input: { mention: \"\" }) { confidence } }".to_owned(), "NAME_EMPTY", json!(["input", "mention"])),
        ("{ facts(filter: { minBelief: 2 }) { totalCount } }".to_owned(), "INVALID_BELIEF", json!(["filter", "minBelief"])),
        ("{ facts(filter: { subjectId: \"x\" }) { totalCount } }".to_owned(), "INVALID_ID", json!(["filter", "subjectId"])),
        ("{ facts(filter: { relation: \"BOGUS\" }) { totalCount } }".to_owned(), "UNKNOWN_RELATION", json!(["filter", "relation"])),
        (format!("{{ session(id: \"{session}\") {{ messages(first: 500) {{ totalCount }} }} }}"), "INVALID_PAGE_SIZE", json!(["first"])),
    ] {
        let error = server.graphql(ANNA, &query, json!({})).await["errors"][0].clone();
        assert_eq!((&error["extensions"]["code"], &error["extensions"]["path"]), (&json!(code), &path), "{query}: {error}");
        assert!(is_sentence(&error["message"]), "{error}");
    }
}

#[tokio::test]
async fn unknown_relation_error_suggests_nearest_relation() {
    let server = Server::start().await;
    for (given, near) in [("LIKE", "LIKES"), ("lives_in", "LIVES_IN"), ("DISLIKE", "DISLIKES"), ("BOGUS", "LIKES")] {
        let query = "query($r: String) { facts(filter: { relation: $r }) { totalCount } }";
        let error = server.graphql(ANNA, query, json!({ "r": given })).await["errors"][0].clone();
        assert!(text(&error["message"]).contains(&format!("Did you mean `{near}`?")), "{given}: {error}");
    }
    let none = server.data(ANNA, "{ facts(filter: { relation: \"LIKES\" }) { totalCount } }", json!({})).await;
    assert_eq!(none["facts"]["totalCount"], 0, "a relation without facts counts as unknown");
}

#[tokio::test]
async fn refused_rest_request_names_rest_field() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let nowhere = uuid::Uuid::nil();
    for (route, body, code, path) in [
        ("/chat", json!({ "message": "" }), "TEXT_EMPTY", "message"),
        ("/chat", json!({ "message": "Hi.", "session_id": "7" }), "INVALID_ID", "session_id"),
        ("/chat", json!({ "message": "Hi.", "session_id": nowhere }), "NOT_FOUND", "session_id"),
        ("/entity/resolve", json!({ "mention": "" }), "NAME_EMPTY", "mention"),
        ("/entity/resolve", json!({ "mention": "Mary", "type": "king" }), "UNKNOWN_TYPE", "type"),
        ("/entity/resolve", json!({ "mention": "Mary", "session_id": "7" }), "INVALID_ID", "session_id"),
        ("/entity/resolve", json!({ "mention": "Mary", "session_id": nowhere }), "NOT_FOUND", "session_id"),
    ] {
        let problem: Value = server.post(ANNA, route).json(&body).send().await.unwrap().json().await.unwrap();
        assert_eq!((&problem["code"], &problem["path"]), (&json!(code), &json!([path])), "{route} {body}: {problem}");
        assert!(is_sentence(&problem["detail"]), "{problem}");
    }
    for (query, code, path) in [
        ("", "QUERY_REQUIRED", "q"),
        ("?q=", "QUERY_EMPTY", "q"),
        ("?q=a&first=0", "INVALID_PAGE_SIZE", "first"),
        ("?q=a&scope=x", "INVALID_SCOPE", "scope"),
    ] {
        let problem: Value = server.get(ANNA, &format!("/context/{session}{query}")).send().await.unwrap().json().await.unwrap();
        assert_eq!((&problem["code"], &problem["path"]), (&json!(code), &json!([path])), "{query}: {problem}");
        assert!(is_sentence(&problem["detail"]), "{problem}");
    }
}
