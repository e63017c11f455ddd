//! One binary for all integration tests: linking is the slow part.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod api;
mod archive;
mod auth;
mod backup;
mod commands;
mod comparison;
mod contract;
mod crash;
mod decisions;
mod dialogues;
mod documents;
mod edit;
mod entities;
mod extraction;
mod failover;
mod forget;
mod graph;
mod imports;
mod ingestion;
mod instances;
mod learning;
mod logs;
mod mcp;
mod merges;
mod metrics;
mod models;
mod openai;
mod originals;
mod parser;
mod planned;
mod postgres;
mod problems;
mod proxy;
mod readme;
mod reembed;
mod related;
mod server;
mod stored;
mod structure;
mod tls;
mod values;
mod vectors;
mod visits;
