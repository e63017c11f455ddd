//! Settings of documents and their parser.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError,
    sections::{at_most, flexible, positive},
    wrong,
};

/// Largest file that may be allowed, in bytes: what a parser can hold in memory.
const MAX_BYTES: u64 = 256 << 20;

/// Where the files of documents stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Originals {
    /// In the database.
    #[default]
    Store,
    /// In a folder.
    Folder,
}

/// Documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentsConfig {
    /// Maximum size of a document, in bytes.
    #[serde(deserialize_with = "flexible")]
    pub max_bytes: u64,
    /// Where new files stay: `store` is the database, `folder` is `documents.folder`. Files that are stored already stay where they are.
    pub originals: Originals,
    /// The folder for files; several servers on one database share it. Default: `originals` in the data folder.
    pub folder: Option<PathBuf>,
    /// Maximum length of a chunk, the part of a document that is found and cited, in characters.
    #[serde(deserialize_with = "flexible")]
    pub chunk_chars: usize,
    /// How much of the end of a chunk the next one repeats at most, in characters.
    #[serde(deserialize_with = "flexible")]
    pub chunk_overlap: usize,
    /// Whether a network orders the chunks and messages that a search finds. It takes 0.1 to 0.2 s of processor time for each new chunk, and some
    /// milliseconds for a message and for a question. It is not combined with an embeddings server.
    #[serde(deserialize_with = "flexible")]
    pub encoder: bool,
    /// Documents that are parsed at a time, each in a process of its own.
    #[serde(deserialize_with = "flexible")]
    pub parsers: usize,
    /// Memory that parsing one document may use, in megabytes.
    #[serde(deserialize_with = "flexible")]
    pub parser_megabytes: u64,
    /// Processor time that parsing one document may use, in seconds.
    #[serde(deserialize_with = "flexible")]
    pub parser_seconds: u32,
}

impl Default for DocumentsConfig {
    fn default() -> Self {
        Self {
            max_bytes: 10 << 20,
            originals: Originals::Store,
            folder: None,
            chunk_chars: 1024,
            chunk_overlap: 200,
            encoder: true,
            parsers: 2,
            parser_megabytes: 512,
            parser_seconds: 60,
        }
    }
}

impl DocumentsConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        positive("documents.max_bytes", self.max_bytes)?;
        at_most("documents.max_bytes", self.max_bytes, MAX_BYTES)?;
        if !(100..=20_000).contains(&self.chunk_chars) {
            return Err(wrong("documents.chunk_chars", "must be 100 to 20000"));
        }
        if self.chunk_overlap > self.chunk_chars / 2 {
            return Err(wrong("documents.chunk_overlap", "must be at most half of documents.chunk_chars"));
        }
        if !(1..=64).contains(&self.parsers) {
            return Err(wrong("documents.parsers", "must be 1 to 64"));
        }
        if !(64..=16_384).contains(&self.parser_megabytes) {
            return Err(wrong("documents.parser_megabytes", "must be 64 to 16384"));
        }
        positive("documents.parser_seconds", u64::from(self.parser_seconds))?;
        at_most("documents.parser_seconds", u64::from(self.parser_seconds), 3600)
    }
}
