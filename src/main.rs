//! The `recall` binary. Everything is in the library, so that tests and benches reach it; `app` chooses and wires.

use std::io::Write;

fn main() -> std::process::ExitCode {
    match recall::app::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        // As programs end that SIGPIPE ends, which is ignored here for the sake of connections.
        Err(error) if error.is::<recall::app::OutputClosed>() => std::process::ExitCode::from(128 + 13),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "recall: {}", recall::app::told(&error));
            std::process::ExitCode::FAILURE
        }
    }
}
