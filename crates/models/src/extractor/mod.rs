//! The extractor port on a model: the local extractor first, the model where it pays, and the local result whenever the
//! model has none that stands the check. A message is never lost to a model.

mod appositions;
mod check;
mod merge;
mod schema;
mod together;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use tracing::warn;

use super::{
    Budget,
    client::{Ask, ModelClient},
    dialect::{Schema, object},
    failure::ModelError,
};
use recall_domain::{Caller, Extraction, MessageId, MessageKind, ModelOperation, Ontology};
use recall_ports::extract::{ExtractError, ExtractInput, Extractor};

use check::{Checked, Proposal};
use together::{Ahead, Kept, TOGETHER, TOGETHER_BYTES};

/// Instructions, with the relations to be filled in.
const INSTRUCTIONS: &str = include_str!("../../../../data/prompts/extract-1.md");
/// What is added when several messages are shown at once.
const TOGETHER_TOO: &str = include_str!("../../../../data/prompts/extract-together-1.md");
/// What is said when an answer does not stand the check.
const REPAIR: &str = include_str!("../../../../data/prompts/repair-1.md");
/// Names the prompts, for logs.
pub const PROMPT: &str = "extract-1, extract-together-1";

/// How many of the messages behind one are looked through for some that the model is to be asked about as well.
const AHEAD: u32 = 24;
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
    instructions_together: String,
    schema_together: Schema,
    kept: Kept,
}

impl ModelExtractor {
    /// An extractor that finds relations of `ontology`.
    pub fn new(local: Arc<dyn Extractor>, client: Arc<ModelClient>, ontology: Arc<Ontology>, policy: Policy, budget: Arc<Budget>) -> Self {
        let instructions = INSTRUCTIONS.replace("{relations}", &schema::relations(&ontology));
        let (schema, schema_together) = (schema::of(&ontology), schema::together(&ontology));
        let instructions_together = format!("{instructions}\n{TOGETHER_TOO}");
        let kept = Kept::default();
        Self { local, client, ontology, policy, budget, instructions, schema, instructions_together, schema_together, kept }
    }

    /// What the model finds, as far as it stands the check: one question, and one repair.
    async fn ask(&self, caller: &Caller, input: &ExtractInput, deadline: Instant) -> Result<Extraction, ModelError> {
        let text = start(input.text.as_str(), MAX_TEXT);
        let mut turns = vec![("user", shown(input).to_string())];
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
            self.budget.spend(caller, ModelOperation::Extract, reply.tokens, input.message.as_slice()).await;
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

impl ModelExtractor {
    /// What the model finds in a message, asked about those behind it in the same question.
    async fn ask_ahead(&self, caller: &Caller, input: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ModelError> {
        let user = caller.user();
        let known = input.message.and_then(|m| self.kept.get(user, m));
        if let Some(Ahead::Found(found)) = known {
            return Ok(found);
        }
        if !self.budget.allows(caller).await {
            return Err(ModelError::OverBudget);
        }
        let deadline = self.client.deadline();
        let behind = if known.is_some() { Vec::new() } else { self.behind(caller, input, next).await };
        if !behind.is_empty() {
            match self.ask_together(caller, input, &behind, deadline).await {
                Ok(Some(found)) => return Ok(found),
                Err(e) if e.may_pass() => return Err(e),
                Ok(None) | Err(_) => {}
            }
        }
        self.ask(caller, input, deadline).await
    }

    /// Those of the messages behind one that the model is to be asked about as well.
    async fn behind<'a>(&self, caller: &Caller, input: &ExtractInput, next: &'a [ExtractInput]) -> Vec<(MessageId, &'a ExtractInput)> {
        let mut found = Vec::new();
        let mut bytes = input.text.as_str().len();
        for n in next {
            bytes = bytes.saturating_add(n.text.as_str().len());
            if found.len() + 1 >= TOGETHER || bytes > TOGETHER_BYTES {
                break;
            }
            let Some(message) = n.message.filter(|m| self.kept.get(caller.user(), *m).is_none()) else { continue };
            if let Ok(local) = self.local.extract(caller, n).await
                && self.policy.reason(n, &local).is_some()
            {
                found.push((message, n));
            }
        }
        found
    }

    /// One question about a message and others. What is found in the others is kept; `None` when what is found in the message
    /// itself does not stand the check.
    async fn ask_together(
        &self,
        caller: &Caller,
        input: &ExtractInput,
        behind: &[(MessageId, &ExtractInput)],
        deadline: Instant,
    ) -> Result<Option<Extraction>, ModelError> {
        let all: Vec<&ExtractInput> = std::iter::once(input).chain(behind.iter().map(|(_, i)| *i)).collect();
        let mut list: Vec<serde_json::Value> = all.iter().map(|i| shown(i)).collect();
        for (item, n) in list.iter_mut().zip(1..) {
            item["n"] = serde_json::Value::from(n);
        }
        let ask = Ask {
            operation: "extract",
            system: &self.instructions_together,
            turns: vec![("user", serde_json::json!({ "messages": list }).to_string())],
            schema: Some(&self.schema_together),
            max_tokens: MAX_TOKENS,
        };
        let reply = self.client.complete(&ask, deadline).await?;
        let messages: Vec<MessageId> = all.iter().filter_map(|i| i.message).collect();
        self.budget.spend(caller, ModelOperation::Extract, reply.tokens, &messages).await;
        let proposals = match &reply.said {
            Ok(said) => together::proposals(said, all.len()).ok_or(ModelError::Malformed("not the JSON asked for")),
            Err(e) => Err(e.clone()),
        };
        let failed = proposals.as_ref().err().cloned();
        let mut found = proposals.unwrap_or_default().into_iter().zip(&all).map(|(proposal, input)| {
            // Another question may repair it; here it would hold up the others.
            let checked = proposal.map(|p| check::check(start(input.text.as_str(), MAX_TEXT), p, &self.ontology));
            let stands = checked.filter(|c| c.refused.is_empty()).map(|c| c.extraction);
            let outcome = if stands.is_some() { "taken" } else { "alone" };
            metrics::counter!("recall_extractions_together_total", "outcome" => outcome).increment(1);
            stands
        });
        let own = found.next().flatten();
        for (message, _) in behind {
            self.kept.put(caller.user(), *message, found.next().flatten().map_or(Ahead::Alone, Ahead::Found));
        }
        failed.map_or(Ok(own), Err)
    }
}

#[async_trait]
impl Extractor for ModelExtractor {
    fn looks_ahead(&self) -> u32 {
        AHEAD
    }

    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError> {
        self.extract_ahead(caller, input, &[]).await
    }

    async fn extract_ahead(&self, caller: &Caller, input: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ExtractError> {
        let local = self.local.extract(caller, input).await?;
        let source = |name: &'static str| metrics::counter!("recall_extractions_total", "by" => name).increment(1);
        let Some(reason) = self.policy.reason(input, &local) else {
            source("local");
            return Ok(local);
        };
        metrics::counter!("recall_extraction_asked_total", "reason" => reason).increment(1);
        match self.ask_ahead(caller, input, next).await {
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

/// A message as a model is shown it.
fn shown(input: &ExtractInput) -> serde_json::Value {
    serde_json::json!({
        "speaker": input.speaker,
        "previous": input.previous.iter().map(|p| start(p.as_str(), MAX_PREVIOUS)).collect::<Vec<_>>(),
        "message": start(input.text.as_str(), MAX_TEXT),
    })
}

/// The start of a text, cut between characters.
fn start(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
