//! One binary for all integration tests: linking is the slow part.

mod contract;
