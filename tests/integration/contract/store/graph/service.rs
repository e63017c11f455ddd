//! A real Neo4j server that the tests start and stop.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, OnceLock},
};

use recall_domain::Ontology;
use recall_graph_neo4j::{Neo4jConfig, Neo4jGraph};
use tempfile::TempDir;

const PASSWORD: &str = "secret-of-tests";

/// The launcher, if the environment names one.
fn launcher() -> Option<PathBuf> {
    let given = std::env::var_os("RECALL_TEST_NEO4J").map(PathBuf::from);
    if given.is_none() {
        eprintln!("RECALL_TEST_NEO4J names no launcher, so nothing is tested against a real Neo4j; ./test does");
    }
    given
}

/// A server with its own folder. It stops when dropped, and at the latest with the test process.
pub(crate) struct Neo4jServer {
    child: Option<Child>,
    folder: TempDir,
    port: u16,
}

impl Neo4jServer {
    /// Starts a server; `None` if there is no launcher.
    pub(crate) async fn start() -> Option<Self> {
        launcher()?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { child: None, folder: TempDir::new().unwrap(), port };
        server.restart().await;
        Some(server)
    }

    /// One server for all tests that only use it.
    pub(crate) async fn shared() -> Option<&'static Self> {
        static SHARED: tokio::sync::OnceCell<Option<Neo4jServer>> = tokio::sync::OnceCell::const_new();
        SHARED.get_or_init(Self::start).await.as_ref()
    }

    pub(crate) fn url(&self) -> String {
        format!("bolt://127.0.0.1:{}", self.port)
    }

    pub(crate) fn settings(&self) -> [(&'static str, String); 3] {
        [("RECALL_NEO4J_URL", self.url()), ("RECALL_NEO4J_USER", "neo4j".into()), ("RECALL_NEO4J_PASSWORD", PASSWORD.into())]
    }

    pub(crate) fn config(&self) -> Neo4jConfig {
        // A long time-out, because the test machine may be busy.
        Neo4jConfig { query_timeout: std::time::Duration::from_secs(30), ..Neo4jConfig::at(self.url(), "neo4j", PASSWORD) }
    }

    pub(crate) fn graph(&self) -> Arc<Neo4jGraph> {
        Arc::new(Neo4jGraph::new(self.config(), ontology()).unwrap())
    }

    /// Runs a query and returns the column `name`.
    pub(crate) async fn names(&self, cypher: &str) -> Vec<String> {
        self.rows(cypher).await.iter().map(|row| row.get::<String>("name").unwrap()).collect()
    }

    /// Runs a query and returns its rows.
    pub(crate) async fn rows(&self, cypher: &str) -> Vec<neo4rs::Row> {
        tokio::time::timeout(crate::server::TIMEOUT, self.read_rows(cypher)).await.expect("Neo4j does not answer")
    }

    /// The driver waits without a limit, for example for a lock that a transaction of another connection holds.
    async fn read_rows(&self, cypher: &str) -> Vec<neo4rs::Row> {
        let driver = neo4rs::Graph::new(self.url(), "neo4j", PASSWORD).await.unwrap();
        let mut found = driver.execute(neo4rs::query(cypher)).await.unwrap();
        let mut rows = Vec::new();
        while let Some(row) = found.next().await.unwrap() {
            rows.push(row);
        }
        rows
    }

    /// Starts the server with its folder.
    pub(crate) async fn restart(&mut self) {
        let data = self.folder.path().join("data");
        let mut command = Command::new(launcher().unwrap());
        command.arg("run").arg(data).arg(self.port.to_string()).arg(PASSWORD);
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let log = self.folder.path().join("log");
        let ready = tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(out).lines();
            lines.any(|l| l.is_ok_and(|l| l.starts_with("ready")))
        });
        self.child = Some(child);
        assert!(ready.await.unwrap(), "Neo4j did not start: {}", std::fs::read_to_string(log).unwrap_or_default());
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops or continues the process: a frozen server accepts connections and answers nothing.
    pub(crate) fn freeze(&self, frozen: bool) {
        let signal = if frozen { "-STOP" } else { "-CONT" };
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Deletes all data of a stopped server.
    pub(crate) fn wipe(&self) {
        assert!(self.child.is_none());
        remove(&self.folder.path().join("data"));
    }
}

fn remove(folder: &Path) {
    if let Err(e) = std::fs::remove_dir_all(folder) {
        assert_eq!(e.kind(), std::io::ErrorKind::NotFound, "{e}");
    }
}

impl Drop for Neo4jServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The default ontology of the product.
pub(crate) fn ontology() -> &'static Ontology {
    static ONTOLOGY: OnceLock<Ontology> = OnceLock::new();
    ONTOLOGY.get_or_init(|| Ontology::parse(recall_understand::default_ontology()).unwrap())
}
