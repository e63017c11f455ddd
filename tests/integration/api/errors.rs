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
        ("sendMessage", of(json!({ "sentAt": "yesterday" })), "INVALID_TIME", "sentAt"),
        ("sendMessage", of(json!({ "collections": ["a b"] })), "COLLECTION_NAME", "collections"),
        ("forget", json!({ "sessionId": session, "before": "soon" }), "INVALID_TIME", "before"),
        ("importMessages", json!({ "sessionId": session, "messages": [] }), "IMPORT_SIZE", "messages"),
        ("importMessages", json!({ "sessionId": nowhere, "messages": [{ "text": "Hi." }] }), "NOT_FOUND", "sessionId"),
        ("createSession", json!({ "title": " " }), "TITLE_EMPTY", "title"),
        ("deleteSession", json!({ "id": nowhere }), "NOT_FOUND", "id"),
        ("assertFact", fact("BOGUS"), "UNKNOWN_RELATION", "relation"),
        ("assertFact", json!({ "sessionId": session, "subject": "John", "relation": "LIKES", "object": "john" }), "SAME_SIDES", "object"),
        ("retractFact", json!({ "id": nowhere }), "NOT_FOUND", "id"),
        ("restoreFact", json!({ "id": nowhere }), "NOT_FOUND", "id"),
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
async fn refused_import_names_the_message() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let import = async |messages: Vec<Value>| {
        let query =
            "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { messages { id } errors { code message path } } }";
        let input = json!({ "sessionId": session, "messages": messages });
        server.data(ANNA, query, json!({ "input": input })).await["importMessages"]["errors"].clone()
    };
    let good = json!({ "text": "Hi.", "externalId": "a" });
    for (wrong, code, field) in [
        (json!({ "text": " " }), "TEXT_EMPTY", "text"),
        (json!({ "text": "x".repeat(70_000) }), "TEXT_TOO_LONG", "text"),
        (json!({ "text": "Hi.", "role": "DOCUMENT" }), "ROLE_NOT_ALLOWED", "role"),
        (json!({ "text": "Hi.", "speaker": "a\nb" }), "NAME_CONTROL_CHARACTERS", "speaker"),
        (json!({ "text": "Hi.", "externalId": "" }), "CLIENT_ID_EMPTY", "externalId"),
        (json!({ "text": "Hi.", "sentAt": "2999-01-01T00:00:00Z" }), "SENT_AT_IN_FUTURE", "sentAt"),
        (json!({ "text": "Hi.", "sentAt": "yesterday" }), "INVALID_TIME", "sentAt"),
    ] {
        let errors = import(vec![good.clone(), good.clone(), wrong.clone(), wrong]).await;
        let expected = (&json!(code), &json!(["input", "messages", "2", field]));
        assert_eq!((&errors[0]["code"], &errors[0]["path"]), expected, "{errors}");
        assert!(is_sentence(&errors[0]["message"]), "{errors}");
    }
    let errors = import([vec![good.clone(); 500], vec![json!({ "text": "" })]].concat()).await;
    assert_eq!((&errors[0]["code"], &errors[0]["path"]), (&json!("IMPORT_SIZE"), &json!(["input", "messages"])));
    let count = server.data(ANNA, "query($id: ID!) { session(id: $id) { messages { totalCount } } }", json!({ "id": session })).await;
    assert_eq!(count["session"]["messages"]["totalCount"], 0, "a refused import stored something");
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
        ("{ facts(filter: { asOf: \"yesterday\" }) { totalCount } }".to_owned(), "INVALID_TIME", json!(["filter", "asOf"])),
        (
            "{ facts(filter: { differsBetween: { from: \"soon\" } }) { totalCount } }".to_owned(),
            "INVALID_TIME",
            json!(["filter", "differsBetween", "from"]),
        ),
        (
            "{ facts(filter: { differsBetween: { from: \"2024-03-01T00:00:00Z\", until: \"2024-02-01T00:00:00Z\" } }) { totalCount } }"
                .to_owned(),
            "INVALID_TIME_SPAN",
            json!(["filter", "differsBetween", "until"]),
        ),
        ("{ context(input: { query: \"a\", asOf: \"x\" }) { methodsUsed } }".to_owned(), "INVALID_TIME", json!(["input", "asOf"])),
        (
            "{ context(input: { query: \"a\", collections: [\"a b\"] }) { methodsUsed } }".to_owned(),
            "COLLECTION_NAME",
            json!(["input", "collections"]),
        ),
        ("{ viewer { usage(days: 0) { total { inputTokens } } } }".to_owned(), "INVALID_DAYS", json!(["days"])),
        ("{ viewer { usage(days: -1) { total { inputTokens } } } }".to_owned(), "INVALID_DAYS", json!(["days"])),
        ("{ viewer { usage(days: 367) { total { inputTokens } } } }".to_owned(), "INVALID_DAYS", json!(["days"])),
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
        ("/chat", json!({ "message": "Hi.", "session": session }), "UNKNOWN_FIELD", "session"),
        ("/chat", json!({ "message": "Hi.", "role": "king" }), "BAD_JSON", "role"),
        ("/chat", json!({}), "BAD_JSON", "message"),
        ("/chat", json!({ "message": "Hi.", "collections": ["a b"] }), "COLLECTION_NAME", "collections"),
        ("/forget", json!({ "session_id": session, "befor": "2020-01-01T00:00:00Z" }), "UNKNOWN_FIELD", "befor"),
        ("/forget", json!({ "session_id": session, "before": "soon" }), "BAD_JSON", "before"),
        ("/forget", json!({ "fact_ids": [7] }), "BAD_JSON", "fact_ids"),
        ("/entity/resolve", json!({ "mention": "Mary", "kind": "person" }), "UNKNOWN_FIELD", "kind"),
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
        ("?q=hi&route=foo", "BAD_REQUEST", "route"),
        ("?q=hi&source=foo", "BAD_REQUEST", "source"),
        ("?q=hi&first=abc", "BAD_REQUEST", "first"),
        ("?q=hi&collection=a%20b", "COLLECTION_NAME", "collection"),
        ("?q=hi&document=x", "UNKNOWN_PARAMETER", "document"),
    ] {
        let problem: Value = server.get(ANNA, &format!("/context/{session}{query}")).send().await.unwrap().json().await.unwrap();
        assert_eq!((&problem["code"], &problem["path"]), (&json!(code), &json!([path])), "{query}: {problem}");
        assert!(is_sentence(&problem["detail"]), "{problem}");
    }
}

#[tokio::test]
async fn upload_of_another_type_is_refused_by_type() {
    let server = Server::start().await;
    let post = || server.post(ANNA, "/documents");
    for request in [post(), post().json(&json!({ "file": "a" })), post().header("content-type", "text/plain").body("a")] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 415);
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "UNSUPPORTED_MEDIA_TYPE");
        assert!(text(&problem["detail"]).contains("multipart/form-data"), "{problem}");
    }
    let without_boundary = post().header("content-type", "multipart/form-data").body("a").send().await.unwrap();
    let problem: Value = without_boundary.json().await.unwrap();
    assert_eq!((&problem["status"], &problem["code"]), (&json!(400), &json!("BODY_UNREADABLE")));
}

#[tokio::test]
async fn refused_addresses_say_what_is_wrong() {
    let server = Server::start().await;
    let get = async |path: &str, accept: &str| {
        let response = server.get(ANNA, path).header("accept", accept).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    for path in ["/nowhere", "/facts/nowhere", "/v2"] {
        let (status, problem) = get(path, "*/*").await;
        assert_eq!((status, text(&problem["detail"])), (404, "There is nothing at this URL. Check the path.".to_owned()), "{path}");
    }
    let (status, read) = get("/graphql?query={viewer{id}}", "*/*").await;
    assert_eq!((status, &read["data"]["viewer"]["id"]), (200, &json!(ANNA)));
    let sentence =
        "GET runs only queries, from the parameter `query` or `documentId`, and none in a browser. Send other operations by POST as JSON.";
    for (path, accept) in [("/graphql", "*/*"), ("/graphql?query={viewer{id}}", "text/html")] {
        let (status, problem) = get(path, accept).await;
        assert_eq!((status, text(&problem["detail"])), (405, sentence.to_owned()), "{path}");
    }
}
