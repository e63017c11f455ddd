//! A streamed answer. Dropping it ends the request, wherever it stands.

use std::time::Duration;

use async_openai::types::stream::StreamResponse;
use futures_util::StreamExt;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout_at},
};

use super::{
    client::{count, estimate},
    failure::ModelError,
    wire::{Chat, Usage},
};
use recall_domain::TokenCount;

/// How long the number of tokens used is waited for, when the text is there.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Pieces of text as they come.
pub(super) struct Tokens {
    stream: StreamResponse<Chat>,
    /// Held while the server works for us.
    _slot: OwnedSemaphorePermit,
    operation: &'static str,
    sent: usize,
    got: usize,
    silence: Duration,
    deadline: Instant,
    started: Instant,
    first: Option<String>,
    usage: Option<Usage>,
    ended: Option<End>,
    counted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    Cut,
}

impl Tokens {
    pub(super) fn new(
        stream: StreamResponse<Chat>,
        slot: OwnedSemaphorePermit,
        operation: &'static str,
        sent: usize,
        silence: Duration,
        deadline: Instant,
    ) -> Self {
        let started = Instant::now();
        Self {
            stream,
            _slot: slot,
            operation,
            sent,
            got: 0,
            silence,
            deadline,
            started,
            first: None,
            usage: None,
            ended: None,
            counted: false,
        }
    }

    /// Waits for the first piece of text. A failure before it may be repeated, one after it may not.
    pub(super) async fn await_first(&mut self, until: Instant) -> Result<(), ModelError> {
        match self.pull(until).await {
            Ok(first) => {
                self.first = Some(first.ok_or(ModelError::Malformed("no text"))?);
                metrics::histogram!("recall_model_first_token_seconds").record(self.started.elapsed().as_secs_f64());
                Ok(())
            }
            Err(e) => {
                // Counted by whoever repeats it.
                self.counted = true;
                Err(e)
            }
        }
    }

    /// The next piece of text; `None` when the answer is complete.
    pub(super) async fn next(&mut self) -> Result<Option<String>, ModelError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let next = self.pull(self.deadline).await;
        if !matches!(next, Ok(Some(_))) {
            self.count(next.as_ref().err().map_or("ok", ModelError::label));
        }
        next
    }

    /// Whether the answer ended because it reached its limit.
    pub(super) fn is_cut(&self) -> bool {
        self.ended == Some(End::Cut)
    }

    /// Tokens used so far, as far as is known.
    pub(super) fn used(&self) -> TokenCount {
        self.usage.unwrap_or_else(|| estimate(self.sent, self.got)).tokens()
    }

    async fn pull(&mut self, until: Instant) -> Result<Option<String>, ModelError> {
        loop {
            let patience = if self.ended.is_some() { LAST_WORD } else { self.silence };
            let item = match timeout_at(until.min(Instant::now() + patience), self.stream.next()).await {
                // The text is whole; whatever else the server had to say does not matter.
                Err(_) | Ok(None | Some(Err(_))) if self.ended.is_some() => return Ok(None),
                Err(_) => return Err(ModelError::silent()),
                Ok(None) => return Err(ModelError::Unreachable("the stream broke off".to_owned())),
                Ok(Some(item)) => item?,
            };
            if item.error.is_some() {
                return Err(ModelError::Unreachable("the server failed in the middle of the stream".to_owned()));
            }
            self.usage = item.usage.or(self.usage);
            let Some(choice) = item.choices.into_iter().next() else { continue };
            match choice.finish_reason.as_deref() {
                None | Some("") => {}
                Some("content_filter") => return Err(ModelError::Declined),
                Some("length") => self.ended = Some(End::Cut),
                Some(_) => self.ended = Some(End::Whole),
            }
            let said = choice.delta.or(choice.message).unwrap_or_default();
            if said.refusal.is_some_and(|r| !r.is_empty()) {
                return Err(ModelError::Declined);
            }
            if let Some(text) = said.content.filter(|c| !c.is_empty()) {
                self.got += text.len();
                return Ok(Some(text));
            }
        }
    }

    fn count(&mut self, outcome: &'static str) {
        if !std::mem::replace(&mut self.counted, true) {
            count(self.operation, outcome, self.usage.unwrap_or_else(|| estimate(self.sent, self.got)), self.started);
        }
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        // Left before its end: the answer was not wanted any more, or had got too long.
        self.count("abandoned");
    }
}
