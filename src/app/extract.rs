//! `recall extract`: the production extractor over JSON lines, without a store.

use std::io::{BufReader, BufWriter};

use super::wiring;
use crate::config::Config;
use crate::understand::{Pipeline, jsonl};

/// Reads standard input and writes standard output.
pub(super) fn run(config: &Config) -> anyhow::Result<()> {
    let pipeline = Pipeline::new(wiring::ontology(config)?);
    let (input, output) = (BufReader::new(std::io::stdin().lock()), BufWriter::new(std::io::stdout().lock()));
    let outcome = jsonl::run(input, output, std::io::stderr().lock(), &|message| pipeline.extract(message))?;
    anyhow::ensure!(outcome.refused == 0, "{} lines are not messages", outcome.refused);
    Ok(())
}
