//! A streamed reply. Dropping it ends the request.

use std::time::Duration;

use async_openai::types::stream::StreamResponse;
use futures_util::StreamExt;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout_at},
};

use super::{
    failure::ModelError,
    usage::{estimate, record_request},
    wire::{ChatResponse, Usage},
};
use recall_domain::TokenCount;

/// Longest wait for the usage after the end of the text.
const USAGE_WAIT: Duration = Duration::from_secs(2);

/// Receives the text of a streamed reply piece by piece.
pub(super) struct TokenStream {
    stream: StreamResponse<ChatResponse>,
    /// Request slot, held until the stream ends.
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

impl TokenStream {
    pub(super) fn new(
        stream: StreamResponse<ChatResponse>,
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

    /// Waits for the first piece of text. A failure before it may be retried, a later one may not.
    pub(super) async fn await_first(&mut self, until: Instant) -> Result<(), ModelError> {
        match self.read_piece(until).await {
            Ok(first) => {
                self.first = Some(first.ok_or(ModelError::Malformed("no text"))?);
                metrics::histogram!("recall_model_first_token_seconds").record(self.started.elapsed().as_secs_f64());
                Ok(())
            }
            Err(e) => {
                // The caller records the failed request.
                self.counted = true;
                Err(e)
            }
        }
    }

    /// Returns the next piece of text; `None` if the reply is complete.
    pub(super) async fn next(&mut self) -> Result<Option<String>, ModelError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let next = self.read_piece(self.deadline).await;
        if !matches!(next, Ok(Some(_))) {
            self.count(next.as_ref().err().map_or("ok", ModelError::label));
        }
        next
    }

    /// Whether the reply ended at its token limit.
    pub(super) fn is_truncated(&self) -> bool {
        self.ended == Some(End::Cut)
    }

    /// Returns the tokens used so far, estimated if the server has not reported them.
    pub(super) fn used(&self) -> TokenCount {
        self.usage.unwrap_or_else(|| estimate(self.sent, self.got)).tokens()
    }

    async fn read_piece(&mut self, until: Instant) -> Result<Option<String>, ModelError> {
        loop {
            let patience = if self.ended.is_some() { USAGE_WAIT } else { self.silence };
            let item = match timeout_at(until.min(Instant::now() + patience), self.stream.next()).await {
                // The text is complete; only the usage is missing.
                Err(_) | Ok(None | Some(Err(_))) if self.ended.is_some() => return Ok(None),
                Err(_) => return Err(ModelError::silent()),
                Ok(None) => return Err(ModelError::Unreachable("the stream was interrupted".to_owned())),
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
            record_request(self.operation, outcome, self.usage.unwrap_or_else(|| estimate(self.sent, self.got)), self.started);
        }
    }
}

impl Drop for TokenStream {
    fn drop(&mut self) {
        // The stream was dropped before its end: cancelled, or too long.
        self.count("abandoned");
    }
}
