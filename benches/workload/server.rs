//! The release binary, or the one that `RECALL_BIN` names, as a child process: free port, own folder, stopped by process id.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::place::Place;

/// The longest wait for an answer; only a hang takes this long.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// Time from the start of the process to its first line.
    pub(crate) started_in: Duration,
    http: reqwest::Client,
}

/// Memory of a process in megabytes (10^6 bytes).
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// Resident memory.
    pub(crate) resident: f64,
    /// Resident memory without files: heap and stacks.
    pub(crate) anonymous: f64,
    /// Peak of resident memory.
    pub(crate) peak: f64,
}

impl Server {
    /// Starts the binary with a data folder and waits for its first line.
    pub(crate) fn start(data: &Path) -> anyhow::Result<Self> {
        Self::spawn(data, None, &[])
    }

    /// Like [`Server::start`], with the engine of `place`.
    pub(crate) fn start_at(place: &Place) -> anyhow::Result<Self> {
        Self::spawn(place.folder.path(), place.database_url(), &[])
    }

    /// Like [`Server::start_at`], with more settings.
    pub(crate) fn start_with(place: &Place, settings: &[(&str, String)]) -> anyhow::Result<Self> {
        Self::spawn(place.folder.path(), place.database_url(), settings)
    }

    fn spawn(data: &Path, database: Option<&str>, settings: &[(&str, String)]) -> anyhow::Result<Self> {
        let built = || env!("CARGO_BIN_EXE_recall").into();
        let mut command = Command::new(std::env::var_os("RECALL_BIN").unwrap_or_else(built));
        // Settings in the environment must not reach the server.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RECALL_")) {
            command.env_remove(name);
        }
        for (name, value) in std::env::vars() {
            if let Some(setting) = name.strip_prefix("WORKLOAD_") {
                command.env(setting, value);
            }
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data"]).arg(data);
        command.envs(database.map(|url| ("RECALL_DATABASE_URL", url)));
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        let started = Instant::now();
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no standard output")?).read_line(&mut line)?;
        let started_in = started.elapsed();
        let address = line.trim().rsplit_once("http://").map(|(_, address)| address.to_owned());
        let http = reqwest::Client::builder().timeout(TIMEOUT).tcp_nodelay(true).build()?;
        let address = address.unwrap_or_default();
        let server = Self { child, address, started_in, http };
        ensure!(!server.address.is_empty(), "no address in {line:?}");
        Ok(server)
    }

    /// Stops the server with SIGTERM and waits for its exit.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        ensure!(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?.success(), "kill failed");
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }

    /// Runs an operation that must succeed; returns its data.
    pub(crate) async fn graphql(&self, query: &str, variables: Value) -> anyhow::Result<Value> {
        self.graphql_as(None, query, variables).await
    }

    /// Like [`Server::graphql`], with a token.
    pub(crate) async fn graphql_as(&self, token: Option<&str>, query: &str, variables: Value) -> anyhow::Result<Value> {
        let body = json!({ "query": query, "variables": variables });
        let mut request = self.http.post(format!("http://{}/graphql", self.address)).json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer: Value = request.send().await?.json().await?;
        match answer {
            Value::Object(mut answer) if !answer.contains_key("errors") => Ok(answer.remove("data").unwrap_or_default()),
            answer => bail!("the server refused: {answer}"),
        }
    }

    /// Creates a session; returns its id and the cursor before its first event.
    pub(crate) async fn session(&self, token: Option<&str>, title: &str) -> anyhow::Result<(String, String)> {
        let query = "mutation($t: String) { createSession(input: { title: $t }) { session { id head } errors { code } } }";
        let data = self.graphql_as(token, query, json!({ "t": title })).await?;
        let session = &data["createSession"]["session"];
        let text = |v: &Value| v.as_str().map(str::to_owned).context("no session");
        Ok((text(&session["id"])?, text(&session["head"])?))
    }

    /// Returns the sum of all series of a metric whose labels contain `label`; 0 without any.
    pub(crate) async fn metric(&self, name: &str, label: &str) -> anyhow::Result<f64> {
        let text = self.http.get(format!("http://{}/metrics", self.address)).send().await?.text().await?;
        let series = text.lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
        let ours = series.filter(|(labels, _)| (labels.is_empty() || labels.starts_with('{')) && labels.contains(label));
        // Not `sum`, which returns -0 for no values.
        Ok(ours.filter_map(|(_, value)| value.parse::<f64>().ok()).fold(0.0, |sum, value| sum + value))
    }

    /// Waits until what was told is encoded: the order of what a search finds changes until then, and both compete for the processor.
    pub(crate) async fn rest(&self) -> anyhow::Result<()> {
        while self.metric("recall_unencoded_texts", "").await? > 0.0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| -> anyhow::Result<f64> {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
            Ok(value.with_context(|| format!("no {name}"))?.trim().parse::<f64>()? * 1024.0 / 1e6)
        };
        Ok(Memory { resident: field("VmRSS:")?, anonymous: field("RssAnon:")?, peak: field("VmHWM:")? })
    }

    /// Returns the processor time so far, user and system.
    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        processor_time(self.id())
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

/// Returns the processor time of a process so far, user and system. Fails except on Linux.
pub(crate) fn processor_time(id: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // Fields 14 and 15 of proc_pid_stat(5), in ticks of 10 ms; the name before them ends with the last
    // parenthesis.
    let rest = stat.rsplit_once(')').context("no stat")?.1;
    let ticks: u64 = rest.split_whitespace().skip(11).take(2).flat_map(str::parse::<u64>).sum();
    Ok(Duration::from_millis(ticks * 10))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
