//! What must hold for the index as a whole, over a feed in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
