//! The parts that need no service: embedder, recall index and extractive answerer, all in this process.

pub mod answerer;
pub mod embedder;
pub mod index;

pub use answerer::ExtractiveAnswerer;
pub use embedder::LocalEmbedder;
pub use index::{RecallIndex, RecallIndexOptions};
