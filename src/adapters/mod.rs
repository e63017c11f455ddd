//! The engines behind the ports, one room each. They never import each other.

pub mod embedders;
pub mod local;
pub mod neo4j;
pub mod openai;
pub mod postgres;
pub mod sqlite;
pub mod system;
pub mod web;
