//! Embedders that need no service: the built-in model, and one that keeps answering for vectors of other models.

mod local;
mod several;

pub use local::LocalEmbedder;
pub use several::FallbackEmbedders;
