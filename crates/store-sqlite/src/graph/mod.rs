//! What a graph is made of: what changed, for an engine beside the store (`feed`), and facts from both their sides (`edges`).

mod edges;
mod feed;
