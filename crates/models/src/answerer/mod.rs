//! Implements the answerer port with a model: a streamed answer with citations of the found items only.
//!
//! An answer without a citation is not presented as known. If the model fails, the fallback answerer answers. An interrupted
//! stream is not restarted.

mod prompt;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use tracing::warn;

use super::{
    Budget, ModelClient, citation_marks::CitationMarks, client::ChatRequest, failure::ModelError, token_stream::TokenStream,
    usage::BYTES_PER_TOKEN,
};
use recall_domain::{Caller, Citation, MessageId, ModelOperation, Ontology, UserText, context::Context};
use recall_ports::{AnswerDraft, AnswerError, AnswerSink, Answerer, Asked};

use prompt::Items;

/// Instructions for the model.
const INSTRUCTIONS: &str = include_str!("../../../../data/prompts/answer-2.md");
/// Name of the prompt, for logs.
pub const PROMPT: &str = "answer-2";

/// Messages from which the evidence is selected: some of them are questions and earlier answers.
const MESSAGES: u32 = 20;

/// The answer if no found item supports one.
const UNKNOWN: &str = "I don't know: nothing I was told answers that.";
/// How many times longer than its limit an answer may become before it is cut here; some servers ignore the limit.
const MAX_OVERRUN: usize = 4;

/// Settings of the answerer.
#[derive(Clone, Copy, Debug)]
pub struct ModelAnswererOptions {
    /// Most tokens of found items that the model gets.
    pub context_tokens: usize,
    /// Longest answer in tokens.
    pub answer_tokens: u32,
}

impl Default for ModelAnswererOptions {
    fn default() -> Self {
        Self { context_tokens: 3_000, answer_tokens: 700 }
    }
}

/// [`Answerer`] on a model server.
pub struct ModelAnswerer {
    client: Arc<ModelClient>,
    fallback: Arc<dyn Answerer>,
    ontology: Arc<Ontology>,
    budget: Arc<Budget>,
    options: ModelAnswererOptions,
}

impl ModelAnswerer {
    /// Makes an answerer with a fallback for failures of the model.
    pub fn new(
        client: Arc<ModelClient>,
        fallback: Arc<dyn Answerer>,
        ontology: Arc<Ontology>,
        budget: Arc<Budget>,
        options: ModelAnswererOptions,
    ) -> Self {
        Self { client, fallback, ontology, budget, options }
    }

    async fn ask(&self, caller: &Caller, asked: &Asked, items: &Items, sink: &dyn AnswerSink) -> Result<AnswerDraft, ModelError> {
        if !self.budget.allows(caller).await {
            return Err(ModelError::OverBudget);
        }
        let shown = items.shown(asked);
        let ask = ChatRequest {
            operation: "answer",
            system: INSTRUCTIONS,
            conversation: vec![("user", shown)],
            schema: None,
            max_tokens: self.options.answer_tokens,
        };
        let tokens = self.client.stream(&ask, self.client.deadline()).await?;
        let mut meter = UsageMeter { budget: self.budget.clone(), caller: *caller, question: asked.message, tokens, counted: false };
        let most = self.options.answer_tokens as usize * BYTES_PER_TOKEN * MAX_OVERRUN;
        let mut marks = CitationMarks::new(items.len());
        let mut text = String::new();
        let mut say = |piece: String| {
            if !piece.is_empty() {
                sink.delta(&piece);
                text.push_str(&piece);
            }
            text.len()
        };
        let mut cut = false;
        let ended = loop {
            match meter.tokens.next().await {
                Ok(Some(piece)) if say(marks.push(&piece)) > most => {
                    cut = true;
                    break Ok(());
                }
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        say(marks.end());
        meter.count().await;
        metrics::counter!("recall_answer_citations_dropped_total").increment(marks.dropped());
        ended?;
        if cut || meter.tokens.is_truncated() {
            metrics::counter!("recall_answers_cut_total").increment(1);
            text.push('…');
        }
        let citations: Vec<Citation> = marks.cited().iter().filter_map(|n| items.citation(*n)).collect();
        if citations.is_empty() {
            // Without citations the answer cannot be verified.
            metrics::counter!("recall_answers_uncited_total").increment(1);
            return Ok(AnswerDraft::ungrounded(UNKNOWN));
        }
        Ok(AnswerDraft { text: text.trim().into(), citations, nearest: Vec::new(), grounded: true, answerer: None })
    }
}

/// Counts the used tokens, also if the answer is cancelled.
struct UsageMeter {
    budget: Arc<Budget>,
    caller: Caller,
    question: Option<MessageId>,
    tokens: TokenStream,
    counted: bool,
}

impl UsageMeter {
    async fn count(&mut self) {
        self.counted = true;
        self.budget.spend(&self.caller, ModelOperation::Answer, self.tokens.used(), self.question.as_slice()).await;
    }
}

impl Drop for UsageMeter {
    fn drop(&mut self) {
        if self.counted {
            return;
        }
        // The answer was cancelled, so no task waits for it: count in a new task.
        let (budget, caller, question, used) = (self.budget.clone(), self.caller, self.question, self.tokens.used());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { budget.spend(&caller, ModelOperation::Answer, used, question.as_slice()).await });
        }
    }
}

/// Remembers whether any text was sent to the sink.
struct ObservedSink<'a> {
    sink: &'a dyn AnswerSink,
    any_text: AtomicBool,
}

impl AnswerSink for ObservedSink<'_> {
    fn delta(&self, text: &str) {
        self.any_text.store(true, Ordering::Relaxed);
        self.sink.delta(text);
    }
}

#[async_trait]
impl Answerer for ModelAnswerer {
    fn name(&self) -> &str {
        self.client.model()
    }

    fn messages_wanted(&self) -> u32 {
        MESSAGES
    }

    fn rephrase(&self, asked: &Asked, context: &Context) -> Option<UserText> {
        self.fallback.rephrase(asked, context)
    }

    async fn answer(&self, caller: &Caller, asked: &Asked, context: &Context, sink: &dyn AnswerSink) -> Result<AnswerDraft, AnswerError> {
        let items = Items::of(context, &self.ontology, self.options.context_tokens * BYTES_PER_TOKEN);
        let observed = ObservedSink { sink, any_text: AtomicBool::new(false) };
        let reason = match items.len() {
            // The fallback can answer without a model that nothing was found, or that there is no question.
            0 => "nothing_found",
            _ => match self.ask(caller, asked, &items, &observed).await {
                Ok(draft) => return Ok(draft),
                Err(e) => {
                    if e != ModelError::OverBudget {
                        warn!(cause = %e, "the model did not answer; using the answerer without a model");
                    }
                    e.label()
                }
            },
        };
        metrics::counter!("recall_answers_instead_total", "reason" => reason).increment(1);
        if observed.any_text.load(Ordering::Relaxed) {
            // Separates the new answer from the interrupted one for followers; the stored answer has only the new text.
            sink.delta("\n\n");
        }
        let draft = self.fallback.answer(caller, asked, context, sink).await?;
        let by = draft.answerer.clone().unwrap_or_else(|| self.fallback.name().to_owned());
        Ok(AnswerDraft { answerer: Some(by), ..draft })
    }
}
