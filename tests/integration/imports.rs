//! `recall import --format`: imports what other programs exported.

use std::{io::Write, path::Path};

use serde_json::{Value, json};

use super::server::{Server, recall};

/// Runs `recall import` on a folder with a file of `tests/data/imports`. Returns success, output and errors.
fn import(folder: &Path, file: &Path, arguments: &[&str]) -> (bool, String, String) {
    let done = recall().arg("import").args(arguments).arg(file).arg("--data").arg(folder).output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned(), String::from_utf8_lossy(&done.stderr).into_owned())
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/imports").join(name)
}

async fn sessions(server: &Server) -> Vec<Value> {
    let query = "{ sessions { nodes { id title messages(first: 10) { nodes { role text sentAt externalId kind sourceMetadata } } } } }";
    server.graphql(query, json!({})).await["sessions"]["nodes"].as_array().unwrap().clone()
}

fn titles(sessions: &[Value]) -> Vec<&str> {
    let mut titles: Vec<&str> = sessions.iter().map(|s| s["title"].as_str().unwrap()).collect();
    titles.sort();
    titles
}

#[tokio::test]
async fn chats_of_other_programs_become_sessions_with_facts() {
    let folder = tempfile::tempdir().unwrap();
    // Before any server has run, there is no user yet.
    let (well, output, errors) = import(folder.path(), &fixture("chatgpt.json"), &["--format", "chatgpt"]);
    assert!(well, "{errors}");
    assert!(output.starts_with("2 sessions, 6 new messages, 0 known before\n"), "{output}");
    assert!(output.contains("left out: 4 messages of the system, of tools, or hidden\n"), "{output}");
    assert!(!errors.contains("Maren") && !output.contains("Maren"));

    let server = Server::start(folder.path());
    for (format, file) in [("claude", "claude.json"), ("openwebui", "openwebui.json"), ("mem0", "mem0.json")] {
        let (well, output, errors) = import(folder.path(), &fixture(file), &["--format", format]);
        assert!(well && output.contains("0 known before"), "{output}{errors}");
    }
    let found = sessions(&server).await;
    assert_eq!(titles(&found), ["An edited message", "Family", "Games", "I moved to Ghent.", "Memories from mem0", "Music", "Pets"]);
    for session in &found {
        server.settle(session["id"].as_str().unwrap()).await;
    }
    let facts: Vec<String> = server.facts().await.into_iter().map(|fact| fact.0).collect();
    for fact in ["Maren LIVES_IN Lyon", "Maren WORKS_FOR Airbus", "Otto LIVES_IN Rome", "Anna LIVES_IN Ghent"] {
        assert!(facts.iter().any(|f| f == fact), "{fact} is not in {facts:?}");
    }
    let family = found.iter().find(|s| s["title"] == "Family").unwrap();
    let first = &family["messages"]["nodes"][0];
    assert_eq!((&first["externalId"], &first["role"]), (&json!("u1"), &json!("USER")));
    assert!(first["sentAt"].as_str().unwrap().starts_with("2025-03-01T10:00:01.500"), "{first}");
    let memories = found.iter().find(|s| s["title"] == "Memories from mem0").unwrap();
    assert_eq!(memories["messages"]["nodes"][0]["sourceMetadata"], json!({ "source": "mem0", "rephrased": true }));
}

#[tokio::test]
async fn repeated_import_stores_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let whole: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(fixture("claude.json")).unwrap()).unwrap();
    let mut part = whole.clone();
    part[0]["chat_messages"].as_array_mut().unwrap().truncate(1);
    let file = folder.path().join("export.zip");
    let write = |conversations: &[Value]| {
        let mut archive = zip::ZipWriter::new(std::fs::File::create(&file).unwrap());
        archive.start_file("conversations.json", zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(serde_json::to_string(conversations).unwrap().as_bytes()).unwrap();
        archive.finish().unwrap();
    };
    let data = folder.path().join("data");
    let summary = || import(&data, &file, &["--format", "claude"]).1.lines().next().unwrap().to_owned();
    write(&part);
    assert_eq!(summary(), "2 sessions, 5 new messages, 0 known before");
    write(&whole);
    assert_eq!(summary(), "2 sessions, 2 new messages, 5 known before");
    assert_eq!(summary(), "2 sessions, 0 new messages, 7 known before");
    let server = Server::start(&data);
    assert_eq!(titles(&sessions(&server).await), ["An edited message", "Music"]);
}

#[tokio::test]
async fn unsuitable_imports_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("export.json");
    std::fs::write(&file, r#"[{"id":"1","memory":"a","user_id":"anna"},{"id":"2","memory":"b","user_id":"boris"}]"#).unwrap();
    let refused = |file: &Path, arguments: &[&str]| {
        let (well, output, errors) = import(&data, file, arguments);
        assert!(!well && output.is_empty(), "{output}");
        errors
    };
    assert!(refused(&file, &["--format", "mem0"]).contains("the data of 2 users"));
    assert!(refused(&file, &["--format", "mem0", "--source-user", "carla"]).contains("nothing of the user carla"));
    assert!(refused(&file, &[]).contains("--format"));
    assert!(refused(&file, &["--format", "telegram"]).contains("openwebui"));
    assert!(
        refused(&file, &["--format", "mem0", "--source-user", "anna", "--into", "00000000-0000-4000-8000-000000000001"])
            .contains("no user")
    );
    assert!(refused(&folder.path().join("missing"), &["--format", "chatgpt"]).contains("cannot be read"));
    let (well, output, errors) = import(&data, &file, &["--format", "mem0", "--source-user", "boris"]);
    assert!(well && output.contains("1 sessions, 1 new messages") && output.contains("1 conversations of other users"), "{output}{errors}");
    // What is damaged in one conversation costs only that one.
    std::fs::write(&file, r#"[{"id":"1"},{"uuid":"c","chat_messages":[{"uuid":"m","sender":"human","text":"I live in Ghent."}]}]"#)
        .unwrap();
    let (well, output, _) = import(&data, &file, &["--format", "claude"]);
    assert!(well && output.contains("1 new messages") && output.contains("1 conversations in an unknown form"), "{output}");
    let (well, _, errors) = import(&data, &file, &["--format", "chatgpt"]);
    assert!(!well && errors.contains("no conversation could be read"), "{errors}");
}
