//! What a child process may do, and that it ends with its caller.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;

use super::*;

/// Time after which something that happens soon has not happened.
const PATIENCE: Duration = Duration::from_secs(20);

/// A file that can be opened but never ends, so that a child waits for it.
struct Endless {
    folder: tempfile::TempDir,
    _writer: std::fs::File,
}

impl Endless {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("endless");
        nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
        let writer = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        Self { folder, _writer: writer }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("endless")
    }
}

/// The process that was started with an argument, if it runs.
fn process_with(argument: &str) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let has = |process: &u32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.starts_with(b"recall\0") && line.split(|b| *b == 0).any(|part| part == argument.as_bytes())
    };
    processes.into_iter().find(has)
}

async fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "it did not happen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn child_has_nothing_but_its_limits() {
    let endless = Endless::new();
    // A shell with an open file starts the child, as a service manager may start the server.
    let command = format!(
        "exec 7</dev/null; exec -a recall {} parse-document --chunk-chars 70001 --chunk-overlap 1 --memory 1000000000 --seconds 9",
        env!("CARGO_BIN_EXE_recall")
    );
    let input = std::fs::File::open(endless.path()).unwrap();
    let mut child = Command::new("bash").args(["-c", &command]).stdin(input).stdout(Stdio::null()).spawn().unwrap();
    let limit_of = |limits: &str, name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        line[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    let limits = eventually(|| {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
        // The last one that is set.
        (limit_of(&limits, "Max address space") != "unlimited").then_some(limits)
    })
    .await;
    for (name, limit) in
        [("Max open files", "0"), ("Max processes", "0"), ("Max file size", "0"), ("Max core file size", "0"), ("Max cpu time", "9")]
    {
        assert_eq!(limit_of(&limits, name), limit, "{name}");
    }
    let open = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
    let open: BTreeSet<String> = open.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(open, ["0", "1", "2"].map(str::to_owned).into());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn child_started_by_the_parser_has_no_environment_and_its_own_group() {
    let endless = Endless::new();
    let parser = parser(LIMITS);
    let chunking = Chunking { size: 70_002, overlap: 1 };
    let task = tokio::spawn(async move { parser.parse(&endless.path(), "secret name.md", chunking).await });
    let child = eventually(|| process_with("70002")).await;
    let of_child = |name: &str| std::fs::read(format!("/proc/{child}/{name}")).unwrap();
    assert!(of_child("environ").is_empty());
    assert!(!String::from_utf8_lossy(&of_child("cmdline")).contains("secret"));
    let stat = String::from_utf8(of_child("stat")).unwrap();
    let group = stat.rsplit(") ").next().unwrap().split(' ').nth(2).unwrap().to_owned();
    assert_eq!(group, child.to_string());
    // The caller goes away.
    task.abort();
    eventually(|| process_with("70002").is_none().then_some(())).await;
}

#[tokio::test]
async fn child_ends_when_its_parent_does() {
    let endless = Endless::new();
    let command = format!(
        "exec 3<&0; (exec -a recall {} parse-document --chunk-chars 70003 --chunk-overlap 1 --memory 1000000000 --seconds 9 <&3) & wait",
        env!("CARGO_BIN_EXE_recall")
    );
    let input = std::fs::File::open(endless.path()).unwrap();
    let mut shell = Command::new("bash").args(["-c", &command]).stdin(input).stdout(Stdio::null()).spawn().unwrap();
    // It knows its parent once it has its limits.
    eventually(|| {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", process_with("70003")?)).ok()?;
        limits.lines().any(|line| line.starts_with("Max file size") && line.contains(" 0 ")).then_some(())
    })
    .await;
    shell.kill().unwrap();
    shell.wait().unwrap();
    eventually(|| process_with("70003").is_none().then_some(())).await;
}

#[tokio::test]
async fn child_that_never_ends_is_killed() {
    let endless = Endless::new();
    let limits = ChildLimits { seconds: 1, ..LIMITS };
    let parsed = parser(limits).parse(&endless.path(), "", Chunking { size: 70_004, overlap: 1 }).await;
    assert_eq!(parsed.unwrap_err(), ParseError::TooComplex);
    eventually(|| process_with("70004").is_none().then_some(())).await;
}

#[tokio::test]
async fn only_so_many_children_run_at_a_time() {
    let endless = Endless::new();
    let parser = parser(ChildLimits { children: 1, ..LIMITS });
    let (first, path) = (parser.clone(), endless.path());
    let waiting = tokio::spawn(async move { first.parse(&path, "", Chunking { size: 70_005, overlap: 1 }).await });
    eventually(|| process_with("70005")).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "text").unwrap();
    let second = tokio::spawn(async move { parser.parse(file.path(), "", Chunking { size: 70_006, overlap: 1 }).await });
    tokio::task::yield_now().await;
    assert!(process_with("70006").is_none() && !second.is_finished());
    waiting.abort();
    assert_eq!(text(&second.await.unwrap().unwrap()), "text");
}
