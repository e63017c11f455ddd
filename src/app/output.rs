//! What commands print. A reader that goes away, as `head` does, ends the command without a panic.

use std::{
    fmt,
    io::{self, Write},
};

/// Nobody reads what the command prints.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
pub struct OutputClosed;

/// Prints a text on standard output.
///
/// # Errors
/// [`OutputClosed`], or whatever else keeps the text from being written.
pub(super) fn print(text: fmt::Arguments<'_>) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_fmt(text).and_then(|()| out.flush()).map_err(closed)
}

/// An error of standard output.
pub(super) fn closed(error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::BrokenPipe { OutputClosed.into() } else { error.into() }
}

/// Prints a line on standard error. Nobody needs to read it.
pub(super) fn note(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "recall: {text}");
}

/// Prints a line on standard output, as `println!` does, and returns an error where that panics.
macro_rules! say {
    ($($text:tt)*) => { $crate::app::output::print(format_args!("{}\n", format_args!($($text)*))) };
}
pub(super) use say;
