//! A change from the built-in embedding model to a real one behind a server, and back.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Instant,
};

use serde_json::json;

use super::binary::{checked, import, recall_by_meaning};
use crate::{
    postgres::Schema,
    server::{Server, TIMEOUT},
};

const MODEL: &str = "all-MiniLM-L6-v2";
const MESSAGES: usize = 200;

/// Serves all-MiniLM-L6-v2 at `/v1/embeddings`.
struct MiniLm {
    child: Child,
    url: String,
}

impl MiniLm {
    /// Starts the server; `None` if there is no launcher.
    fn start() -> Option<Self> {
        let Some(launcher) = std::env::var_os("RECALL_TEST_EMBEDDINGS").map(PathBuf::from) else {
            eprintln!("RECALL_TEST_EMBEDDINGS names no launcher, so nothing is tested with a real embedding model; ./test does");
            return None;
        };
        let mut command = Command::new(launcher);
        let mut child = command.args(["run", "0"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().rsplit_once(' ').unwrap_or_else(|| panic!("no address in {line:?}")).1.to_owned();
        Some(Self { child, url })
    }
}

impl Drop for MiniLm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the first result of a vector search.
async fn first(server: &Server, question: &str) -> String {
    let query = "query($q: String!) { context(input: { query: $q, methods: [VECTOR] }) { messages { message { text } } } }";
    let data = server.graphql(query, json!({ "q": question })).await;
    data["context"]["messages"][0]["message"]["text"].as_str().unwrap_or_default().to_owned()
}

async fn assert_change_and_return(url: Option<&str>) {
    let Some(model) = MiniLm::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Old vectors stay for twice the maximum time of a statement.
    let mut local = vec![("RECALL_LEASE_SECONDS", "2"), ("RECALL_DATABASE_STATEMENT_SECONDS", "2")];
    local.extend(url.map(|url| ("RECALL_DATABASE_URL", url)));
    let served = [&local[..], &[("RECALL_EMBEDDINGS_URL", model.url.as_str()), ("RECALL_EMBEDDINGS_MODEL", MODEL)]].concat();

    let server = Server::start_with(folder.path(), &local);
    let ids = import(&server, MESSAGES).await;
    let session = server.create_session().await;
    let before = "The toddler was taken to hospital with a broken wrist.";
    server.send(json!({ "sessionId": session, "text": before })).await.unwrap();
    server.settle(&session).await;
    let found = recall_by_meaning(&server, &ids).await;
    assert!(found >= 0.98, "{found}");
    assert!(server.stop().0);

    let server = Server::start_with(folder.path(), &served);
    let started = Instant::now();
    while checked(folder.path(), &served) != format!("vectors: all are of {MODEL}/384") {
        let now = recall_by_meaning(&server, &ids).await;
        assert!(now >= found, "{now} while vectors are made");
        assert!(started.elapsed() < TIMEOUT * 3, "{}", checked(folder.path(), &served));
    }
    assert!(recall_by_meaning(&server, &ids).await >= found);
    // The query shares no word with the text, so only the model can match it.
    assert_eq!(first(&server, "an injured child").await, before);
    let meanwhile = "Our landlord wants more rent from spring on.";
    server.send(json!({ "sessionId": session, "text": meanwhile })).await.unwrap();
    server.settle(&session).await;
    assert_eq!(first(&server, "the flat becomes expensive").await, meanwhile);
    assert!(server.stop().0);
    drop(model);

    // Changes back without that server. Messages from the time of the other model are found, too.
    let server = Server::start_with(folder.path(), &local);
    let started = Instant::now();
    while !checked(folder.path(), &local).starts_with("vectors: all are of minilm-static-256") {
        assert!(started.elapsed() < TIMEOUT * 3, "{}", checked(folder.path(), &local));
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(recall_by_meaning(&server, &ids).await >= found);
    assert_eq!(first(&server, "what our landlord wants").await, meanwhile);
    assert!(server.stop().0);
}

#[tokio::test(flavor = "multi_thread")]
async fn real_model_takes_over_and_back_on_sqlite() {
    assert_change_and_return(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_model_takes_over_and_back_on_postgres() {
    let Some(schema) = Schema::new().await else { return };
    assert_change_and_return(Some(&schema.url)).await;
}
