//! From the text of a message to what it says. Pure: no I/O, no clock, no model.

pub mod terms;

pub use terms::terms;
