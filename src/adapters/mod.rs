//! What speaks to the world: each room implements ports for one engine. Rooms never import each other.

pub mod local;
pub mod system;
