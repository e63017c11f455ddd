//! The built-in embedder, and an embedder with fallbacks for other models.

mod fallback;
mod local;

pub use fallback::FallbackEmbedders;
pub use local::LocalEmbedder;
