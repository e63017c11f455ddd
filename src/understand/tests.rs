//! The contract of the room, told in examples.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

pub(crate) fn pipeline() -> Pipeline {
    Pipeline::new(Arc::new(Ontology::parse(default_ontology()).unwrap()))
}
