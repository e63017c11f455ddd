//! `recall extract`: the production extractor over JSON lines, without a store.

use std::io::{BufReader, BufWriter};

use super::wiring;
use crate::config::Config;
use crate::understand::{Pipeline, jsonl};

/// Reads standard input and writes standard output.
pub(super) fn run(config: &Config) -> anyhow::Result<()> {
    let pipeline = Pipeline::new(wiring::ontology(config)?);
    let failed =
        jsonl::run(BufReader::new(std::io::stdin().lock()), BufWriter::new(std::io::stdout().lock()), &|input| pipeline.extract(input))?;
    anyhow::ensure!(failed == 0, "{failed} lines could not be read");
    Ok(())
}
