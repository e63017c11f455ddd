//! Following a feed with an engine in memory.
