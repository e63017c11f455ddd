//! Implements the comparer port with a model. Each point is checked against the passages; the fallback compares if the model fails.

mod check;
mod prompt;

use std::sync::Arc;

use async_trait::async_trait;
use tracing::warn;

use super::{
    Budget, ModelClient,
    client::ChatRequest,
    dialect::{Schema, object},
    failure::ModelError,
    usage::BYTES_PER_TOKEN,
};
use recall_domain::{Caller, ComparisonPoint, ModelOperation};
use recall_ports::{AnswerError, ComparedPoints, Comparer, ComparisonTask};

use check::Reply;

/// Instructions for the model.
const INSTRUCTIONS: &str = include_str!("../../../../data/prompts/compare-1.md");
/// Name of the prompt, for logs.
pub const PROMPT: &str = "compare-1";

/// Most tokens of a reply.
const MAX_TOKENS: u32 = 4_096;
/// The size of a group of two passages in bytes, with default chunks.
const GROUP_BYTES: usize = 2_200;
/// Most groups of one request. A model overlooks much in a long list.
const MAX_GROUPS: usize = 8;

/// [`Comparer`] on a model server.
pub struct ModelComparer {
    client: Arc<ModelClient>,
    fallback: Arc<dyn Comparer>,
    budget: Arc<Budget>,
    schema: Schema,
    groups: usize,
}

impl ModelComparer {
    /// Makes a comparer with a fallback for failures of the model. A request has passages of about `context_tokens` tokens.
    pub fn new(client: Arc<ModelClient>, fallback: Arc<dyn Comparer>, budget: Arc<Budget>, context_tokens: usize) -> Self {
        let groups = (context_tokens.saturating_mul(BYTES_PER_TOKEN) / GROUP_BYTES).clamp(1, MAX_GROUPS);
        Self { client, fallback, budget, schema: prompt::schema(), groups }
    }

    async fn ask(&self, caller: &Caller, task: &ComparisonTask) -> Result<Vec<ComparisonPoint>, ModelError> {
        if !self.budget.allows(caller).await {
            return Err(ModelError::OverBudget);
        }
        let ask = ChatRequest {
            operation: "compare",
            system: INSTRUCTIONS,
            conversation: vec![("user", prompt::shown(task))],
            schema: Some(&self.schema),
            max_tokens: MAX_TOKENS,
        };
        let reply = self.client.complete(&ask, self.client.deadline()).await?;
        self.budget.spend(caller, ModelOperation::Answer, reply.tokens, &[]).await;
        let said = reply.said?;
        let reply = object(&said).and_then(|text| serde_json::from_str::<Reply>(text).ok());
        let proposed = reply.ok_or(ModelError::Malformed("not the JSON asked for"))?.points;
        let count = proposed.len();
        let points = check::points(task, proposed);
        metrics::counter!("recall_comparison_points_refused_total").increment(count.saturating_sub(points.len()) as u64);
        Ok(points)
    }
}

#[async_trait]
impl Comparer for ModelComparer {
    fn name(&self) -> &str {
        self.client.model()
    }

    fn groups_at_once(&self) -> usize {
        self.groups
    }

    async fn compare(&self, caller: &Caller, task: &ComparisonTask) -> Result<ComparedPoints, AnswerError> {
        match self.ask(caller, task).await {
            Ok(points) => Ok(ComparedPoints { points, comparer: None }),
            Err(e) => {
                if e != ModelError::OverBudget {
                    warn!(cause = %e, "the model did not compare; comparing without a model");
                }
                metrics::counter!("recall_comparisons_instead_total", "reason" => e.label()).increment(1);
                let compared = self.fallback.compare(caller, task).await?;
                let by = compared.comparer.unwrap_or_else(|| self.fallback.name().to_owned());
                Ok(ComparedPoints { comparer: Some(by), ..compared })
            }
        }
    }
}
