//! Parses files in child processes, which cannot hurt the server.

mod inside;

use std::{
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use async_trait::async_trait;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    sync::Semaphore,
};
use tracing::warn;

use recall_ports::{Chunking, DocumentParser, ParseError, ParsedDocument};

use crate::format::TextKind;
use crate::wire::Outcome;

pub use inside::run;

/// The command of the program that parses a document. It calls [`run`].
pub const COMMAND: &str = "parse-document";

/// Longest result that is read from a child, in bytes. The text is limited to less.
const MAX_OUTPUT: u64 = 64 << 20;
/// Times that the whole limit of processor time may pass before the child is killed. A busy machine gives it less than one processor.
const WALL_TIMES: u32 = 3;

/// What a child may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildLimits {
    /// Memory in addition to the program itself, in bytes.
    pub memory: u64,
    /// Processor time, in seconds. Three times as much may pass.
    pub seconds: u32,
    /// Children that run at the same time.
    pub children: usize,
}

impl ChildLimits {
    fn wall_time(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds)) * WALL_TIMES
    }
}

/// Parses each file in a new child process.
#[derive(Debug)]
pub struct ChildParser {
    program: PathBuf,
    limits: ChildLimits,
    places: Semaphore,
}

impl ChildParser {
    /// A parser that starts `program` with [`COMMAND`].
    pub fn new(program: PathBuf, limits: ChildLimits) -> Self {
        Self { program, limits, places: Semaphore::new(limits.children) }
    }

    /// A parser that starts the running program.
    ///
    /// # Errors
    /// If the system does not tell its file.
    pub fn of_this_program(limits: ChildLimits) -> io::Result<Self> {
        // On Linux this is the running program even after an upgrade has replaced the file.
        let running = Path::new("/proc/self/exe");
        let program = if running.exists() { running.to_owned() } else { std::env::current_exe()? };
        Ok(Self::new(program, limits))
    }

    fn start(&self, file: std::fs::File, name: &str, chunking: Chunking) -> io::Result<Running> {
        let mut command = Command::new(&self.program);
        command.arg0("recall").arg(COMMAND);
        // The name itself is private, and other users of the machine see arguments.
        command.args(match TextKind::of(name) {
            TextKind::Plain => None,
            TextKind::Markdown => Some("--markdown"),
            TextKind::SeparatedValues => Some("--table"),
        });
        let numbers =
            [chunking.size.to_string(), chunking.overlap.to_string(), self.limits.memory.to_string(), self.limits.seconds.to_string()];
        command.args(["--chunk-chars", &numbers[0], "--chunk-overlap", &numbers[1], "--memory", &numbers[2], "--seconds", &numbers[3]]);
        command.env_clear().current_dir("/").process_group(0).kill_on_drop(true);
        command.stdin(Stdio::from(file)).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        Ok(Running { child, group })
    }
}

#[async_trait]
impl DocumentParser for ChildParser {
    async fn parse(&self, file: &Path, name: &str, chunking: Chunking) -> Result<ParsedDocument, ParseError> {
        let transient = |what: &str, e: &dyn std::fmt::Display| ParseError::Transient(format!("{what}: {e}"));
        let _place = self.places.acquire().await.map_err(|e| transient("closed", &e))?;
        let file = tokio::fs::File::open(file).await.map_err(|e| transient("the file cannot be opened", &e))?.into_std().await;
        let mut running = self.start(file, name, chunking).map_err(|e| transient("the child process cannot be started", &e))?;
        let (output, status) = match tokio::time::timeout(self.limits.wall_time(), running.finish()).await {
            Ok(finished) => finished.map_err(|e| transient("the child process cannot be read", &e))?,
            // Dropping `running` kills the child.
            Err(_) => return Err(ParseError::TooComplex),
        };
        match output {
            Some(output) if status.success() => {
                let read = tokio::task::spawn_blocking(move || match serde_json::from_slice(&output) {
                    Ok(Outcome::Parsed(parsed)) => parsed.into_document(),
                    Ok(Outcome::Failed(error)) => Err(error),
                    // The error could repeat text of the document.
                    Err(_) => Err(ParseError::Transient("the child process wrote no result".to_owned())),
                });
                read.await.map_err(|e| transient("the result cannot be read", &e))?
            }
            Some(_) => Err(failure(status)),
            None => Err(ParseError::TooComplex),
        }
    }
}

/// What the end of a child without a result means.
fn failure(status: ExitStatus) -> ParseError {
    warn!(%status, "a document parser ended without a result");
    match status.signal().map(Signal::try_from) {
        // Without memory or stack, a Rust program aborts. The other signals end a program that was taken over or used up its time.
        Some(Ok(
            Signal::SIGABRT | Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGILL | Signal::SIGTRAP | Signal::SIGXCPU | Signal::SIGXFSZ,
        )) => ParseError::TooComplex,
        None if status.code() == Some(inside::LIMIT_REACHED) => ParseError::TooComplex,
        // Killed from outside, or not started properly.
        _ => ParseError::Transient(format!("the child process ended with {status}")),
    }
}

/// A child process that is killed with all of its group when this is dropped.
struct Running {
    child: Child,
    /// The process group, until the child was waited for. Afterwards the number may belong to another process.
    group: Option<Pid>,
}

impl Running {
    /// Waits for the end of the child. Returns no output if it is longer than allowed.
    async fn finish(&mut self) -> io::Result<(Option<Vec<u8>>, ExitStatus)> {
        let mut output = Vec::new();
        let stdout = self.child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
        stdout.take(MAX_OUTPUT + 1).read_to_end(&mut output).await?;
        let within = output.len() as u64 <= MAX_OUTPUT;
        if !within {
            self.kill();
        }
        let status = self.child.wait().await?;
        self.group = None;
        Ok((within.then_some(output), status))
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            // It may have ended already.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
