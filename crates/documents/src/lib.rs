//! Reads documents: PDF, DOCX, HTML, Markdown, separated values and plain text.
//!
//! [`ChildParser`] implements the port. It starts the program again as a child process, which calls [`child::run`]: it takes the file from
//! standard input, parses it under limits of the system, and writes the result to standard output. A file can at worst end the child.

mod assemble;
pub mod child;
mod chunk;
mod docx;
mod draft;
mod encoding;
mod format;
mod furniture;
mod html;
mod links;
mod markdown;
mod notes;
mod parse;
mod pdf;
mod plain;
mod rows;
#[cfg(test)]
mod samples;
mod title;
mod wire;

pub use child::{ChildLimits, ChildParser};
pub use format::TextKind;
pub use parse::parse;
