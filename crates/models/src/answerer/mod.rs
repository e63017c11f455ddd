//! The answerer port on a model: streamed, with citations that point to what was found, and to nothing else. What the
//! model says without a citation is not passed off as known. When the model cannot be had, the answerer given as fall-back
//! answers instead; a stream that broke off is not begun again.

mod marks;
mod prompt;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use tracing::warn;

use super::{
    Budget, ModelClient,
    client::{Ask, BYTES_PER_TOKEN},
    failure::ModelError,
    tokens::Tokens,
};
use recall_domain::{Caller, Citation, MessageId, ModelOperation, Ontology, UserText, context::Context};
use recall_ports::{AnswerDraft, AnswerError, AnswerSink, Answerer, Asked};

use marks::Marks;
use prompt::Items;

/// Instructions.
const INSTRUCTIONS: &str = include_str!("../../../../data/prompts/answer-1.md");
/// Names the prompt, for logs.
pub const PROMPT: &str = "answer-1";

/// What is said when nothing found supports an answer.
const UNKNOWN: &str = "I don't know: nothing I was told answers that.";
/// How much longer than its limit an answer may get before it is cut here: some servers do not heed the limit.
const MAX_OVERRUN: usize = 4;

/// Settings of the answerer.
#[derive(Clone, Copy, Debug)]
pub struct ModelAnswererOptions {
    /// Tokens of what was found that are shown to the model.
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
    instead: Arc<dyn Answerer>,
    ontology: Arc<Ontology>,
    budget: Arc<Budget>,
    options: ModelAnswererOptions,
}

impl ModelAnswerer {
    /// An answerer with another one for when the model cannot be had.
    pub fn new(
        client: Arc<ModelClient>,
        instead: Arc<dyn Answerer>,
        ontology: Arc<Ontology>,
        budget: Arc<Budget>,
        options: ModelAnswererOptions,
    ) -> Self {
        Self { client, instead, ontology, budget, options }
    }

    async fn ask(&self, caller: &Caller, asked: &Asked, items: &Items, sink: &dyn AnswerSink) -> Result<AnswerDraft, ModelError> {
        if !self.budget.allows(caller).await {
            return Err(ModelError::OverBudget);
        }
        let shown = items.shown(asked);
        let ask = Ask {
            operation: "answer",
            system: INSTRUCTIONS,
            turns: vec![("user", shown)],
            schema: None,
            max_tokens: self.options.answer_tokens,
        };
        let tokens = self.client.stream(&ask, self.client.deadline()).await?;
        let mut meter = Meter { budget: self.budget.clone(), caller: *caller, question: asked.message, tokens, counted: false };
        let most = self.options.answer_tokens as usize * BYTES_PER_TOKEN * MAX_OVERRUN;
        let mut marks = Marks::new(items.len());
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
        if cut || meter.tokens.is_cut() {
            metrics::counter!("recall_answers_cut_total").increment(1);
            text.push('…');
        }
        let citations: Vec<Citation> = marks.cited().iter().filter_map(|n| items.citation(*n)).collect();
        if citations.is_empty() {
            // It may be true and it may be made up: nobody can tell.
            metrics::counter!("recall_answers_uncited_total").increment(1);
            return Ok(AnswerDraft { text: UNKNOWN.into(), citations, grounded: false, answerer: None });
        }
        Ok(AnswerDraft { text: text.trim().into(), citations, grounded: true, answerer: None })
    }
}

/// Charges what was used, also when the answer is not wanted any more.
struct Meter {
    budget: Arc<Budget>,
    caller: Caller,
    question: Option<MessageId>,
    tokens: Tokens,
    counted: bool,
}

impl Meter {
    async fn count(&mut self) {
        self.counted = true;
        self.budget.spend(&self.caller, ModelOperation::Answer, self.tokens.used(), self.question.as_slice()).await;
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.counted {
            return;
        }
        // Whoever would have waited for it has gone.
        let (budget, caller, question, used) = (self.budget.clone(), self.caller, self.question, self.tokens.used());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { budget.spend(&caller, ModelOperation::Answer, used, question.as_slice()).await });
        }
    }
}

/// Knows whether anything was said.
struct Heard<'a> {
    sink: &'a dyn AnswerSink,
    anything: AtomicBool,
}

impl AnswerSink for Heard<'_> {
    fn delta(&self, text: &str) {
        self.anything.store(true, Ordering::Relaxed);
        self.sink.delta(text);
    }
}

#[async_trait]
impl Answerer for ModelAnswerer {
    fn name(&self) -> &str {
        self.client.model()
    }

    fn rephrase(&self, asked: &Asked, context: &Context) -> Option<UserText> {
        self.instead.rephrase(asked, context)
    }

    async fn answer(&self, caller: &Caller, asked: &Asked, context: &Context, sink: &dyn AnswerSink) -> Result<AnswerDraft, AnswerError> {
        let items = Items::of(context, &self.ontology, self.options.context_tokens * BYTES_PER_TOKEN);
        let heard = Heard { sink, anything: AtomicBool::new(false) };
        let reason = match items.len() {
            // That nothing was found, or that it was no question after all, is said as well without a model.
            0 => "nothing_found",
            _ => match self.ask(caller, asked, &items, &heard).await {
                Ok(draft) => return Ok(draft),
                Err(e) => {
                    if e != ModelError::OverBudget {
                        warn!(cause = %e, "the model did not answer; the answer is made without it");
                    }
                    e.label()
                }
            },
        };
        metrics::counter!("recall_answers_instead_total", "reason" => reason).increment(1);
        if heard.anything.load(Ordering::Relaxed) {
            // Whoever reads along sees where another answer begins; the completed one holds that alone.
            sink.delta("\n\n");
        }
        let draft = self.instead.answer(caller, asked, context, sink).await?;
        let by = draft.answerer.clone().unwrap_or_else(|| self.instead.name().to_owned());
        Ok(AnswerDraft { answerer: Some(by), ..draft })
    }
}
