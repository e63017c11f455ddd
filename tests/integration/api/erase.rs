//! Deletion of all of a user's data, as a client does it.

use recall_domain::{Caller, ViewerRole};
use serde_json::{Value, json};

use super::{
    harness::{ANNA, BORIS, Server, text},
    streams,
};

const DELETE: &str = "mutation($word: String!) { deleteMyData(input: { confirm: $word }) {
    receipt { begunAt endedAt deleted { engine kind count } pending } errors { code message path } } }";

async fn delete(server: &Server, user: &str, word: &str) -> Value {
    server.data(user, DELETE, json!({ "word": word })).await["deleteMyData"].clone()
}

/// Everything that a user can read.
async fn state(server: &Server, user: &str) -> Value {
    let query = "{ sessions { totalCount } facts { nodes { id weight } } entities { nodes { id name } } accessTokens { id }
        context(input: { query: \"Where does Mary live?\" }) { facts { fact { id } } messages { message { id text } } } }";
    server.data(user, query, json!({})).await
}

#[tokio::test]
async fn delete_my_data_removes_everything_with_receipt() {
    let server = Server::start().await;
    for user in [ANNA, BORIS] {
        let session = server.session(user).await;
        server.say(user, &session, "Mary lives in Lyon.").await;
        server.fact(user, &session, ["Mary", "LIVES_IN", "Lyon"]).await;
    }
    let followed = server.session(ANNA).await;
    let create = "mutation { createAccessToken(input: { name: \"script\", scopes: [\"recall.read\"] }) { accessToken { id } } }";
    server.data(ANNA, create, json!({})).await;
    let (before, others) = (state(&server, ANNA).await, state(&server, BORIS).await);

    for word in ["", "delete", "DELETE "] {
        let refused = delete(&server, ANNA, word).await;
        assert_eq!((&refused["receipt"], &refused["errors"][0]["code"]), (&Value::Null, &json!("CONFIRMATION_NEEDED")), "{word}");
        assert_eq!(refused["errors"][0]["path"], json!(["input", "confirm"]));
    }
    assert_eq!(state(&server, ANNA).await, before);

    let mut socket = streams::connect(&server, ANNA).await;
    streams::follow(&mut socket, "1", &followed, None).await;
    let done = delete(&server, ANNA, "DELETE").await;
    let receipt = &done["receipt"];
    assert_eq!((&done["errors"], &receipt["pending"]), (&json!([]), &json!([])), "{done}");
    assert!(receipt["endedAt"].is_string(), "{done}");
    let count = |kind: &str| {
        let rows = receipt["deleted"].as_array().unwrap();
        rows.iter().find(|r| r["kind"] == kind && r["engine"] == "sqlite").map_or(0, |r| r["count"].as_u64().unwrap())
    };
    assert_eq!(
        (count("sessions"), count("messages"), count("facts"), count("evidence"), count("access_tokens")),
        (2, 2, 1, 1, 1),
        "{done}"
    );
    assert_eq!(count("message_index"), 2);
    assert!(count("events") > 2 && count("entities") == 2);
    // Followers receive a bye.
    let bye = loop {
        let heard = streams::hear(&mut socket).await;
        if heard["payload"]["data"]["sessionEvents"]["type"] == "bye" {
            break heard["payload"]["data"]["sessionEvents"]["data"].clone();
        }
    };
    assert_eq!((&bye["code"], &bye["reconnect"]), (&json!("deleted"), &json!(false)));

    let nothing = json!({ "sessions": { "totalCount": 0 }, "facts": { "nodes": [] }, "entities": { "nodes": [] }, "accessTokens": [],
        "context": { "facts": [], "messages": [] } });
    assert_eq!(state(&server, ANNA).await, nothing);
    assert_eq!(state(&server, BORIS).await, others, "another user's data changed");
    let shown = server.data(ANNA, "{ viewer { deletion { begunAt endedAt deleted { count } } } }", json!({})).await;
    assert_eq!(shown["viewer"]["deletion"]["endedAt"], receipt["endedAt"]);
    assert_eq!(server.data(BORIS, "{ viewer { deletion { begunAt } } }", json!({})).await["viewer"]["deletion"], Value::Null);

    let again = delete(&server, ANNA, "DELETE").await;
    assert_eq!((&again["receipt"]["deleted"], &again["errors"]), (&json!([]), &json!([])), "the second deletion found something");
    // The user can start again.
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "Hello again.").await;
    assert_eq!(state(&server, ANNA).await["sessions"]["totalCount"], 1);
}

#[tokio::test]
async fn user_without_data_gets_empty_receipt() {
    let server = Server::start().await;
    let done = delete(&server, ANNA, "DELETE").await;
    assert_eq!(done, json!({ "receipt": { "begunAt": null, "endedAt": null, "deleted": [], "pending": [] }, "errors": [] }));
}

#[tokio::test]
async fn writes_during_deletion_are_refused() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let fact = server.fact(ANNA, &session, ["Mary", "LIVES_IN", "Lyon"]).await;
    let caller = recall_domain::Caller::verified(ANNA.parse().unwrap(), recall_domain::ViewerRole::User);
    // Another process began the deletion and has not continued it.
    server.store.begin_erasure(&caller, recall_domain::Timestamp::UNIX_EPOCH).await.unwrap();
    let sent = server.send(ANNA, json!({ "sessionId": session, "text": "Hello" })).await;
    assert_eq!(sent["errors"][0]["code"], "DATA_BEING_DELETED", "{sent}");
    for mutation in [
        "createSession(input: {})",
        "retractFact(input: { id: $id })",
        "createAccessToken(input: { name: \"x\", scopes: [\"recall.read\"] })",
    ] {
        let head = if mutation.contains("$id") { "mutation($id: ID!)" } else { "mutation" };
        let query = format!("{head} {{ result: {mutation} {{ errors {{ code }} }} }}");
        let answer = server.data(ANNA, &query, json!({ "id": fact })).await;
        assert_eq!(answer["result"]["errors"][0]["code"], "DATA_BEING_DELETED", "{mutation}: {answer}");
    }
    let chat = server.post(ANNA, "/chat").json(&json!({ "session_id": session, "message": "Hello" })).send().await.unwrap();
    assert_eq!((chat.status().as_u16(), chat.json::<Value>().await.unwrap()["code"].clone()), (409, json!("DATA_BEING_DELETED")));
    let done = delete(&server, ANNA, "DELETE").await;
    assert_eq!(done["receipt"]["begunAt"], "1970-01-01T00:00:00+00:00", "another deletion was begun: {done}");
    assert!(done["receipt"]["endedAt"].is_string());
    server.session(ANNA).await;
}

#[tokio::test]
async fn audit_log_records_actions_without_texts() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "Xylophagia").await;
    server.data(ANNA, "mutation($id: ID!) { deleteSession(input: { id: $id }) { deletedId } }", json!({ "id": session })).await;
    let create = "mutation { createAccessToken(input: { name: \"Xylophagia\", scopes: [\"recall.read\"] }) { accessToken { id } secret } }";
    let made = server.data(ANNA, create, json!({})).await["createAccessToken"].clone();
    let (token, secret) = (text(&made["accessToken"]["id"]), text(&made["secret"]));
    delete(&server, ANNA, "DELETE").await;
    let query = "query($after: String) { auditLog(first: 2, after: $after) { pageInfo { hasNextPage endCursor }
        nodes { id at actorId action target address instance } } }";
    let first = server.data(ANNA, query, json!({})).await["auditLog"].clone();
    let second = server.data(ANNA, query, json!({ "after": first["pageInfo"]["endCursor"] })).await["auditLog"].clone();
    assert_eq!(second["pageInfo"]["hasNextPage"], false);
    let entries: Vec<Value> = [&first, &second].into_iter().flat_map(|page| page["nodes"].as_array().unwrap().clone()).collect();
    let told: Vec<_> = entries.iter().map(|e| (e["action"].as_str().unwrap(), e["target"].as_str().unwrap())).collect();
    assert_eq!(told, [("data.deleted", ANNA), ("access_token.created", token.as_str()), ("session.deleted", session.as_str())]);
    assert!(entries.iter().all(|e| e["actorId"] == ANNA && e["address"] == "127.0.0.1" && e["instance"] == "recall"), "{entries:?}");
    let all = json!(entries).to_string();
    assert!(!all.contains("Xylophagia") && !all.contains(&secret));
    // Another user sees nothing, even with somebody else's cursor.
    for after in [Value::Null, first["pageInfo"]["endCursor"].clone()] {
        assert_eq!(server.data(BORIS, query, json!({ "after": after })).await["auditLog"]["nodes"], json!([]));
    }
    assert_eq!(server.code(BORIS, "{ auditLog(everybody: true) { nodes { id } } }", json!({})).await, "FORBIDDEN");
}

#[tokio::test]
async fn audit_log_records_how_users_steer_their_memory() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    server.fact(ANNA, &session, ["John", "LIKES", "Mary"]).await;
    server.fact(ANNA, &session, ["Johnny", "LIVES_IN", "Lyon"]).await;
    let all = server.data(ANNA, "{ facts { nodes { id relation } } entities { nodes { id name } } }", json!({})).await;
    let id = |list: &str, name: &str, value: &str| {
        let nodes = all[list]["nodes"].as_array().unwrap();
        text(&nodes.iter().find(|n| n[name] == value).unwrap()["id"])
    };
    let (likes, john, johnny) = (id("facts", "relation", "LIKES"), id("entities", "name", "John"), id("entities", "name", "Johnny"));
    for (mutation, input) in [
        ("assertFact", json!({ "sessionId": session, "subject": "John", "relation": "LIKES", "object": "Mary" })),
        ("assertFact", json!({ "sessionId": session, "subject": "John", "relation": "LIKES", "object": "Mary", "stance": "OPPOSES" })),
        ("retractFact", json!({ "id": likes })),
        ("restoreFact", json!({ "id": likes })),
        ("renameEntity", json!({ "id": john, "name": "John B." })),
        ("retypeEntity", json!({ "id": john, "type": "PERSON" })),
        ("mergeEntities", json!({ "intoId": john, "fromId": johnny, "dryRun": true })),
        ("mergeEntities", json!({ "intoId": john, "fromId": johnny })),
        ("unmergeEntities", json!({ "entityId": johnny, "dryRun": true })),
        ("unmergeEntities", json!({ "entityId": johnny })),
        ("updateSession", json!({ "sessionId": session, "title": "Plans" })),
        ("updateSession", json!({ "sessionId": session, "pinned": true, "archived": false })),
        ("updateViewer", json!({ "paused": true })),
        ("updateViewer", json!({ "paused": false })),
    ] {
        let kind = format!("{}{}", mutation[..1].to_uppercase(), &mutation[1..]);
        let document = format!("mutation($i: {kind}Input!) {{ {mutation}(input: $i) {{ errors {{ code }} }} }}");
        let done = server.data(ANNA, &document, json!({ "i": input })).await;
        assert_eq!(done[mutation]["errors"], json!([]), "{mutation}");
    }
    let log = server.data(ANNA, "{ auditLog(first: 50) { nodes { action target } } }", json!({})).await["auditLog"]["nodes"].clone();
    let mut told: Vec<(String, Option<String>)> =
        log.as_array().unwrap().iter().map(|e| (text(&e["action"]), e["target"].as_str().map(str::to_owned))).collect();
    told.reverse();
    let expected = [
        ("fact.denied", Some(&likes)),
        ("fact.retracted", Some(&likes)),
        ("fact.restored", Some(&likes)),
        ("entity.renamed", Some(&john)),
        ("entity.retyped", Some(&john)),
        ("entities.merged", Some(&john)),
        ("entities.unmerged", Some(&johnny)),
        ("session.renamed", Some(&session)),
        ("session.pinned", Some(&session)),
        ("session.unarchived", Some(&session)),
        ("remembering.paused", None),
        ("remembering.resumed", None),
    ];
    assert_eq!(told, expected.map(|(action, target)| (action.to_owned(), target.cloned())));
}

/// An embedder that is never called: the archive contains vectors of its model.
struct UnusedEmbedder(String);

#[async_trait::async_trait]
impl recall_ports::Embedder for UnusedEmbedder {
    fn model(&self) -> &str {
        &self.0
    }
    fn dimension(&self) -> usize {
        256
    }
    async fn embed(&self, _: &[recall_domain::UserText]) -> Result<Vec<recall_ports::Embedding>, recall_ports::EmbedError> {
        unreachable!("the archive contains the vectors")
    }
}

#[tokio::test]
async fn export_contains_only_own_data() {
    let server = Server::start().await;
    for (user, word) in [(ANNA, "Anna"), (BORIS, "Xylophagia")] {
        let session = server.session(user).await;
        server.say(user, &session, &format!("{word} lives in Lyon.")).await;
        server.fact(user, &session, [word, "LIVES_IN", "Lyon"]).await;
    }
    let answer = server.get(ANNA, "/export").send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()), (200, "application/x-ndjson"));
    let archive = answer.text().await.unwrap();
    let local = server.store.local_user().await.unwrap().to_string();
    assert!(
        archive.contains("Anna lives in Lyon.") && !archive.contains("Xylophagia") && !archive.contains(BORIS) && !archive.contains(&local)
    );
    // The archive can be imported elsewhere.
    let model = archive.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok()).find(|l| l["type"] == "index").unwrap();
    let elsewhere = crate::stored::Stored::sqlite().await;
    let into = elsewhere.store.local_user().await.unwrap();
    let embedder = UnusedEmbedder(text(&model["model"]));
    let ontology = recall_domain::Ontology::parse(recall_understand::default_ontology()).unwrap();
    let taken = recall::app::archive::import_archive(
        elsewhere.store.as_ref(),
        &embedder,
        &ontology,
        recall::app::archive::Owners::Into(into),
        |_| {},
        "epoch",
        std::io::Cursor::new(archive.as_bytes()),
    );
    let taken = taken.await.unwrap();
    assert!(taken.users == 1 && taken.records > 5 && taken.new == taken.records);

    // A user without data gets an empty archive; a user whose data is being deleted gets none.
    server.data(ANNA, DELETE, json!({ "word": "DELETE" })).await;
    let stranger = "00000000-0000-4000-8000-00000000000c";
    let empty = server.get(stranger, "/export").send().await.unwrap().text().await.unwrap();
    assert_eq!(empty.lines().count(), 2, "{empty}");
    let caller = recall_domain::Caller::verified(BORIS.parse().unwrap(), recall_domain::ViewerRole::User);
    server.store.begin_erasure(&caller, recall_domain::Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(server.get(BORIS, "/export").send().await.unwrap().status(), 409);
    let log = server.data(ANNA, "{ auditLog { nodes { action } } }", json!({})).await;
    assert_eq!(log["auditLog"]["nodes"][1]["action"], "data.exported");
}

#[tokio::test]
async fn second_concurrent_export_of_user_is_refused() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    // More than the socket buffers take.
    for n in 0..12 {
        let messages: Vec<Value> = (0..100).map(|i| json!({ "text": format!("{n} {i} {}", "word ".repeat(1_000)) })).collect();
        let query = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code } } }";
        server.data(ANNA, query, json!({ "input": { "sessionId": session, "messages": messages } })).await;
    }
    let slow = server.get(ANNA, "/export").send().await.unwrap();
    assert_eq!(slow.status(), 200);
    let second = server.get(ANNA, "/export").send().await.unwrap();
    assert_eq!((second.status().as_u16(), second.headers()["retry-after"].to_str().unwrap()), (429, "30"));
    assert_eq!(server.get(BORIS, "/export").send().await.unwrap().status(), 200, "other users can export");
    drop(slow);
    let started = std::time::Instant::now();
    while server.get(ANNA, "/export").send().await.unwrap().status() != 200 {
        assert!(started.elapsed() < std::time::Duration::from_secs(60), "the export slot is never freed");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn slow_export_readers_do_not_block_others() {
    let server = Server::start().await;
    let query = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code } } }";
    // More exports than the server reads from the database at a time.
    let users: Vec<String> = (1..=4).map(|n| uuid::Uuid::from_u128(n).to_string()).collect();
    for user in &users {
        let session = server.session(user).await;
        for n in 0..12 {
            let messages: Vec<Value> = (0..100).map(|i| json!({ "text": format!("{n} {i} {}", "word ".repeat(1_000)) })).collect();
            server.data(user, query, json!({ "input": { "sessionId": session, "messages": messages } })).await;
        }
    }
    // All is stored before, because the server gives up on a client that does not read for some seconds.
    let mut slow = Vec::new();
    for user in &users {
        let export = server.get(user, "/export").send().await.unwrap();
        assert_eq!(export.status(), 200);
        slow.push(export);
    }
    let session = server.session(BORIS).await;
    server.say(BORIS, &session, "Mary lives in Lyon.").await;
    let archive = server.get(BORIS, "/export").send().await.unwrap().text().await.unwrap();
    assert!(archive.contains("Mary lives in Lyon.") && archive.lines().last().unwrap().contains("\"end\""), "the archive is incomplete");
    // The slow readers also get complete archives.
    for export in slow {
        let archive = export.text().await.unwrap();
        assert!(archive.lines().count() > 1_200 && archive.lines().last().unwrap().contains("\"end\""));
    }
}

#[tokio::test]
async fn reads_during_deletion_are_refused() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let message = server.say(ANNA, &session, "Mary lives in Lyon.").await;
    let caller = Caller::verified(ANNA.parse().unwrap(), ViewerRole::User);
    // As another server does it.
    server.store.begin_erasure(&caller, chrono::DateTime::UNIX_EPOCH).await.unwrap();
    server.usecases.look_for_erasures().await.unwrap();
    for query in [
        "{ viewer { name } }".to_owned(),
        "{ viewer { entity { id } } }".to_owned(),
        "{ sessions { totalCount } }".to_owned(),
        format!("{{ message(id: \"{message}\") {{ text }} }}"),
        "{ context(input: { query: \"Lyon\" }) { methodsUsed } }".to_owned(),
    ] {
        assert_eq!(server.code(ANNA, &query, json!({})).await, "DATA_BEING_DELETED", "{query}");
    }
    for path in [format!("/context/{session}?q=Lyon"), format!("/sessions/{session}/events"), "/export".to_owned()] {
        let answer = server.get(ANNA, &path).send().await.unwrap();
        assert_eq!(answer.status(), 409, "{path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "DATA_BEING_DELETED", "{path}");
    }
    let mut socket = streams::connect(&server, ANNA).await;
    streams::follow(&mut socket, "1", &session, None).await;
    let said = futures_util::StreamExt::next(&mut socket).await.unwrap().unwrap();
    assert!(said.to_text().unwrap().contains("DATA_BEING_DELETED"), "{said}");
    server.data(BORIS, "{ sessions { totalCount } }", json!({})).await;
    let shown = server.data(ANNA, "{ viewer { id role deletion { begunAt endedAt } } }", json!({})).await;
    assert!(
        shown["viewer"]["deletion"]["begunAt"].is_string() && shown["viewer"]["deletion"]["endedAt"].is_null(),
        "the deletion state is not shown"
    );
    let done = delete(&server, ANNA, "DELETE").await;
    assert!(done["receipt"]["endedAt"].is_string(), "{done}");
    let left = server.data(ANNA, "{ sessions { totalCount } }", json!({})).await;
    assert_eq!(left["sessions"]["totalCount"], 0, "data is left after the deletion");
}
