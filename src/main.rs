//! The `recall` binary. All code is in the library, where tests and benchmarks can use it.

use std::io::Write;

fn main() -> std::process::ExitCode {
    match recall::app::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        // The exit status of a program that SIGPIPE ended. Rust ignores SIGPIPE, because it would also end a server whose client left.
        Err(error) if error.is::<recall::app::OutputClosed>() => std::process::ExitCode::from(128 + 13),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "recall: {}", recall::app::describe_error(&error));
            std::process::ExitCode::FAILURE
        }
    }
}
