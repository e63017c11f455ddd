//! The child process: limits itself, parses standard input, and writes the result to standard output.

use std::{
    io::{self, Read, Write},
    os::fd::RawFd,
    panic::{AssertUnwindSafe, catch_unwind},
    process::exit,
    thread,
    time::Duration,
};

use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Pid, getppid};
use recall_ports::{Chunking, ParseError};

use super::ChildLimits;
use crate::format::TextKind;
use crate::parse::parse_to_wire;
use crate::wire::Outcome;

/// The exit status if a limit was reached that the process watches itself.
pub(super) const LIMIT_REACHED: i32 = 3;
/// Stack of the thread that parses. Parsers of nested formats are recursive.
const STACK: usize = 32 << 20;
/// How often the process looks after its parent and its memory.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Parses the document on standard input and writes the result to standard output. To be called by the child process alone, at its start.
///
/// First it gives up what it does not need: it closes inherited descriptors and can open no file, start no process and use no more memory
/// and processor time than `limits` say. It ends when its parent does.
///
/// # Errors
/// If no result could be written.
pub fn run(kind: TextKind, chunking: Chunking, limits: ChildLimits) -> io::Result<()> {
    let parent = getppid();
    close_inherited();
    // The message of a panic could contain text, and nobody reads it.
    std::panic::set_hook(Box::new(|_| {}));
    let watched = thread::Builder::new().name("watch".to_owned()).spawn(move || watch(parent, limits));
    let worker = thread::Builder::new().name("parse".to_owned()).stack_size(STACK).spawn(move || {
        if restrict(limits).is_err() {
            return None;
        }
        let parsed = catch_unwind(AssertUnwindSafe(|| {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map_err(|e| ParseError::Transient(format!("the file cannot be read: {e}")))?;
            parse_to_wire(bytes, kind.name(), chunking)
        }));
        // A parser that panics did not expect this file.
        let outcome = Outcome::from(parsed.unwrap_or(Err(ParseError::Damaged)));
        let mut out = io::BufWriter::new(io::stdout().lock());
        serde_json::to_writer(&mut out, &outcome).ok()?;
        out.flush().ok()
    });
    let finished = match (watched, worker) {
        (Ok(_), Ok(worker)) => worker.join().ok().flatten(),
        _ => None,
    };
    finished.ok_or_else(|| io::Error::other("the document parser could not write its result"))
}

/// Closes all descriptors but the standard ones. The server's own are not inherited, but those of its parent may be.
fn close_inherited() {
    let Ok(open) = std::fs::read_dir("/dev/fd") else { return };
    let numbers: Vec<RawFd> = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in numbers.into_iter().filter(|d| *d > 2) {
        // The one of the folder is closed already.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Sets the limits of the system. They cannot be raised again.
fn restrict(limits: ChildLimits) -> nix::Result<()> {
    let set = |resource, limit| setrlimit(resource, limit, limit);
    // Reading it needs a descriptor.
    let used = address_space();
    if cfg!(target_os = "linux") && used.is_none() {
        return Err(nix::Error::ENOSYS);
    }
    // A new descriptor would have a number above the limit, so no file and no socket can be opened.
    set(Resource::RLIMIT_NOFILE, 0)?;
    set(Resource::RLIMIT_FSIZE, 0)?;
    // The memory of a crashed parser contains the document.
    set(Resource::RLIMIT_CORE, 0)?;
    set(Resource::RLIMIT_NPROC, 0)?;
    let seconds = u64::from(limits.seconds);
    setrlimit(Resource::RLIMIT_CPU, seconds, seconds + 1)?;
    // Elsewhere the system does not enforce it, and `watch` looks after the memory.
    if let Some(used) = used {
        set(Resource::RLIMIT_AS, used.saturating_add(limits.memory))?;
    }
    Ok(())
}

/// The address space of the process, in bytes.
fn address_space() -> Option<u64> {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').next()?.parse().ok()?;
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * u64::try_from(size).ok()?)
}

/// Ends the process when its parent has ended, or on systems without a limit of memory when it uses too much.
fn watch(parent: Pid, limits: ChildLimits) {
    loop {
        if getppid() != parent {
            exit(LIMIT_REACHED);
        }
        if !cfg!(target_os = "linux") && resident() > limits.memory {
            exit(LIMIT_REACHED);
        }
        thread::sleep(WATCH_INTERVAL);
    }
}

/// The largest memory that the process has used, in bytes.
fn resident() -> u64 {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF);
    // macOS counts bytes, the others kibibytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    usage.map_or(0, |usage| u64::try_from(usage.max_rss()).unwrap_or(0) * unit)
}
