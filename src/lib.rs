//! Relevantic Recall: a memory server for chat applications.
//!
//! The map of the house, from the street inwards: `api` (GraphQL, REST, pages) calls `conversation` (use cases),
//! which uses `understand` (a message to candidates) and `facts` (candidates to a plan, pure), which speak to the
//! world through `ports`; `adapters` implement those and never import each other. `domain` lies below all.

pub mod adapters;
pub mod domain;
pub mod ports;
pub mod understand;
