//! `recall export` and `recall import` as programs.

use std::{
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::{
    postgres::Schema,
    server::{Server, TIMEOUT, recall},
};

const TOLD: [&str; 6] = [
    "John likes Mary.",
    "Mary works at Acme and lives in Ghent.",
    "My sister Anna moved to Lyon.",
    "John no longer works at Initech.",
    "Anna is short for Annabelle.",
    "I play chess with John on Fridays.",
];

fn with(store: &Path, url: Option<&str>, args: &[&str]) -> Command {
    let mut command = recall();
    command.args(args).arg("--data").arg(store);
    if let Some(url) = url {
        command.env("RECALL_DATABASE_URL", url);
    }
    command
}

fn export(store: &Path, url: Option<&str>) -> Vec<u8> {
    let done = with(store, url, &["export"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

fn import(store: &Path, url: Option<&str>, archive: &[u8]) -> Output {
    let mut child = with(store, url, &["import"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The command may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(archive);
    child.wait_with_output().unwrap()
}

/// Returns search results and messages, without values that depend on the time.
async fn found(server: &Server, session: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for question in ["Who does John like?", "Where does Mary live?", "Where is my sister?", "What do I play?"] {
        let query = "query($q: String!) { context(input: { query: $q }) {
            facts { fact { id subject { id name } relation object { id name } status } } messages { message { id text } score } } }";
        let mut context = server.graphql(query, json!({ "q": question })).await;
        for message in context["context"]["messages"].as_array_mut().unwrap() {
            let score = message["score"].as_f64().unwrap();
            message["score"] = json!((score * 1e4).round());
        }
        all.push(context);
    }
    let query = "query($id: ID!) { session(id: $id) { title messages(first: 100) {
        nodes { id text role status sentAt citations { index excerpt } } } } }";
    all.push(server.graphql(query, json!({ "id": session })).await);
    all
}

/// Asks a question and returns the answer with its citations.
async fn answer(server: &Server, session: &str, question: &str) -> Value {
    server.send(json!({ "sessionId": session, "text": question })).await.unwrap();
    let started = std::time::Instant::now();
    loop {
        let query = "query($id: ID!) { session(id: $id) { messages(last: 1) { nodes { role text citations { index excerpt } } } } }";
        let last = server.graphql(query, json!({ "id": session })).await["session"]["messages"]["nodes"][0].clone();
        if last["role"] == "ASSISTANT" {
            return last;
        }
        assert!(started.elapsed() < TIMEOUT, "no answer");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Moves data from SQLite over every available engine and back, with an export while the server runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archive_moves_data_between_all_stores() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let server = Server::start(&first);
    let session = server.create_session().await;
    for text in TOLD {
        server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
    }
    server.settle(&session).await;
    let before = found(&server, &session).await;
    assert!(before[0]["context"]["facts"].as_array().is_some_and(|f| !f.is_empty()));
    let mut archive = export(&first, None);
    let asked = answer(&server, &session, "Who does John like?").await;
    assert!(server.stop().0);

    let schema = Schema::new().await;
    let url = schema.as_ref().map(|s| s.url.as_str());
    let stops = url.map(|url| ("second", Some(url))).into_iter().chain([("third", None)]);
    for (name, url) in stops {
        let data = folder.path().join(name);
        for _ in 0..2 {
            let done = import(&data, url, &archive);
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let again = export(&data, url);
        // The first lines name the installation and its user, and the last one has their checksum.
        let rest = |a: &[u8]| {
            String::from_utf8(a.to_vec()).unwrap().lines().skip(2).filter(|l| !l.contains("\"sha256\"")).collect::<Vec<_>>().join("\n")
        };
        assert!(rest(&again) == rest(&archive), "{name} differs");
        let env: Vec<_> = url.iter().map(|url| ("RECALL_DATABASE_URL", *url)).collect();
        let server = Server::start_with(&data, &env);
        // An archive has no passages: the first search has the messages encoded.
        found(&server, &session).await;
        server.rest().await;
        assert_eq!(found(&server, &session).await, before, "{name}");
        // The old events are not here, and no new ones replace them.
        assert!(server.events(&session).await.is_empty());
        assert_eq!(answer(&server, &session, "Who does John like?").await, asked, "{name}");
        assert!(server.stop().0);
        archive = again;
    }
}

#[test]
fn bad_archive_error_names_line_and_code_without_content() {
    let folder = tempfile::tempdir().unwrap();
    let done = import(folder.path(), None, b"{\"format\":\"recall-archive\",\"version\":7}\n");
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && text.contains("line 1") && text.contains("ARCHIVE_TOO_NEW"), "{text}");
    let header = format!(
        "{{\"format\":\"recall-archive\",\"version\":1,\"program\":\"x\",\"exported_at\":1,\"local_user\":\"{}\"}}\n",
        uuid::Uuid::from_u128(1)
    );
    let done = import(folder.path(), None, format!("{header}{{\"type\":\"session\",\"id\":\"Geheimnis\"}}\n").as_bytes());
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && text.contains("line 2") && text.contains("ARCHIVE_DAMAGED") && text.contains("`id`"), "{text}");
    assert!(!text.contains("Geheimnis"));
}

/// An archive of one user, with any owner.
fn archive_of(owner: uuid::Uuid, local: uuid::Uuid) -> Vec<u8> {
    let lines = [
        json!({ "format": "recall-archive", "version": 1, "program": "x", "exported_at": 1, "local_user": local }),
        json!({ "type": "user", "id": owner, "feed_head": 0, "knowledge_version": 0 }),
        json!({ "type": "session", "id": uuid::Uuid::from_u128(9), "created_at": 1, "updated_at": 1, "message_count": 0 }),
        json!({ "type": "end", "records": 2 }),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

#[test]
fn untrusted_archive_owner_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (stranger, shared) = (uuid::Uuid::from_u128(77), recall_domain::UserId::SHARED.0);
    let import_with = |name: &str, args: &[&str], archive: &[u8]| {
        let data = folder.path().join(name);
        let mut child = with(&data, None, &[&["import"], args].concat());
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(archive);
        let done = child.wait_with_output().unwrap();
        let listed = with(&data, None, &["user", "list"]).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        (done.status.success(), said, String::from_utf8(listed.stdout).unwrap())
    };
    // Also if the archive calls shared memory or the nil user its local user.
    for (owner, local) in [(stranger, uuid::Uuid::nil()), (shared, uuid::Uuid::nil()), (shared, shared)] {
        let (well, said, listed) = import_with("refused", &[], &archive_of(owner, local));
        assert!(!well && said.contains("line 2") && said.contains("ARCHIVE_OWNER") && said.contains("--trust-owners"), "{said}");
        assert!(said.contains(&owner.to_string()) && !listed.contains(&owner.to_string()), "{said}{listed}");
    }
    let (well, said, listed) = import_with("trusted", &["--trust-owners"], &archive_of(stranger, uuid::Uuid::nil()));
    assert!(well && said.contains(&format!("writes user {stranger}")) && listed.contains(&stranger.to_string()), "{said}{listed}");
    for args in [&["--trust-owners"][..], &["--into", "shared"]] {
        let (well, said, listed) = import_with(args[0], args, &archive_of(shared, uuid::Uuid::nil()));
        assert!(well && said.contains("writes shared memory") && listed.contains("(shared memory)"), "{said}{listed}");
    }
    let (well, said, _) = import_with("into", &["--into", "local"], &archive_of(stranger, uuid::Uuid::nil()));
    assert!(well && said.contains("writes the local user") && !said.contains(&stranger.to_string()), "{said}");
    let (well, said, _) = import_with("local", &[], &archive_of(stranger, stranger));
    assert!(well && said.contains("writes the local user"), "{said}");
    assert!(!import_with("both", &["--into", "local", "--trust-owners"], b"").0, "both options are accepted together");
}

#[test]
fn export_ends_when_reader_closes_pipe() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!with(folder.path(), None, &["export"]).output().unwrap().status.success(), "an empty folder was exported");
    assert!(with(folder.path(), None, &["migrate"]).output().unwrap().status.success());
    let mut child = with(folder.path(), None, &["export"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && text.contains("closed the pipe") && !text.contains("panicked"), "{text}");
    let unknown = with(folder.path(), None, &["export", "--user", "00000000-0000-0000-0000-000000000001"]).output().unwrap();
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert!(!unknown.status.success() && text.contains("not found"), "{text}");
}
