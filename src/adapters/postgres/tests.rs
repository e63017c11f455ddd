//! What only shows from inside.
