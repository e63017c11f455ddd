//! Documents from upload to answer: progress, search, citations, versions, and deletion.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    api::harness::{ADMIN, ANNA, BORIS, Server, VISITOR, text},
    stored::Stored,
};

const HANDBOOK: &str = "Travel\n======\n\nThe travel budget of the sales team is 4200 euros a year. Flights are booked by the office.\u{c}\n\
    Pets\n====\n\nEvery office may have one dog. Cats are not allowed in the kitchen of the Lisbon office.\n\n\
    Contacts\n========\n\nTeresa Almeida works at Lumen Labs. I like sushi.\n";

/// Waits until the document is no longer processed, and returns it.
pub(crate) async fn settled(server: &Server, user: &str, id: &str) -> Value {
    for _ in 0..600 {
        let document: Value = server.get(user, &format!("/documents/{id}")).send().await.unwrap().json().await.unwrap();
        if ["completed", "failed"].contains(&document["status"].as_str().unwrap()) {
            return document;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the document is not processed");
}

async fn context(server: &Server, user: &str, input: Value) -> Value {
    let query = "query($input: ContextInput!) { context(input: $input) { methodsUsed
        messages { message { text } } facts { fact { subject { name } relation object { name } } }
        chunks { score methods chunk { id position text heading pages { first last } passage document { id filename version } entities { name } } } } }";
    server.data(user, query, json!({ "input": input })).await["context"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploaded_document_is_processed_found_and_cited() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let _work = server.work();
        let response = server.upload(ANNA, "../handbook.txt", HANDBOOK.as_bytes(), &[("collection", "work"), ("path", "/h")]).await;
        assert_eq!(response.status(), 202);
        let added: Value = response.json().await.unwrap();
        assert_eq!((&added["status"], &added["duplicate_of"]), (&json!("pending"), &Value::Null));
        let id = text(&added["id"]);
        let document = settled(&server, ANNA, &id).await;
        assert_eq!((&document["status"], &document["filename"]), (&json!("completed"), &json!("handbook.txt")), "{document}");
        assert_eq!((&document["chunk_count"], &document["done"], &document["total"]), (&json!(3), &json!(6), &json!(6)));
        assert_eq!((&document["title"], &document["pages"], &document["media_type"]), (&Value::Null, &json!(2), &json!("text/plain")));
        let file = server.get(ANNA, &format!("/documents/{id}/original")).send().await.unwrap();
        assert_eq!(file.headers()["content-type"], "application/octet-stream");
        assert_eq!(file.text().await.unwrap(), HANDBOOK);
        // Its log tells the progress to the end.
        let events = server.data(ANNA, "query($id: ID!) { session(id: $id) { head } sessions { totalCount } }", json!({ "id": id })).await;
        assert_eq!(events["sessions"]["totalCount"], 0, "a document is no conversation");

        let found = context(&server, ANNA, json!({ "query": "Are cats allowed in the kitchen?" })).await;
        let best = &found["chunks"][0]["chunk"];
        assert_eq!((&best["heading"], &best["pages"]), (&json!("Pets"), &json!({ "first": 2, "last": 2 })), "{found:#}");
        assert!(best["passage"].as_str().unwrap().contains("one dog") && best["document"]["id"] == json!(id), "{found:#}");
        let known = context(&server, ANNA, json!({ "query": "Where does Teresa Almeida work?" })).await;
        assert!(known.to_string().contains("Lumen Labs"), "{known:#}");

        // The answer cites the passage, with page and file.
        let session = server.session(ANNA).await;
        let chat = server.post(ANNA, "/chat").header("prefer", "wait=30");
        let ask = json!({ "session_id": session, "message": "What is the travel budget of the sales team?" });
        let answer: Value = chat.json(&ask).send().await.unwrap().json().await.unwrap();
        let citation = &answer["citations"][0];
        assert_eq!(answer["grounded"], true, "{answer:#}");
        assert!(answer["llm_response"].as_str().unwrap().contains("4200"), "{answer:#}");
        assert_eq!(citation["chunk"]["document_id"], json!(id), "{answer:#}");
        assert_eq!((&citation["chunk"]["filename"], &citation["message_id"]), (&json!("handbook.txt"), &Value::Null));
        assert_eq!(citation["chunk"]["pages"], json!({ "first": 1, "last": 1 }));
        assert!(citation["excerpt"].as_str().unwrap().chars().count() <= 100);
        let query =
            "query($id: ID!) { message(id: $id) { citations { message { id } pages { first } document { filename } chunk { text } } } }";
        let seen = server.data(ANNA, query, json!({ "id": answer["answer_id"] })).await;
        let cited = &seen["message"]["citations"][0];
        assert_eq!((&cited["message"], &cited["pages"]["first"]), (&Value::Null, &json!(1)), "{seen:#}");
        assert!(cited["chunk"]["text"].as_str().unwrap().contains("4200"));
        // "I" in the document is not the user.
        let likes = server.data(ANNA, "{ viewer { entity { name } } facts { nodes { subject { isViewer } } } }", json!({})).await;
        assert!(!likes["facts"].to_string().contains("\"isViewer\":true"), "{likes}");
        // Nothing answers this.
        let ask = json!({ "session_id": session, "message": "How tall is the lighthouse of Porto?" });
        let chat = server.post(ANNA, "/chat").header("prefer", "wait=30");
        let answer: Value = chat.json(&ask).send().await.unwrap().json().await.unwrap();
        assert_eq!((&answer["grounded"], &answer["citations"]), (&json!(false), &json!([])), "{answer:#}");

        // What the document says goes with it.
        let before = server.data(ANNA, "{ entities { nodes { name } } }", json!({})).await.to_string();
        assert!(before.contains("Lumen Labs"), "{before}");
        let deleted = server.http.delete(server.url(&format!("/documents/{id}"))).header("x-test-user", ANNA).send().await.unwrap();
        assert_eq!(deleted.status(), 204);
        let gone = server.get(ANNA, &format!("/documents/{id}")).send().await.unwrap();
        assert_eq!(gone.status(), 404);
        assert_eq!(context(&server, ANNA, json!({ "query": "travel budget" })).await["chunks"], json!([]));
        let after = server.data(ANNA, "{ entities { nodes { name } } }", json!({})).await.to_string();
        assert!(!after.contains("Lumen Labs"), "{after}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_is_limited_to_sources_collections_and_documents() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let _work = server.work();
        let session = server.session(ANNA).await;
        server.say(ANNA, &session, "The garden fence is green.").await;
        let mut ids = Vec::new();
        for (collection, words) in
            [("a", "The garden fence of the north side is blue."), ("b", "The garden fence of the south side is red.")]
        {
            let response = server.upload(ANNA, "x.txt", words.as_bytes(), &[("collection", collection), ("path", "/fence")]).await;
            ids.push(text(&response.json::<Value>().await.unwrap()["id"]));
            settled(&server, ANNA, &ids[ids.len() - 1]).await;
        }
        let found = async |more: Value| {
            let mut input = json!({ "query": "Which color is the garden fence?" });
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let found = context(&server, ANNA, input).await;
            let mut colors: Vec<&str> = ["green", "blue", "red"].into_iter().filter(|c| found.to_string().contains(c)).collect();
            colors.sort_unstable();
            colors.join(" ")
        };
        assert_eq!(found(json!({})).await, "blue green red");
        assert_eq!(found(json!({ "sources": ["MESSAGES"] })).await, "green");
        assert_eq!(found(json!({ "sources": ["DOCUMENTS"] })).await, "blue red");
        assert_eq!(found(json!({ "sources": ["DOCUMENTS"], "collections": ["b"] })).await, "red");
        assert_eq!(found(json!({ "collections": ["b", "c"] })).await, "green red");
        assert_eq!(found(json!({ "sources": ["DOCUMENTS"], "documentIds": [ids[0]] })).await, "blue");
        assert_eq!(found(json!({ "sources": ["DOCUMENTS"], "documentIds": [ids[0]], "collections": ["b"] })).await, "");
        for method in ["VECTOR", "KEYWORD"] {
            assert_eq!(found(json!({ "sources": ["DOCUMENTS"], "collections": ["a"], "methods": [method] })).await, "blue", "{method}");
        }
        // A new version replaces the old one in searches, unless a search names it.
        let next = server.upload(ANNA, "x.txt", b"The garden fence is white.", &[("collection", "a"), ("path", "/fence")]).await;
        let next = text(&next.json::<Value>().await.unwrap()["id"]);
        assert_eq!(settled(&server, ANNA, &next).await["version"], 2);
        assert_eq!(found(json!({ "sources": ["DOCUMENTS"] })).await, "red");
        assert_eq!(found(json!({ "sources": ["DOCUMENTS"], "documentIds": [ids[0]] })).await, "blue");
        let again = server.upload(ANNA, "y.txt", b"The garden fence is white.", &[("collection", "a")]).await;
        assert_eq!(again.json::<Value>().await.unwrap()["duplicate_of"], json!(next));
        // Others find nothing.
        let foreign = context(&server, BORIS, json!({ "query": "garden fence", "documentIds": [ids[0]] })).await;
        assert_eq!((&foreign["chunks"], &foreign["messages"]), (&json!([]), &json!([])));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn question_is_expanded_by_other_names_and_results_are_reordered() {
    let server = Server::start().await;
    let _work = server.work();
    let session = server.session(ANNA).await;
    let fact = server.fact(ANNA, &session, ["Kovacs Kline", "LIKES", "sushi"]).await;
    let query = "query($id: ID!) { fact(id: $id) { subject { id } } }";
    let entity = text(&server.data(ANNA, query, json!({ "id": fact })).await["fact"]["subject"]["id"]);
    let rename = "mutation($id: ID!) { renameEntity(input: { id: $id, name: \"Zephyr\" }) { entity { aliases } errors { code } } }";
    let renamed = server.data(ANNA, rename, json!({ "id": entity })).await["renameEntity"].clone();
    assert_eq!(renamed["entity"]["aliases"], json!(["Kovacs Kline"]), "{renamed}");
    let apart = "The travel agency has a new sign. It is blue. Nobody knows why. It was hung in May. The budget is a secret.";
    for (name, content) in [("apart.txt", apart), ("near.txt", "Kovacs Kline moved to the harbour. The travel budget is small.")] {
        let added: Value = server.upload(ANNA, name, content.as_bytes(), &[]).await.json().await.unwrap();
        settled(&server, ANNA, &text(&added["id"])).await;
    }
    let ask = async |input: Value| {
        let query =
            "query($input: ContextInput!) { context(input: $input) { expandedQuery chunks { score chunk { text } } messages { score } } }";
        server.data(ANNA, query, json!({ "input": input })).await["context"].clone()
    };
    let plain = ask(json!({ "query": "Where did Zephyr move?", "sources": ["DOCUMENTS"] })).await;
    assert_eq!(plain["expandedQuery"], Value::Null);
    let expanded = ask(json!({ "query": "Where did Zephyr move?", "sources": ["DOCUMENTS"], "expandQuery": true, "first": 1 })).await;
    assert_eq!(expanded["expandedQuery"], "Where did Zephyr move? (Kovacs Kline)");
    assert!(expanded["chunks"][0]["chunk"]["text"].as_str().unwrap().contains("harbour"), "{expanded:#}");
    let reordered = ask(json!({ "query": "travel budget", "rerank": true, "first": 1 })).await;
    assert_eq!(reordered["chunks"].as_array().unwrap().len() + reordered["messages"].as_array().unwrap().len(), 1);
    assert!(reordered["chunks"][0]["chunk"]["text"].as_str().unwrap().contains("budget is small"), "{reordered:#}");
}

#[tokio::test]
async fn unusable_uploads_are_refused_with_a_code() {
    let server = Server::start().await;
    let code = async |response: reqwest::Response| {
        let status = response.status().as_u16();
        (status, text(&response.json::<Value>().await.unwrap()["code"]))
    };
    let refused = async |content: &[u8], fields: &[(&str, &str)]| code(server.upload(ANNA, "a.txt", content, fields).await).await;
    assert_eq!(refused(b"", &[]).await, (400, "DOCUMENT_EMPTY".to_owned()));
    assert_eq!(refused(&vec![b'x'; 100_001], &[]).await, (400, "DOCUMENT_TOO_LARGE".to_owned()));
    assert_eq!(refused(&vec![b'x'; 200_000], &[]).await, (413, "BODY_TOO_LARGE".to_owned()));
    assert_eq!(refused(b"x", &[("collection", "a b")]).await, (400, "COLLECTION_NAME".to_owned()));
    assert_eq!(refused(b"x", &[("path", "a\u{1}")]).await, (400, "PATH_CONTROL_CHARACTERS".to_owned()));
    assert_eq!(refused(b"x", &[("shared", "maybe")]).await, (400, "INVALID_FLAG".to_owned()));
    assert_eq!(refused(b"x", &[("other", "x")]).await, (400, "UNKNOWN_FIELD".to_owned()));
    assert_eq!(refused(b"x", &[("shared", "true")]).await, (403, "FORBIDDEN".to_owned()));
    let form = |body: &'static str| server.post(ANNA, "/documents").header("content-type", "multipart/form-data; boundary=b").body(body);
    assert_eq!(code(form("--b--\r\n").send().await.unwrap()).await, (400, "FILE_REQUIRED".to_owned()));
    assert_eq!(code(form("--b\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\nab").send().await.unwrap()).await.0, 400);
    let listed: Value = server.get(ANNA, "/documents").send().await.unwrap().json().await.unwrap();
    assert_eq!(listed["items"], json!([]), "nothing was stored");
    let add = "mutation($input: AddDocumentInput!) { addDocument(input: $input) { document { id filename } status duplicate errors { code path } } }";
    let wrong = server.data(ANNA, add, json!({ "input": { "text": "x", "mediaType": "application/pdf" } })).await;
    assert_eq!(wrong["addDocument"]["errors"], json!([{ "code": "MEDIA_TYPE", "path": ["input", "mediaType"] }]));
    let good = server.data(ANNA, add, json!({ "input": { "text": "x", "mediaType": "text/markdown", "path": "/n" } })).await;
    assert_eq!((&good["addDocument"]["status"], &good["addDocument"]["document"]["filename"]), (&json!("PENDING"), &json!("n.md")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_file_fails_with_its_reason_and_can_be_deleted() {
    let server = Server::start().await;
    let _work = server.work();
    for (content, reason) in [(&b"PK\x03\x04\xff"[..], "damaged"), (b"{\\rtf1 x}", "format"), (b"  \n", "no text")] {
        let response = server.upload(ANNA, "a.bin", content, &[]).await;
        let id = text(&response.json::<Value>().await.unwrap()["id"]);
        let document = settled(&server, ANNA, &id).await;
        assert_eq!(document["status"], "failed");
        assert!(document["error"].as_str().unwrap().contains(reason), "{document}");
        let delete = |path: String| server.http.delete(server.url(&path)).header("x-test-user", ANNA).send();
        assert_eq!(delete(format!("/documents/{id}/original")).await.unwrap().status(), 204);
        assert_eq!(server.get(ANNA, &format!("/documents/{id}/original")).send().await.unwrap().status(), 404);
        assert_eq!(delete(format!("/documents/{id}")).await.unwrap().status(), 204);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_documents_are_found_by_all_but_visitors() {
    let server = Server::start().await;
    let _work = server.work();
    server.begin_visit().await;
    let response = server.upload(ADMIN, "rules.txt", b"The quiet hours begin at nine.", &[("shared", "true")]).await;
    let id = text(&response.json::<Value>().await.unwrap()["id"]);
    assert_eq!(settled(&server, BORIS, &id).await["shared"], true);
    let found = context(&server, BORIS, json!({ "query": "When do the quiet hours begin?" })).await;
    assert_eq!(found["chunks"][0]["chunk"]["document"]["id"], json!(id), "{found:#}");
    assert_eq!(server.get(VISITOR, &format!("/documents/{id}")).send().await.unwrap().status(), 404);
    let foreign = context(&server, VISITOR, json!({ "query": "When do the quiet hours begin?" })).await;
    assert_eq!(foreign["chunks"], json!([]));
    let delete = |user: &str| server.http.delete(server.url(&format!("/documents/{id}"))).header("x-test-user", user).send();
    assert_eq!(delete(BORIS).await.unwrap().status(), 403);
    assert_eq!(delete(ADMIN).await.unwrap().status(), 204);
}

/// A text with `sections` sections, each with its number.
fn long_text(sections: usize) -> String {
    let section = |n: usize| format!("# Section {n}\n\nThe marker of this part is M{n}X. {}\n\n", "It has some more words. ".repeat(12));
    (0..sections).map(section).collect()
}

/// Uploads a text to the built binary.
async fn upload(server: &crate::server::Server, name: &str, content: &str) -> Option<String> {
    let body = format!("--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{content}\r\n--b--\r\n");
    let request = server.http.post(server.url("/documents")).header("content-type", "multipart/form-data; boundary=b").body(body);
    let answer: Value = request.send().await.ok()?.json().await.ok()?;
    Some(text(&answer["id"]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_nine_while_documents_are_processed_loses_and_duplicates_nothing() {
    use crate::server::Server;
    const SECTIONS: usize = 150;
    let kills: u64 = std::env::var("CRASH_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(8);
    let data = tempfile::tempdir().unwrap();
    let start = || Server::start_with(data.path(), &[("RECALL_ATTEMPTS", "100"), ("RECALL_DOCUMENTS_CHUNK_CHARS", "400")]);
    let mut server = start();
    let id = upload(&server, "long.md", &long_text(SECTIONS)).await.unwrap();
    for n in 0..kills {
        tokio::time::sleep(Duration::from_millis(15 + 37 * n % 200)).await;
        let killed = std::process::Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap();
        assert!(killed.success());
        drop(server);
        server = start();
    }
    let read = async |path: String| -> Value { server.http.get(server.url(&path)).send().await.unwrap().json().await.unwrap() };
    let (mut done, mut since) = (0, Instant::now());
    let document = loop {
        let document = read(format!("/documents/{id}")).await;
        match document["status"].as_str().unwrap() {
            "completed" => break document,
            "failed" => panic!("{document}"),
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
        // Many chunks take their time; only a stop is a failure.
        let now = document["done"].as_u64().unwrap();
        if now > done {
            (done, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < crate::server::TIMEOUT, "{document}");
    };
    let count = document["chunk_count"].as_u64().unwrap();
    assert_eq!((document["done"].as_u64(), document["total"].as_u64()), (Some(2 * count), Some(2 * count)));
    let (mut texts, mut positions, mut path) = (String::new(), Vec::new(), format!("/documents/{id}/chunks?first=100"));
    loop {
        let page = read(path).await;
        for chunk in page["items"].as_array().unwrap() {
            positions.push(chunk["position"].as_u64().unwrap());
            texts.push_str(chunk["text"].as_str().unwrap());
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/documents/{id}/chunks?first=100&after={next}"),
            None => break,
        }
    }
    assert_eq!(positions, (0..count).collect::<Vec<_>>(), "each chunk once, in order");
    assert!((0..SECTIONS).all(|n| texts.contains(&format!("M{n}X"))), "a part is missing");
    let found = read(format!("/context/{id}?q=marker%20M{}X&source=documents", SECTIONS - 1)).await;
    assert!(found["chunks"][0]["chunk"]["text"].as_str().unwrap().contains("marker of this part"), "{found:#}");
}

#[test]
fn command_adds_lists_and_deletes_documents() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("notes.md");
    std::fs::write(&file, "# Notes\n\nThe office is in Ghent.\n").unwrap();
    let run = |arguments: &[&str]| {
        let output = crate::server::recall().args(["documents"]).args(arguments).arg("--data").arg(data.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let path = file.to_str().unwrap();
    let added = run(&["add", path, "--collection", "work"]);
    let id = added.split(' ').next().unwrap().to_owned();
    assert!(added.contains("added") && added.contains("work v1 notes.md"), "{added}");
    assert!(run(&["add", path, "--collection", "work"]).contains("known"));
    assert!(run(&["list"]).contains(&id) && !run(&["list", "--collection", "other"]).contains(&id));
    assert!(run(&["delete", &id]).contains("deleted"));
    assert_eq!(run(&["list"]), "");
}
