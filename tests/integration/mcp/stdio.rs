//! `recall mcp`: the built program as a desktop agent runs it.

use std::{
    io::Write,
    net::TcpListener,
    path::Path,
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::server::{Server, TIMEOUT, lines_of, recall};

/// A running bridge. Dropping it kills it.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    count: u64,
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bridge {
    fn start(data: &Path, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = recall();
        command.arg("mcp").args(args).arg("--data").arg(data).args(["--log", "warn"]).envs(env.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), child, lines, count: 0 }
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    fn read(&self) -> Value {
        let line = self.lines.recv_timeout(TIMEOUT).expect("the bridge does not answer");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("standard output has other text than JSON: {line} ({e})"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.count += 1;
        let id = self.count;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let answer = self.read();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{answer}");
        answer
    }

    fn initialize(&mut self) {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let answer = self.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))["result"].clone()
    }

    /// Closes standard input and returns whether the exit was successful.
    fn end(mut self) -> bool {
        self.input = None;
        self.wait()
    }

    /// Waits for the exit and returns whether it was successful.
    fn wait(&mut self) -> bool {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            assert!(started.elapsed() < TIMEOUT, "the bridge does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn signal_ends_bridge_and_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let mut bridge = Bridge::start(folder.path(), &["--listen", &address], &[]);
    bridge.initialize();
    let pid = bridge.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    // Standard input stays open, as that of an agent that hangs.
    assert!(bridge.wait());
    assert!(std::net::TcpStream::connect(&address).is_err());
}

/// An address on which nothing listens.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn bridge_runs_a_server_if_none_answers() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let mut first = Bridge::start(folder.path(), &["--listen", &address], &[]);
    first.initialize();
    let stored = first.call("remember", json!({ "text": "John likes Mary." }));
    assert_eq!(stored["structuredContent"]["facts"][0]["text"], "John likes Mary", "{stored:#}");

    // A second agent on this machine uses the same server, and takes over when that ends with the first agent.
    let mut second = Bridge::start(folder.path(), &["--listen", &address], &[]);
    second.initialize();
    let found = second.call("recall", json!({ "query": "Who does John like?" }));
    assert_eq!(found["structuredContent"]["facts"][0]["text"], "John likes Mary", "{found:#}");
    assert!(first.end());
    let found = second.call("recall", json!({ "query": "Who does John like?" }));
    assert_eq!(found["structuredContent"]["facts"][0]["text"], "John likes Mary", "{found:#}");
    assert!(second.end());
    let left: Vec<_> = folder.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().any(|name| name == "recall.db"), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bridge_forwards_to_a_running_server() {
    const TOKEN: &str = "token-0123456789-0123456789-0123456789";
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &[("RECALL_TOKEN", TOKEN)]);
    let url = format!("http://{}/mcp", server.address);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut bridge = Bridge::start(elsewhere.path(), &["--url", &url], &[("RECALL_MCP_TOKEN", TOKEN)]);
    bridge.initialize();
    let stored = bridge.call("remember", json!({ "text": "John likes Mary." }));
    assert_eq!(stored["isError"], false, "{stored:#}");
    assert!(!elsewhere.path().join("recall.db").exists(), "no server runs in the bridge");

    // Requests that overlap are answered each, whatever else is on the lines.
    for id in 0..30 {
        bridge.write(&json!({ "jsonrpc": "2.0", "id": format!("r{id}"), "method": "ping" }).to_string());
    }
    bridge.write("{");
    bridge.write("[]");
    bridge.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r99"}}"#);
    let answers: Vec<Value> = (0..32).map(|_| bridge.read()).collect();
    let refused = answers.iter().filter(|a| a["error"].is_object() && a["id"].is_null()).count();
    let answered: std::collections::BTreeSet<_> = answers.iter().filter_map(|a| a["id"].as_str()).collect();
    assert_eq!((refused, answered.len()), (2, 30), "{answers:#?}");
    let unknown = bridge.ask("shout/loudly", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    assert!(bridge.end());

    let file = elsewhere.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let mut by_file = Bridge::start(elsewhere.path(), &["--url", &url, "--token-file", file.to_str().unwrap()], &[]);
    by_file.initialize();
    assert!(by_file.end());
    let mut without = Bridge::start(elsewhere.path(), &["--url", &url], &[]);
    let refused = without.ask("tools/list", json!({}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("RECALL_MCP_TOKEN"), "{refused}");
}

#[test]
fn bridge_fails_if_the_given_url_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}", free_address());
    let done = recall().args(["mcp", "--url", &url, "--data"]).arg(folder.path()).stdin(Stdio::null()).output().unwrap();
    assert!(!done.status.success() && done.stdout.is_empty());
    assert!(String::from_utf8_lossy(&done.stderr).contains("nothing answers"), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(!folder.path().join("recall.db").exists());
}
