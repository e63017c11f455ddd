//! Implements the extractor port with a model.
//!
//! The model is asked about every message. If it fails or its result does not pass the check, the local extractor's result is used.

mod appositions;
mod batch;
mod candidates;
mod check;
mod merge;
mod proposal;
mod references;
mod request;
mod schema;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use tracing::warn;

use super::{
    Budget,
    client::{ChatRequest, ModelClient},
    dialect::{Schema, object},
    failure::ModelError,
};
use recall_domain::{Caller, Extraction, MessageId, ModelOperation, Ontology};
use recall_ports::extract::{ExtractError, ExtractInput, Extractor};

use batch::{EarlyResult, MAX_BATCH, MAX_BATCH_BYTES, ResultCache};
use check::Checked;
use proposal::Proposal;

/// Instructions, with a placeholder for the relations.
const INSTRUCTIONS: &str = include_str!("../../../../data/prompts/extract-2.md");
/// Additional instructions for a batch of messages.
const BATCH_INSTRUCTIONS: &str = include_str!("../../../../data/prompts/extract-together-2.md");
/// Prompt for a repair, if a reply does not pass the check.
const REPAIR: &str = include_str!("../../../../data/prompts/repair-1.md");
/// Names of the prompts, for logs.
pub const PROMPT: &str = "extract-2, extract-together-2";

/// How many of the next messages are considered for the batch of a request.
const AHEAD: u32 = 16;
/// Most tokens of a reply.
const MAX_TOKENS: u32 = 4_096;

/// [`Extractor`] on a model server, with a local extractor as fallback.
pub struct ModelExtractor {
    local: Arc<dyn Extractor>,
    client: Arc<ModelClient>,
    ontology: Arc<Ontology>,
    budget: Arc<Budget>,
    instructions: String,
    schema: Schema,
    batch_instructions: String,
    batch_schema: Schema,
    cache: ResultCache,
}

impl ModelExtractor {
    /// Makes an extractor for the relations of `ontology`.
    pub fn new(local: Arc<dyn Extractor>, client: Arc<ModelClient>, ontology: Arc<Ontology>, budget: Arc<Budget>) -> Self {
        let instructions = INSTRUCTIONS.replace("{relations}", &schema::relations(&ontology));
        let (schema, batch_schema) = (schema::of(&ontology), schema::batch_schema_of(&ontology));
        let batch_instructions = format!("{instructions}\n{BATCH_INSTRUCTIONS}");
        let cache = ResultCache::default();
        Self { local, client, ontology, budget, instructions, schema, batch_instructions, batch_schema, cache }
    }

    /// Asks about one message, with at most one repair, and returns what passes the check.
    async fn ask(&self, caller: &Caller, input: &ExtractInput, deadline: Instant) -> Result<Extraction, ModelError> {
        let text = request::shown_text(input);
        let mut conversation = vec![("user", request::single(input).to_string())];
        let mut best: Option<Checked> = None;
        loop {
            let ask = ChatRequest {
                operation: "extract",
                system: &self.instructions,
                conversation: conversation.clone(),
                schema: Some(&self.schema),
                max_tokens: MAX_TOKENS,
            };
            let repairing = conversation.len() > 1;
            let reply = match self.client.complete(&ask, deadline).await {
                Ok(reply) => reply,
                // The repair failed: use what passed the check before.
                Err(e) => return best.map(|b| b.extraction).ok_or(e),
            };
            self.budget.spend(caller, ModelOperation::Extract, reply.tokens, input.message.as_slice()).await;
            let said = match reply.said {
                Ok(said) => said,
                Err(e) => return best.map(|b| b.extraction).ok_or(e),
            };
            let checked =
                object(&said).and_then(|o| serde_json::from_str::<Proposal>(o).ok()).map(|p| check::check(text, input, p, &self.ontology));
            let problems = checked
                .as_ref()
                .map_or_else(|| vec!["the answer is not a JSON object of the shape asked for".to_owned()], |c| c.problems());
            for p in checked.iter().flat_map(|c| &c.refused) {
                metrics::counter!("recall_extraction_refused_total", "problem" => p.label()).increment(1);
            }
            let better = match (checked, best.take()) {
                (Some(new), Some(old)) if old.extraction.facts.len() > new.extraction.facts.len() => Some(old),
                (new, old) => new.or(old),
            };
            if problems.is_empty() || repairing {
                return better.map(|b| b.extraction).ok_or(ModelError::Malformed("not the JSON asked for, twice"));
            }
            best = better;
            conversation.push(("assistant", said));
            conversation.push(("user", REPAIR.replace("{problems}", &serde_json::json!(problems).to_string())));
        }
    }
}

impl ModelExtractor {
    /// Asks about a message and, in the same request, about messages after it.
    async fn ask_ahead(&self, caller: &Caller, input: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ModelError> {
        let user = caller.user();
        let known = input.message.and_then(|m| self.cache.get(user, m));
        if let Some(EarlyResult::Found(found)) = known {
            return Ok(found);
        }
        if !self.budget.allows(caller).await {
            return Err(ModelError::OverBudget);
        }
        let deadline = self.client.deadline();
        let select_next = if known.is_some() { Vec::new() } else { self.select_next(caller, input, next) };
        if !select_next.is_empty() {
            match self.ask_batch(caller, input, &select_next, deadline).await {
                Ok(Some(found)) => return Ok(found),
                Err(e) if e.may_pass() => return Err(e),
                Ok(None) | Err(_) => {}
            }
        }
        self.ask(caller, input, deadline).await
    }

    /// Selects the next messages that the same request should ask about.
    fn select_next<'a>(&self, caller: &Caller, input: &ExtractInput, next: &'a [ExtractInput]) -> Vec<(MessageId, &'a ExtractInput)> {
        let mut found = Vec::new();
        let mut bytes = input.text.as_str().len();
        for n in next {
            bytes = bytes.saturating_add(n.text.as_str().len());
            if found.len() + 1 >= MAX_BATCH || bytes > MAX_BATCH_BYTES {
                break;
            }
            found.extend(n.message.filter(|m| self.cache.get(caller.user(), *m).is_none()).map(|m| (m, n)));
        }
        found
    }

    /// Asks about a message and others in one request, and caches the results of the others.
    ///
    /// Returns `None` if the result of the message itself does not pass the check.
    async fn ask_batch(
        &self,
        caller: &Caller,
        input: &ExtractInput,
        select_next: &[(MessageId, &ExtractInput)],
        deadline: Instant,
    ) -> Result<Option<Extraction>, ModelError> {
        let all: Vec<&ExtractInput> = std::iter::once(input).chain(select_next.iter().map(|(_, i)| *i)).collect();
        let ask = ChatRequest {
            operation: "extract",
            system: &self.batch_instructions,
            conversation: vec![("user", request::batch(&all).to_string())],
            schema: Some(&self.batch_schema),
            max_tokens: MAX_TOKENS,
        };
        let reply = self.client.complete(&ask, deadline).await?;
        let messages: Vec<MessageId> = all.iter().filter_map(|i| i.message).collect();
        self.budget.spend(caller, ModelOperation::Extract, reply.tokens, &messages).await;
        let proposals = match &reply.said {
            Ok(said) => batch::proposals(said, all.len()).ok_or(ModelError::Malformed("not the JSON asked for")),
            Err(e) => Err(e.clone()),
        };
        let failed = proposals.as_ref().err().cloned();
        let mut found = proposals.unwrap_or_default().into_iter().zip(&all).map(|(proposal, input)| {
            // No repair here: the message is asked about alone later.
            let checked = proposal.map(|p| check::check(request::shown_text(input), input, p, &self.ontology));
            let stands = checked.filter(|c| c.refused.is_empty()).map(|c| c.extraction);
            let outcome = if stands.is_some() { "taken" } else { "alone" };
            metrics::counter!("recall_extractions_together_total", "outcome" => outcome).increment(1);
            stands
        });
        let own = found.next().flatten();
        for (message, _) in select_next {
            self.cache.put(caller.user(), *message, found.next().flatten().map_or(EarlyResult::Alone, EarlyResult::Found));
        }
        failed.map_or(Ok(own), Err)
    }
}

#[async_trait]
impl Extractor for ModelExtractor {
    fn looks_ahead(&self) -> u32 {
        AHEAD
    }

    fn reads_background(&self) -> bool {
        true
    }

    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError> {
        self.extract_ahead(caller, input, &[]).await
    }

    async fn extract_ahead(&self, caller: &Caller, input: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ExtractError> {
        let local = self.local.extract(caller, input).await?;
        let source = |name: &'static str| metrics::counter!("recall_extractions_total", "by" => name).increment(1);
        match self.ask_ahead(caller, input, next).await {
            Ok(found) => {
                source("model");
                Ok(merge::merge(local, found, shown_length(input)))
            }
            Err(e) => {
                source("local_instead");
                if e != ModelError::OverBudget {
                    warn!(cause = %e, "the model was of no help; using the facts of the local extractor");
                }
                Ok(local)
            }
        }
    }
}

/// Returns how many code points of a message the model sees; no limit for a message that it sees whole.
fn shown_length(input: &ExtractInput) -> u32 {
    let shown = request::shown_text(input);
    if shown.len() == input.text.as_str().len() { u32::MAX } else { u32::try_from(shown.chars().count()).unwrap_or(u32::MAX) }
}
