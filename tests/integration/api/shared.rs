//! Shared memory: administrators write it, authenticated users read it marked as shared, and visitors see nothing.

mod use_cases;

use futures_util::StreamExt;
use recall_domain::{Caller, SessionId, Timestamp, UserId, ViewerRole};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    harness::{ADMIN, ANNA, BORIS, Server, VISITOR, text},
    streams,
    sweep::{Case, Own, Schema, without},
};
use crate::{server::within, stored::Stored};

const ASK: &str = "query($q: String!) { context(input: { query: $q }) {
    messages { shared score message { id text shared session { id shared } } }
    facts { shared score fact { id shared relativeWeight rivals { id } subject { id name shared } object { name shared }
        evidence { nodes { message { id shared } } } } }
    entities { id name shared } } }";

async fn ask(server: &Server, user: &str, question: &str) -> Value {
    server.data(user, ASK, json!({ "q": question })).await["context"].clone()
}

/// Returns the code of the first error in a mutation's payload.
fn code(data: &Value) -> &str {
    let payload = data.as_object().unwrap().values().next().unwrap();
    payload["errors"][0]["code"].as_str().unwrap_or("none")
}

#[tokio::test]
async fn shared_memory_is_readable_by_authenticated_users_only() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let handbook = server.shared_session().await;
        let rule = server.say(ADMIN, &handbook, "Travel expenses are refunded within thirty days.").await;
        let fact = server.fact(ADMIN, &handbook, ["Acme", "LIVES_IN", "Ghent"]).await;
        let own = server.session(BORIS).await;
        let mine = server.say(BORIS, &own, "I went to Rome and kept the travel expenses in a drawer.").await;
        let private = server.session(ANNA).await;
        server.say(ANNA, &private, "My travel expenses were shamefully high.").await;
        let of_admin = server.session(ADMIN).await;
        server.say(ADMIN, &of_admin, "My own travel expenses are a secret.").await;

        let found = ask(&server, BORIS, "When are travel expenses refunded?").await;
        let messages = found["messages"].as_array().unwrap();
        let marks: Vec<(&str, bool)> = messages.iter().map(|m| (m["message"]["id"].as_str().unwrap(), m["shared"] == true)).collect();
        assert!(marks.contains(&(rule.as_str(), true)) && marks.contains(&(mine.as_str(), false)), "{found:#}");
        assert!(!found.to_string().contains("shamefully") && !found.to_string().contains("secret"), "{found:#}");
        for m in messages {
            assert_eq!(m["shared"], m["message"]["shared"]);
            assert_eq!(m["shared"], m["message"]["session"]["shared"]);
        }
        let found = ask(&server, BORIS, "Where does Acme live?").await;
        let facts = &found["facts"];
        assert_eq!((&facts[0]["fact"]["id"], &facts[0]["shared"], &facts[0]["fact"]["shared"]), (&json!(fact), &json!(true), &json!(true)));
        assert_eq!((&facts[0]["fact"]["subject"]["shared"], &found["entities"][0]["shared"]), (&json!(true), &json!(true)));
        assert_eq!(facts[0]["fact"]["evidence"]["nodes"][0]["message"]["shared"], true);
        let acme = text(&facts[0]["fact"]["subject"]["id"]);

        let ids = json!({ "s": handbook, "m": rule, "e": acme, "f": fact });
        let open = "query($s: ID!, $m: ID!, $e: ID!, $f: ID!) {
            session(id: $s) { title shared head messages { totalCount nodes { text shared } } facts { totalCount } }
            message(id: $m) { text shared session { id } entities { name shared } facts { id } citations { index } }
            entity(id: $e) { name shared isViewer facts { nodes { id shared } } mentions { nodes { shared } } neighbours { entity { name shared } fact { id } } }
            fact(id: $f) { relation shared subject { id } } }";
        for reader in [ADMIN, ANNA, BORIS] {
            let seen = server.data(reader, open, ids.clone()).await;
            for thing in ["session", "message", "entity", "fact"] {
                assert_eq!(seen[thing]["shared"], true, "{thing}: {seen:#}");
            }
            assert_eq!((&seen["session"]["messages"]["totalCount"], &seen["session"]["facts"]["totalCount"]), (&json!(2), &json!(1)));
            assert_eq!(seen["entity"]["neighbours"][0]["entity"], json!({ "name": "Ghent", "shared": true }));
            assert_eq!(seen["entity"]["facts"]["nodes"][0]["id"], json!(fact));
        }
        let seen = server.data(VISITOR, open, ids).await;
        assert_eq!(seen, json!({ "session": null, "message": null, "entity": null, "fact": null }));
        let found = ask(&server, VISITOR, "When are travel expenses refunded? Where does Acme live?").await;
        assert_eq!(found, json!({ "messages": [], "facts": [], "entities": [] }));

        let lists = "query($shared: Boolean!) { sessions(shared: $shared) { totalCount nodes { id shared } }
            facts(shared: $shared) { totalCount nodes { id } } entities(shared: $shared) { totalCount nodes { shared } } }";
        let of_own = server.data(BORIS, lists, json!({ "shared": false })).await;
        assert_eq!(of_own["sessions"], json!({ "totalCount": 1, "nodes": [{ "id": own, "shared": false }] }));
        assert_eq!((&of_own["facts"]["totalCount"], &of_own["entities"]["totalCount"]), (&json!(0), &json!(0)));
        let of_all = server.data(BORIS, lists, json!({ "shared": true })).await;
        assert_eq!(of_all["sessions"], json!({ "totalCount": 1, "nodes": [{ "id": handbook, "shared": true }] }));
        assert_eq!((&of_all["facts"]["totalCount"], &of_all["entities"]["totalCount"]), (&json!(1), &json!(2)));
        assert_eq!(server.code(VISITOR, lists, json!({ "shared": true })).await, "FORBIDDEN");

        // A caller can exclude it, and a query of one session returns only that session.
        let narrow = "query($q: String!, $s: ID!) { context(input: { query: $q, shared: false }) { messages { shared } }
            inside: context(input: { query: $q, scope: SESSION, sessionId: $s }) { messages { shared message { session { id } } } } }";
        let found = server.data(BORIS, narrow, json!({ "q": "travel expenses", "s": handbook })).await;
        assert!(found["context"]["messages"].as_array().unwrap().iter().all(|m| m["shared"] == false), "{found:#}");
        let inside = found["inside"]["messages"].as_array().unwrap();
        assert!(!inside.is_empty() && inside.iter().all(|m| m["message"]["session"]["id"] == json!(handbook)), "{found:#}");
        let rest: Value = server.get(BORIS, &format!("/context/{own}?q=travel+expenses")).send().await.unwrap().json().await.unwrap();
        assert!(rest["messages"].as_array().unwrap().iter().any(|m| m["message"]["shared"] == true), "{rest:#}");
    }
}

#[tokio::test]
async fn shared_and_own_facts_are_weighed_separately() {
    let server = Server::start().await;
    let (handbook, own) = (server.shared_session().await, server.session(BORIS).await);
    let shared = server.fact(ADMIN, &handbook, ["Mary", "LIVES_IN", "Ghent"]).await;
    let mine = server.fact(BORIS, &own, ["Mary", "LIVES_IN", "Lyon"]).await;
    server.fact(BORIS, &own, ["Mary", "LIVES_IN", "Lyon"]).await;
    let found = ask(&server, BORIS, "Where does Mary live?").await;
    let facts = found["facts"].as_array().unwrap();
    assert_eq!(facts.len(), 2, "{found:#}");
    assert_ne!(facts[0]["fact"]["subject"]["id"], facts[1]["fact"]["subject"]["id"], "one entity for two people called Mary");
    for fact in facts {
        let id = text(&fact["fact"]["id"]);
        assert_eq!(fact["shared"], id == shared, "{found:#}");
        assert!(id == shared || id == mine);
        assert_eq!((&fact["fact"]["relativeWeight"], &fact["fact"]["rivals"]), (&json!(1.0), &json!([])), "the facts are rivals");
    }
    let entities = found["entities"].as_array().unwrap();
    assert_eq!(entities.iter().map(|e| e["shared"] == true).collect::<Vec<_>>(), [false, true]);
    // A user cannot merge entities of two memories either.
    let (one, two) = (facts[0]["fact"]["subject"]["id"].clone(), facts[1]["fact"]["subject"]["id"].clone());
    let merge = "mutation($a: ID!, $b: ID!) { mergeEntities(input: { intoId: $a, fromId: $b }) { errors { code } } }";
    for (a, b) in [(&one, &two), (&two, &one)] {
        assert_eq!(code(&server.data(BORIS, merge, json!({ "a": a, "b": b })).await), "FORBIDDEN");
        assert_eq!(code(&server.data(ADMIN, merge, json!({ "a": a, "b": b })).await), "NOT_FOUND");
    }
}

/// Returns everything in shared memory.
async fn state(server: &Server) -> Value {
    let query = "{ sessions(shared: true) { totalCount nodes { id title head messages(first: 50) { nodes { id text status } } } }
        facts(shared: true) { nodes { id status weight } } entities(shared: true) { nodes { id name aliases mentionCount } } }";
    let mut state = server.data(ADMIN, query, json!({})).await;
    // The weight decays with time, so compare it rounded.
    for fact in state["facts"]["nodes"].as_array_mut().unwrap() {
        fact["weight"] = json!((fact["weight"].as_f64().unwrap() * 1000.0).round());
    }
    state
}

#[tokio::test]
async fn only_administrators_change_shared_memory() {
    let server = Server::start().await;
    server.begin_visit().await;
    let schema = Schema::of(&server).await;
    let shared = Own::shared(&server, "Handbook").await;
    let (boris, visitor) = (Own::of(&server, BORIS, "Peter").await, Own::of(&server, VISITOR, "Paul").await);
    let before = state(&server).await;
    let unknown = uuid::Uuid::from_u128(0x7000_8000_0000_0000_0007).to_string();
    let mut refused = 0;
    for case in Case::all(&schema).iter().filter(|c| !c.is_cursor()) {
        let try_as = async |user: &str, own: &Own, id: &str| {
            let answer = server.graphql(user, &case.query, case.variables(&schema, own, &json!(id))).await;
            (without(&answer, id), answer)
        };
        for id in &shared.ids()[..4] {
            // An attempt of a visitor has the same outcome as one with an unknown id.
            try_as(VISITOR, &visitor, &unknown).await;
            assert_eq!(try_as(VISITOR, &visitor, id).await.0, try_as(VISITOR, &visitor, &unknown).await.0, "{}", case.name);
            if case.is_mutation() && case.name != "openEventStream(input.sessionId)" {
                let (tried, answer) = try_as(BORIS, &boris, id).await;
                let forbidden = tried.contains("FORBIDDEN");
                refused += usize::from(forbidden);
                assert!(forbidden || tried == try_as(BORIS, &boris, &unknown).await.0, "{}: {answer:#}", case.name);
            }
        }
    }
    assert!(refused >= 10, "only {refused} refusals: the cases do not reach shared memory");
    let chat = json!({ "session_id": shared.session, "message": "Hello" });
    assert_eq!(server.post(BORIS, "/chat").json(&chat).send().await.unwrap().status(), 403);
    assert_eq!(server.post(VISITOR, "/chat").json(&chat).send().await.unwrap().status(), 404);
    for path in [format!("/context/{}?q=code", shared.session), format!("/sessions/{}/events", shared.session)] {
        assert_eq!(server.get(VISITOR, &path).send().await.unwrap().status(), 404, "{path}");
    }
    for user in [BORIS, VISITOR] {
        let create = server
            .data(user, "mutation { createSession(input: { shared: true }) { session { id } errors { code path } } }", json!({}))
            .await;
        assert_eq!(create["createSession"], json!({ "session": null, "errors": [{ "code": "FORBIDDEN", "path": ["input", "shared"] }] }));
    }
    assert_eq!(state(&server).await, before, "shared memory changed");
    // The opposite: an administrator succeeds with each mutation.
    let mut done = std::collections::BTreeSet::new();
    for (n, case) in Case::all(&schema).iter().filter(|c| c.is_mutation() && !c.is_cursor()).enumerate() {
        for kind in 0..4 {
            let fresh = Own::shared(&server, &format!("Word{n}x{kind}")).await;
            let answer = server.graphql(ADMIN, &case.query, case.variables(&schema, &fresh, &json!(fresh.ids()[kind]))).await;
            if answer["data"].as_object().is_some_and(|d| d.values().any(|p| p["errors"] == json!([]))) {
                done.insert(case.name.split('(').next().unwrap().to_owned());
            }
        }
    }
    let all =
        ["assertFact", "cancelAnswer", "deleteSession", "importMessages", "mergeEntities", "renameEntity", "retractFact", "sendMessage"];
    assert!(all.iter().all(|name| done.contains(*name)), "{done:?}");
    // Each change is in the audit log under the administrator's id.
    let (mut log, mut after): (Vec<Value>, Value) = (Vec::new(), Value::Null);
    loop {
        let page = "query($after: String) { auditLog(first: 100, after: $after) {
            pageInfo { hasNextPage endCursor } nodes { actorId action target } } }";
        let page = server.data(ADMIN, page, json!({ "after": after })).await["auditLog"].clone();
        log.extend(page["nodes"].as_array().unwrap().iter().cloned());
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] != true {
            break;
        }
    }
    for action in
        ["session.created", "messages.stored", "fact.asserted", "fact.retracted", "entity.renamed", "entities.merged", "session.deleted"]
    {
        let entry = log.iter().find(|e| e["action"] == format!("shared.{action}")).unwrap_or_else(|| panic!("no shared.{action}"));
        assert_eq!(entry["actorId"], ADMIN);
        assert!(entry["target"].as_str().unwrap().parse::<uuid::Uuid>().is_ok(), "the target is not an id: {entry}");
    }
}

#[tokio::test]
async fn authenticated_users_follow_shared_sessions() {
    let server = Server::start().await;
    let handbook = server.shared_session().await;
    let head = server.data(BORIS, "query($s: ID!) { session(id: $s) { head } }", json!({ "s": handbook })).await;
    let head = text(&head["session"]["head"]);
    let mut socket = streams::connect(&server, BORIS).await;
    streams::follow(&mut socket, "1", &handbook, Some(&head)).await;
    let mut lines = server.get(ANNA, &format!("/sessions/{handbook}/events?after={head}")).send().await.unwrap().bytes_stream();
    let fact = server.fact(ADMIN, &handbook, ["Acme", "LIVES_IN", "Ghent"]).await;
    let update = loop {
        let heard = streams::hear(&mut socket).await;
        let event = heard["payload"]["data"]["sessionEvents"].clone();
        assert!(!event.is_null(), "{heard:#}");
        if event["type"] == "fact_update" {
            break event;
        }
    };
    assert_eq!((&update["data"]["fact_id"], &update["data"]["entity"]), (&json!(fact), &json!("Acme")));
    let mut body = String::new();
    while !body.contains("fact_update") {
        body.push_str(&String::from_utf8_lossy(&within("no event arrives", lines.next()).await.unwrap().unwrap()));
    }
    let mut visitor = streams::connect(&server, VISITOR).await;
    streams::follow(&mut visitor, "1", &handbook, None).await;
    assert!(streams::hear(&mut visitor).await.to_string().contains("NOT_FOUND"));

    let offer = |user: &str| {
        server.post(user, &format!("/signaling/{handbook}")).header("content-type", "application/sdp").body(streams::OFFER).send()
    };
    assert_eq!(offer(VISITOR).await.unwrap().status(), 404);
    let opened = offer(BORIS).await.unwrap();
    assert_eq!(opened.status(), 201);
    let peer = server.url(opened.headers()["location"].to_str().unwrap());
    let delete = |user: &str| server.http.delete(&peer).header("x-test-user", user).send();
    for other in [ANNA, ADMIN, VISITOR] {
        assert_eq!(delete(other).await.unwrap().status(), 404, "another user closed the connection");
    }
    assert_eq!(delete(BORIS).await.unwrap().status(), 200);
    // One reader's limit does not count against another.
    within("the reader has no limit", async { while offer(BORIS).await.unwrap().status() == 201 {} }).await;
    assert_eq!(offer(ANNA).await.unwrap().status(), 201);

    let delete = "mutation($s: ID!) { deleteSession(input: { id: $s }) { deletedId errors { code } } }";
    server.data(ADMIN, delete, json!({ "s": handbook })).await;
    loop {
        let event = streams::hear(&mut socket).await["payload"]["data"]["sessionEvents"].clone();
        if event["type"] == "bye" {
            assert_eq!(event["data"]["code"], "deleted");
            break;
        }
    }
}

/// Asks in a session and waits for the answer.
async fn answer(server: &Server, user: &str, question: &str) -> Value {
    let session = server.session(user).await;
    let id = server.say(user, &session, question).await;
    let read = "query($id: ID!) { message(id: $id) { answer { text citations { shared excerpt message { id shared text } fact { id shared } } } } }";
    until_answered(server, user, read, &id).await
}

/// Waits for the answer that a query of a message by id contains.
async fn until_answered(server: &Server, user: &str, query: &str, id: &str) -> Value {
    let answered = async {
        loop {
            let answer = server.data(user, query, json!({ "id": id })).await["message"]["answer"].clone();
            if !answer.is_null() {
                break answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    within("the question is not answered", answered).await
}

#[tokio::test]
async fn answer_from_shared_memory_cites_it_as_shared() {
    let server = Server::start().await;
    server.begin_visit().await;
    let _worker = server.work();
    let handbook = server.shared_session().await;
    server.fact(ADMIN, &handbook, ["Acme", "LIVES_IN", "Ghent"]).await;
    server.say(ADMIN, &handbook, "I live in Timbuktu.").await;

    let said = answer(&server, BORIS, "Where does Acme live?").await;
    assert!(text(&said["text"]).contains("Ghent"), "{said:#}");
    let citation = &said["citations"][0];
    assert_eq!((&citation["shared"], &citation["message"]["shared"]), (&json!(true), &json!(true)));
    assert!(text(&citation["message"]["text"]).contains("Ghent"));
    server.say(ADMIN, &handbook, "Our office is in Lyon.").await;
    let said = answer(&server, BORIS, "Where is our office?").await;
    assert!(text(&said["text"]).contains("Shared memory said") && text(&said["text"]).contains("Lyon"), "{said:#}");
    assert_eq!(said["citations"][0]["shared"], true);
    // The writer of "I" in shared memory is nobody in particular, and never the caller.
    let said = answer(&server, BORIS, "Where do I live?").await;
    assert_eq!(said["citations"], json!([]), "{said:#}");
    let entities = server.data(ADMIN, "{ entities(shared: true) { nodes { name isViewer } } }", json!({})).await;
    assert!(!entities.to_string().contains("true"), "shared memory has a viewer entity: {entities}");
    let assert = "mutation($s: ID!) { assertFact(input: { sessionId: $s, subject: \"I\", relation: \"LIKES\", object: \"Rome\" }) { errors { code } } }";
    assert_eq!(code(&server.data(ADMIN, assert, json!({ "s": handbook })).await), "NOBODY_IN_PARTICULAR");
    // Answers to visitors use only their own memory.
    let said = answer(&server, VISITOR, "Where does Acme live?").await;
    assert_eq!(said["citations"], json!([]), "{said:#}");
    // A question asked in shared memory is answered only from shared memory.
    let own = server.session(ADMIN).await;
    server.fact(ADMIN, &own, ["Zora", "LIVES_IN", "Narnia"]).await;
    let question = server.say(ADMIN, &handbook, "Where does Zora live?").await;
    let read = "query($id: ID!) { message(id: $id) { answer { text shared citations { index } } } }";
    let said = until_answered(&server, BORIS, read, &question).await;
    assert_eq!((&said["shared"], &said["citations"]), (&json!(true), &json!([])), "{said:#}");
}

#[tokio::test]
async fn shared_memory_survives_export_and_deletion_of_own_data() {
    let server = Server::start().await;
    let handbook = server.shared_session().await;
    server.say(ADMIN, &handbook, "The kitchen closes at nine.").await;
    let own = server.session(ADMIN).await;
    server.say(ADMIN, &own, "My dentist is on Main Street.").await;
    let before = state(&server).await;
    let archive = server.get(ADMIN, "/export").send().await.unwrap().text().await.unwrap();
    assert!(archive.contains("dentist") && !archive.contains("kitchen"), "{archive}");
    for user in [ADMIN, BORIS] {
        let delete = "mutation { deleteMyData(input: { confirm: \"DELETE\" }) { receipt { endedAt } errors { code } } }";
        server.data(user, delete, json!({})).await;
    }
    assert_eq!(server.data(ADMIN, "{ sessions { totalCount } }", json!({})).await["sessions"]["totalCount"], 0);
    assert_eq!(state(&server).await, before);
    let found = ask(&server, BORIS, "When does the kitchen close?").await;
    assert_eq!(found["messages"][0]["shared"], true, "{found:#}");
}

#[tokio::test]
async fn administrators_change_shared_memory_that_another_server_has_begun() {
    let server = Server::start().await;
    let own = server.session(ADMIN).await;
    // The server notes that nothing is shared.
    server.say(ADMIN, &own, "My dentist is on Main Street.").await;
    let writer = Caller::verified(UserId(Uuid::from_u128(1)), ViewerRole::Admin).shared_writer().unwrap();
    let begun = SessionId(Uuid::from_u128(2));
    server.store.create_session(&writer, begun, None, "0".to_owned(), Timestamp::UNIX_EPOCH).await.unwrap();
    let rule = server.say(ADMIN, &begun.to_string(), "The kitchen closes at nine.").await;
    let read = server.data(BORIS, "query($id: ID!) { message(id: $id) { shared } }", json!({ "id": rule })).await;
    assert_eq!(read["message"]["shared"], true);
}

#[tokio::test]
async fn unused_shared_memory_costs_at_most_one_statement() {
    let server = Server::start().await;
    server.begin_visit().await;
    for user in [BORIS, VISITOR] {
        let own = server.session(user).await;
        server.fact(user, &own, ["Mary", "LIVES_IN", "Lyon"]).await;
        ask(&server, user, "Where does Mary live?").await;
    }
    // The server caches for some seconds whether shared memory is empty; for visitors it never looks.
    let cost = async |user: &str| {
        let before = server.stored.statements().await;
        ask(&server, user, "Where does Mary live?").await;
        server.stored.statements().await - before
    };
    let of_visitor = cost(VISITOR).await;
    let mut of_user = Vec::new();
    for _ in 0..5 {
        of_user.push(cost(BORIS).await);
    }
    assert!(of_user.iter().all(|n| *n <= of_visitor + 1), "{of_user:?} against {of_visitor}");
    assert!(of_user.contains(&of_visitor), "{of_user:?} against {of_visitor}");
}
