//! `recall extract`: extracts from JSON lines without a store. Each line is read alone, so nothing corrects the line before.

use std::{
    io::{BufReader, BufWriter},
    sync::Arc,
};

use futures_util::future::join_all;
use uuid::Uuid;

use super::{adapters, models, output, telemetry};
use crate::config::{Config, Extraction};
use crate::system::SystemClock;
use recall_domain::{Caller, UserId, ViewerRole};
use recall_models::Budget;
use recall_neural::Network;
use recall_ports::ExtractInput;
use recall_understand::{Pipeline, jsonl};

/// Extracts from the messages on standard input and prints the results to standard output.
pub(super) fn run(config: &Config) -> anyhow::Result<()> {
    let ontology = adapters::ontology(config)?;
    let pipeline = Pipeline::new(ontology.clone());
    let client = if config.understanding.extraction == Extraction::Local { None } else { models::client(config)? };
    let Some(client) = client else {
        let network = if config.understanding.learned { Some(Network::load()?) } else { None };
        return process_lines(1, &|inputs| inputs.iter().map(|input| read(&pipeline, network.as_ref(), input)).collect());
    };

    // The log goes to standard error and reports each message that the model did not process.
    telemetry::logs(&config.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // There is no store, so the caller is a placeholder and no daily budget applies.
    let caller = Caller::verified(UserId(Uuid::nil()), ViewerRole::User);
    let budget = Arc::new(Budget::without(Arc::new(SystemClock)));
    let extractor = models::extractor(config, adapters::built_in_extractor(config, ontology.clone())?, client, ontology, budget);
    process_lines(config.model.concurrency, &|inputs| {
        let found = runtime.block_on(join_all(inputs.iter().map(|i| extractor.extract(&caller, i))));
        found.into_iter().zip(inputs).map(|(found, input)| found.unwrap_or_else(|_| pipeline.extract(input))).collect()
    })
}

/// Extracts one message without a model server.
fn read(pipeline: &Pipeline, network: Option<&Network>, input: &ExtractInput) -> recall_domain::Extraction {
    let rules = pipeline.extract(input);
    match network {
        Some(network) => network.reread(pipeline.ontology(), input.text.as_str(), rules),
        None => rules,
    }
}

/// Runs `extract` over standard input, `batch` messages at a time.
fn process_lines(batch: usize, extract: &dyn Fn(&[ExtractInput]) -> Vec<recall_domain::Extraction>) -> anyhow::Result<()> {
    let (input, out) = (BufReader::new(std::io::stdin().lock()), BufWriter::new(std::io::stdout().lock()));
    let outcome = jsonl::run(input, out, std::io::stderr().lock(), batch, extract).map_err(output::map_output_error)?;
    anyhow::ensure!(outcome.refused == 0, "{} lines are not messages", outcome.refused);
    Ok(())
}
