//! The extractor port on a model: the local extractor first, the model where it pays, and the local result whenever the
//! model has none that stands the check. A message is never lost to a model.

mod check;
mod merge;
mod schema;

use std::sync::Arc;

use async_trait::async_trait;
use tracing::warn;

use super::{
    Budget,
    client::{Ask, ModelClient},
    dialect::{Schema, object},
    failure::ModelError,
};
use crate::domain::{Caller, Extraction, MessageKind, Ontology, UserId};
use crate::ports::extract::{ExtractError, ExtractInput, Extractor};

use check::{Checked, Proposal};

/// Instructions, with the relations to be filled in.
const INSTRUCTIONS: &str = include_str!("../../../../data/prompts/extract-1.md");
/// What is said when an answer does not stand the check.
const REPAIR: &str = include_str!("../../../../data/prompts/repair-1.md");
/// Names the prompts, for logs.
pub const PROMPT: &str = "extract-1";

/// Bytes of a message that are shown to a model; what follows is read by the local extractor alone.
const MAX_TEXT: usize = 16 * 1024;
/// Bytes of an earlier message that are shown.
const MAX_PREVIOUS: usize = 1024;
/// Room for the answer.
const MAX_TOKENS: u32 = 4_096;
/// A message of this many bytes says more than rules find.
const LONG: usize = 400;
/// Facts below it are flagged by the house, so another opinion pays.
const SURE: f64 = 0.7;

/// When a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Where the local extractor is unsure, found nothing in a statement, or the message is long.
    Hybrid,
    /// For every message; its word counts where it has one.
    Model,
}

impl Policy {
    /// Why a model should be asked about a message; `None` when it should not.
    pub fn reason(self, input: &ExtractInput, local: &Extraction) -> Option<&'static str> {
        let tells = matches!(local.kind, MessageKind::Statement | MessageKind::Mixed);
        let long = input.text.as_str().len() >= LONG;
        match self {
            Self::Model => Some("always"),
            Self::Hybrid if local.facts.iter().any(|f| f.confidence < SURE) => Some("unsure"),
            Self::Hybrid if tells && local.facts.is_empty() => Some("nothing_found"),
            Self::Hybrid if long && local.kind != MessageKind::Question => Some("long"),
            Self::Hybrid => None,
        }
    }
}

/// [`Extractor`] on a model server with a local one beside it.
pub struct ModelExtractor {
    local: Arc<dyn Extractor>,
    client: Arc<ModelClient>,
    ontology: Arc<Ontology>,
    policy: Policy,
    budget: Arc<Budget>,
    instructions: String,
    schema: Schema,
}

impl ModelExtractor {
    /// An extractor that finds relations of `ontology`.
    pub fn new(local: Arc<dyn Extractor>, client: Arc<ModelClient>, ontology: Arc<Ontology>, policy: Policy, budget: Arc<Budget>) -> Self {
        let instructions = INSTRUCTIONS.replace("{relations}", &schema::relations(&ontology));
        let schema = schema::of(&ontology);
        Self { local, client, ontology, policy, budget, instructions, schema }
    }

    /// What the model finds, as far as it stands the check: one question, and one repair.
    async fn ask(&self, user: UserId, input: &ExtractInput) -> Result<Extraction, ModelError> {
        let deadline = self.client.deadline();
        let text = start(input.text.as_str(), MAX_TEXT);
        let shown = serde_json::json!({
            "speaker": input.speaker,
            "previous": input.previous.iter().map(|p| start(p.as_str(), MAX_PREVIOUS)).collect::<Vec<_>>(),
            "message": text,
        });
        let mut turns = vec![("user", shown.to_string())];
        let mut best: Option<Checked> = None;
        loop {
            let ask = Ask {
                operation: "extract",
                system: &self.instructions,
                turns: turns.clone(),
                schema: Some(&self.schema),
                max_tokens: MAX_TOKENS,
            };
            let repairing = turns.len() > 1;
            let reply = match self.client.complete(&ask, deadline).await {
                Ok(reply) => reply,
                // The repair was not to be had; what stood the check before still does.
                Err(e) => return best.map(|b| b.extraction).ok_or(e),
            };
            self.budget.spend(user, reply.tokens);
            let said = match reply.said {
                Ok(said) => said,
                Err(e) => return best.map(|b| b.extraction).ok_or(e),
            };
            let checked =
                object(&said).and_then(|o| serde_json::from_str::<Proposal>(o).ok()).map(|p| check::check(text, p, &self.ontology));
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
            turns.push(("assistant", said));
            turns.push(("user", REPAIR.replace("{problems}", &serde_json::json!(problems).to_string())));
        }
    }
}

#[async_trait]
impl Extractor for ModelExtractor {
    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError> {
        let local = self.local.extract(caller, input).await?;
        let source = |name: &'static str| metrics::counter!("recall_extractions_total", "by" => name).increment(1);
        let Some(reason) = self.policy.reason(input, &local) else {
            source("local");
            return Ok(local);
        };
        metrics::counter!("recall_extraction_asked_total", "reason" => reason).increment(1);
        let asked = if self.budget.allows(caller.user()) { self.ask(caller.user(), input).await } else { Err(ModelError::OverBudget) };
        match asked {
            Ok(found) => {
                source("model");
                Ok(merge::merge(self.policy, local, found))
            }
            Err(e) => {
                source("local_instead");
                if e != ModelError::OverBudget {
                    warn!(cause = %e, "the model was of no help; the local extractor's facts are taken");
                }
                Ok(local)
            }
        }
    }
}

/// The start of a text, cut between characters.
fn start(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
