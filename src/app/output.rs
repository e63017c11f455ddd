//! Printing for commands. If the reader closes the pipe, as `head` does, the command ends without a panic.

use std::{
    fmt,
    io::{self, Write},
};

/// The reader of standard output closed it.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
pub struct OutputClosed;

/// Prints a text to standard output.
///
/// # Errors
/// [`OutputClosed`] if the reader is gone, else the I/O error.
pub(super) fn print(text: fmt::Arguments<'_>) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_fmt(text).and_then(|()| out.flush()).map_err(map_output_error)
}

/// Turns a broken pipe into [`OutputClosed`].
pub(super) fn map_output_error(error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::BrokenPipe { OutputClosed.into() } else { error.into() }
}

/// Prints a line to standard error, and ignores errors.
pub(super) fn note(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "recall: {text}");
}

/// Prints a line to standard output like `println!`, but returns an error instead of panicking.
macro_rules! say {
    ($($text:tt)*) => { $crate::app::output::print(format_args!("{}\n", format_args!($($text)*))) };
}
pub(super) use say;
