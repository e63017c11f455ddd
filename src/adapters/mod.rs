//! One folder per engine, each an implementation of `ports`. Adapters never import each other.

pub mod local;
