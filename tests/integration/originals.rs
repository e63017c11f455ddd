//! The files of documents, in the database and in a folder: both are kept, read, exported and deleted in the same way.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::{
    api::harness::{self, ANNA, BORIS, text},
    server::{Server, within},
    stored::Stored,
};

/// The names of the files in a folder for originals.
fn files(folder: &Path) -> BTreeSet<String> {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    files.map(|file| file.file_name().into_string().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn original_is_kept_and_deleted_in_the_store_and_in_a_folder() {
    for (in_folder, stored) in [false, true].into_iter().zip([Stored::all().await, Stored::all().await]) {
        for stored in stored {
            keep_and_delete(harness::Server::start_with_originals(stored, in_folder).await, in_folder).await;
        }
    }
}

async fn keep_and_delete(server: harness::Server, in_folder: bool) {
    let _work = server.work();
    let kept = async |user: &str, id: &str| {
        let file = server.get(user, &format!("/documents/{id}/original")).send().await.unwrap();
        if file.status() == 200 { Some(file.bytes().await.unwrap().to_vec()) } else { None }
    };
    let folder = server.originals();
    let count = async || {
        server.usecases.delete_due_files().await.unwrap();
        files(&folder).len()
    };
    let expect = |documents: usize| if in_folder { documents } else { 0 };
    let add = async |user: &str, name: &str, content: &[u8]| {
        let added: Value = server.upload(user, name, content, &[]).await.json().await.unwrap();
        let id = text(&added["id"]);
        let settled = async {
            loop {
                let document: Value = server.get(user, &format!("/documents/{id}")).send().await.unwrap().json().await.unwrap();
                match document["status"].as_str().unwrap() {
                    "completed" => break,
                    "failed" => panic!("{document}"),
                    _ => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        };
        within("the document is not processed", settled).await;
        id
    };
    let delete = async |path: String| server.http.delete(server.url(&path)).header("x-test-user", ANNA).send().await.unwrap().status();

    // A name decides nothing about where the file is.
    let first = add(ANNA, "../../../etc/passwd", b"The gate code is 4711.").await;
    let second = add(ANNA, "b.txt", b"The keys are in the drawer.").await;
    let theirs = add(BORIS, "b.txt", b"The keys are in the drawer.").await;
    assert_eq!(kept(ANNA, &first).await.unwrap(), b"The gate code is 4711.");
    assert_eq!((kept(BORIS, &first).await, kept(ANNA, &theirs).await), (None, None), "another user's file was read");
    assert_eq!(count().await, expect(3));
    // Known content leaves no second file behind.
    let known: Value = server.upload(ANNA, "c.txt", b"The gate code is 4711.", &[]).await.json().await.unwrap();
    assert_eq!((&known["duplicate_of"], count().await), (&json!(first), expect(3)));
    // An archive does not tell where the files were.
    let archive = server.get(ANNA, "/export").send().await.unwrap().text().await.unwrap();
    assert_eq!(archive.matches("\"type\":\"original\"").count(), 2, "{archive}");
    assert!(archive.contains("VGhlIGdhdGUgY29kZSBpcyA0NzExLg==") && !archive.contains("\"type\":\"file\""));

    assert_eq!(delete(format!("/documents/{first}/original")).await, 204);
    assert_eq!((kept(ANNA, &first).await, count().await), (None, expect(2)));
    assert_eq!(delete(format!("/documents/{second}")).await, 204);
    assert_eq!((kept(ANNA, &second).await, count().await), (None, expect(1)));
    assert_eq!(kept(BORIS, &theirs).await.unwrap(), b"The keys are in the drawer.");
    let erased = "mutation { deleteMyData(input: { confirm: \"DELETE\" }) { errors { code } } }";
    assert_eq!(server.data(BORIS, erased, json!({})).await["deleteMyData"]["errors"], json!([]));
    let gone = async {
        while count().await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within("the file stays", gone).await;
}

/// Sends a document; `None` without an acknowledgement.
async fn upload(server: &Server, content: &str) -> Option<String> {
    let body = format!("--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n{content}\r\n--b--\r\n");
    let request = server.http.post(server.url("/documents")).header("content-type", "multipart/form-data; boundary=b").body(body);
    let answer: Value = request.send().await.ok()?.json().await.ok()?;
    Some(answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned())
}

/// The files that a database knows: those of documents, and others.
async fn known_files(data: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut db = SqliteConnection::connect(&format!("sqlite:{}", data.join("recall.db").display())).await.unwrap();
    let mut read = async |sql: &'static str| -> BTreeSet<String> {
        let names: Vec<(String,)> = sqlx::query_as(sql).fetch_all(&mut db).await.unwrap();
        names.into_iter().map(|(name,)| name).collect()
    };
    (read("SELECT lower(hex(file)) FROM document_files").await, read("SELECT lower(hex(file)) FROM unowned_files").await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_nine_loses_and_leaks_no_file() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("files");
    let env = [("RECALL_DOCUMENTS_ORIGINALS", "folder"), ("RECALL_DOCUMENTS_FOLDER", folder.to_str().unwrap()), ("RECALL_ATTEMPTS", "100")];
    let mut acknowledged: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..8_u64 {
        let server = Arc::new(Server::start_with(data.path(), &env));
        let count = Arc::new(AtomicU64::new(0));
        let senders: Vec<_> = (0..3)
            .map(|sender| {
                let (server, count) = (server.clone(), count.clone());
                tokio::spawn(async move {
                    let mut stored = Vec::new();
                    for n in 0.. {
                        // Several pieces, so that a kill finds files that are written in part. The parser refuses them at once.
                        let content = format!("%PDF-1.7\n{round} {sender} {n} {}", "x".repeat(600_000));
                        let Some(id) = upload(&server, &content).await else { break };
                        count.fetch_add(1, Ordering::SeqCst);
                        stored.push((id, content));
                    }
                    stored
                })
            })
            .collect();
        let begun = async {
            while count.load(Ordering::SeqCst) <= round % 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within("no document is stored", begun).await;
        tokio::time::sleep(Duration::from_millis(7 * round)).await;
        // Deletions are killed, too.
        let deleted = acknowledged.keys().next().cloned();
        if let Some(id) = &deleted {
            let _ = server.http.delete(server.url(&format!("/documents/{id}"))).send().await;
            acknowledged.remove(id);
        }
        assert!(std::process::Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap().success());
        for sender in senders {
            acknowledged.extend(sender.await.unwrap());
        }
    }
    let server = Server::start_with(data.path(), &env);
    assert!(acknowledged.len() >= 8, "the load must store documents");
    for (id, content) in &acknowledged {
        let file = server.http.get(server.url(&format!("/documents/{id}/original"))).send().await.unwrap();
        assert_eq!(file.status(), 200);
        assert!(file.text().await.unwrap() == *content, "the file of {id} changed");
    }
    assert!(server.stop().0);
    let (owned, unowned) = known_files(data.path()).await;
    let found = files(&folder);
    assert!(owned.is_subset(&found), "files were lost");
    let leaked: Vec<_> = found.iter().filter(|name| !owned.contains(*name) && !unowned.contains(*name)).collect();
    assert!(leaked.is_empty(), "nothing deletes {leaked:?}");
    assert!(owned.len() >= acknowledged.len());
}
