//! The peers: built with Go from `benches/peers`, and run as child processes with their own folders.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

/// The programs of the peers.
pub(crate) struct Programs {
    pub(crate) nats: PathBuf,
    pub(crate) centrifuge: PathBuf,
}

impl Programs {
    /// Builds the peers. Prints why and returns `None` if that is not possible.
    pub(crate) fn build() -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
        let mut command = Command::new("go");
        command.args(["build", "-trimpath", "-o"]).arg(folder.join(""));
        command.args(["github.com/nats-io/nats-server/v2", "./cmd/centrifuge"]);
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers")).env("GOWORK", "off");
        let built = std::fs::create_dir_all(&folder).and_then(|()| command.output());
        let reason = match built {
            Ok(output) if output.status.success() => {
                return Some(Self { nats: folder.join("nats-server"), centrifuge: folder.join("centrifuge") });
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => format!("go: {error}"),
        };
        eprintln!("NATS and centrifuge cannot be built, so Recall is measured alone. They need Go.\n{reason}");
        None
    }
}

/// A running peer; killed when dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    /// Its working directory, deleted after its end.
    pub(crate) folder: TempDir,
}

impl Process {
    /// Starts a program in `folder`.
    pub(crate) fn start(program: &Path, folder: TempDir, arguments: &[&OsStr]) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(Self { child: command.spawn()?, folder })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
