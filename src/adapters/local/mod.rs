//! The parts that need no service: embedder, extractor, recall index and extractive answerer, all in this process.

pub mod answerer;
pub mod embedder;
pub mod extractor;
pub mod index;

pub use answerer::ExtractiveAnswerer;
pub use embedder::LocalEmbedder;
pub use extractor::LocalExtractor;
pub use index::{RecallIndex, RecallIndexOptions, Tuning};
