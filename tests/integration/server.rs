//! Starts the built binary for tests: free port, own folder, killed when dropped.

use std::{
    future::Future,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// The longest wait for anything, much longer than needed, so that only a hang fails.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// Awaits what must happen within [`TIMEOUT`]; `failure` says what it means if it does not.
pub(crate) async fn within<T>(failure: &str, happens: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, happens).await.unwrap_or_else(|_| panic!("{failure}"))
}

/// Reads the lines of a process on a thread, so that a test can stop waiting for a silent process.
pub(crate) fn lines_of(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    // Continues without a receiver, so that the process can go on writing.
    std::thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    lines
}

/// Returns the command without the RECALL_ variables of the environment.
pub(crate) fn recall() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recall"));
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("RECALL_")) {
        command.env_remove(name);
    }
    command
}

/// A running server.
pub(crate) struct Server {
    /// In a mutex, because several owners share a server and one waits for its exit.
    child: Mutex<Child>,
    pid: u32,
    pub(crate) address: String,
    pub(crate) http: reqwest::Client,
}

impl Server {
    /// Starts the binary with a data folder and waits until it prints its address.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// Like [`Server::start`], with more environment variables.
    pub(crate) fn start_with(data: &Path, env: &[(&str, &str)]) -> Self {
        Self::spawn(data, env, Stdio::inherit(), "warn")
    }

    /// Like [`Server::start`], with logs of this level in a file.
    pub(crate) fn start_logging(data: &Path, log: &Path, filter: &str) -> Self {
        let log = std::fs::File::create(log).unwrap();
        Self::spawn(data, &[("RECALL_LOG_FORMAT", "json")], Stdio::from(log), filter)
    }

    /// Like [`Server::start_logging`], with more environment variables.
    pub(crate) fn start_logging_with(data: &Path, log: &Path, filter: &str, env: &[(&str, &str)]) -> Self {
        Self::spawn(data, env, Stdio::from(std::fs::File::create(log).unwrap()), filter)
    }

    fn spawn(data: &Path, env: &[(&str, &str)], stderr: Stdio, filter: &str) -> Self {
        let mut command = recall();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(["--log", filter])
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut child = command.spawn().expect("the binary does not start");
        let line = lines_of(child.stdout.take().unwrap()).recv_timeout(TIMEOUT).unwrap_or_else(|e| panic!("no address: {e}"));
        let address = line.trim().rsplit_once("http://").unwrap_or_else(|| panic!("no address in {line:?}")).1.to_owned();
        let http = reqwest::Client::builder().timeout(TIMEOUT).build().unwrap();
        Self { pid: child.id(), child: Mutex::new(child), address, http }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the exit of the process; returns whether it was successful.
    pub(crate) fn wait(&self) -> bool {
        let (started, mut child) = (Instant::now(), self.child.lock().unwrap());
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.success();
            }
            assert!(started.elapsed() < TIMEOUT, "the server does not exit");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends SIGTERM and waits; returns whether the exit was successful.
    pub(crate) fn interrupt(&self) -> bool {
        assert!(Command::new("kill").args(["-TERM", &self.pid().to_string()]).status().unwrap().success());
        self.wait()
    }

    /// Sends SIGTERM; returns whether the exit was successful, and how long it took.
    pub(crate) fn stop(self) -> (bool, Duration) {
        let started = Instant::now();
        (self.interrupt(), started.elapsed())
    }

    /// Runs an operation that must succeed.
    /// Retries queries on `UNAVAILABLE`, as clients do: after an outage every connection of a pool may be broken.
    pub(crate) async fn graphql(&self, query: &str, variables: Value) -> Value {
        let started = Instant::now();
        let answer = loop {
            let answer = self.try_graphql(query, variables.clone()).await.expect("the server does not answer");
            let again = answer["errors"][0]["extensions"]["code"] == "UNAVAILABLE" && !query.trim_start().starts_with("mutation");
            if !again || started.elapsed() > TIMEOUT {
                break answer;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert!(answer.get("errors").is_none(), "{answer}");
        answer["data"].clone()
    }

    /// Runs an operation; `None` without an answer.
    pub(crate) async fn try_graphql(&self, query: &str, variables: Value) -> Option<Value> {
        let body = json!({ "query": query, "variables": variables });
        self.http.post(self.url("/graphql")).json(&body).send().await.ok()?.json().await.ok()
    }

    pub(crate) async fn create_session(&self) -> String {
        let data = self.graphql("mutation { createSession(input: {}) { session { id } errors { code } } }", json!({})).await;
        data["createSession"]["session"]["id"].as_str().unwrap().to_owned()
    }

    /// Sends a message; `None` without an acknowledgement.
    pub(crate) async fn send(&self, input: Value) -> Option<Value> {
        let query = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { status message { id } errors { code message } } }";
        let answer = self.try_graphql(query, json!({ "input": input })).await?;
        let message = answer["data"]["sendMessage"]["message"].clone();
        assert!(message.is_object(), "{answer}");
        Some(message)
    }

    /// Returns all events of a session, read from the SSE endpoint up to the head of the log.
    pub(crate) async fn events(&self, session: &str) -> Vec<Value> {
        let data = self.graphql("query($id: ID!) { session(id: $id) { head } }", json!({ "id": session })).await;
        self.read_log(&format!("/sessions/{session}/events"), data["session"]["head"].as_str().unwrap()).await
    }

    /// Returns all events of the own memory, read from the SSE endpoint up to the head of the log.
    pub(crate) async fn memory_events(&self) -> Vec<Value> {
        let data = self.graphql("{ viewer { head } }", json!({})).await;
        self.read_log("/events", data["viewer"]["head"].as_str().unwrap()).await
    }

    async fn read_log(&self, path: &str, head: &str) -> Vec<Value> {
        let (head, shared) = head.split_at(head.find(',').unwrap_or(head.len()));
        let (epoch, head) = head.split_once(':').unwrap();
        let head: u64 = head.parse().unwrap();
        let mut found: Vec<Value> = Vec::new();
        if head == 0 {
            return found;
        }
        let mut answer = self.http.get(self.url(&format!("{path}?after={epoch}:0{shared}"))).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        let mut text = String::new();
        while found.last().and_then(|e| e["seq"].as_u64()) != Some(head) {
            let chunk = tokio::time::timeout(TIMEOUT, answer.chunk()).await.expect("no event arrives").unwrap();
            text.push_str(std::str::from_utf8(&chunk.expect("the stream ended")).unwrap());
            while let Some(end) = text.find("\n\n") {
                let block: String = text.drain(..end + 2).collect();
                let field = |name: &str| block.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
                let (Some(id), Some(data)) = (field("id:"), field("data:")) else { continue };
                let own = id.split(',').next().unwrap_or_default();
                let Some(seq) = own.split_once(':').and_then(|(_, s)| s.parse::<u64>().ok()) else { continue };
                let mut event: Value = serde_json::from_str(data).unwrap();
                event["seq"] = json!(seq);
                found.push(event);
            }
        }
        found
    }

    /// Waits until no message of a session is being processed.
    pub(crate) async fn settle(&self, session: &str) {
        let query = "query($id: ID!, $after: String) { session(id: $id) { messages(first: 100, after: $after) {
            nodes { status } pageInfo { hasNextPage endCursor } } } }";
        let started = Instant::now();
        loop {
            let (mut open, mut after) = (0, Value::Null);
            loop {
                let data = self.graphql(query, json!({ "id": session, "after": after })).await;
                let page = &data["session"]["messages"];
                open += page["nodes"].as_array().unwrap().iter().filter(|m| m["status"] == "PROCESSING").count();
                if page["pageInfo"]["hasNextPage"] != true {
                    break;
                }
                after = page["pageInfo"]["endCursor"].clone();
            }
            if open == 0 {
                return self.rest().await;
            }
            assert!(started.elapsed() < TIMEOUT, "{open} messages are still being processed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until what was told is encoded, because the order of what a search finds changes until then. Jobs that hang keep the server from that.
    pub(crate) async fn rest(&self) {
        let started = Instant::now();
        while started.elapsed() < TIMEOUT {
            let Ok(metrics) = self.http.get(self.url("/metrics")).send().await else { return };
            let metrics = metrics.text().await.unwrap_or_default();
            let waiting = metrics.lines().find_map(|line| line.strip_prefix("recall_unencoded_texts "));
            if waiting.is_none_or(|waiting| waiting == "0") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the sorted facts as words, with weight, belief and status.
    pub(crate) async fn facts(&self) -> Vec<(String, f64, f64, String)> {
        let query = "query($after: String) { facts(first: 100, after: $after) {
            nodes { subject { name } relation object { name } weight belief status } pageInfo { hasNextPage endCursor } } }";
        let (mut rows, mut after) = (Vec::new(), Value::Null);
        loop {
            let data = self.graphql(query, json!({ "after": after })).await;
            let page = &data["facts"];
            for f in page["nodes"].as_array().unwrap() {
                let text = |v: &Value| v.as_str().unwrap().to_owned();
                let words = format!("{} {} {}", text(&f["subject"]["name"]), text(&f["relation"]), text(&f["object"]["name"]));
                rows.push((words, f["weight"].as_f64().unwrap(), f["belief"].as_f64().unwrap(), text(&f["status"])));
            }
            if page["pageInfo"]["hasNextPage"] != true {
                break;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}
