//! What works without any service: everything here runs in the process itself.

pub mod extractor;
