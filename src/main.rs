//! The `recall` binary. Everything is in the library, so that tests and benches reach it; `app` chooses and wires.

fn main() -> std::process::ExitCode {
    match recall::app::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recall: {}", recall::app::told(&error));
            std::process::ExitCode::FAILURE
        }
    }
}
