//! Contract tests that run against every adapter of a port.

pub(crate) mod store;
