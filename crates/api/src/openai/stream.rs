//! Passes a streamed reply on as it arrives, and keeps the answer.
//!
//! The bytes of the model server are not changed. Sources are added as further events. The end of the stream is passed on after the
//! answer is stored. When the client is gone, this is dropped, which ends the request to the model server; nothing is stored then.

use std::{collections::VecDeque, convert::Infallible};

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use futures_util::{StreamExt, stream, stream::BoxStream};
use serde_json::json;

use super::{
    answer::Progress,
    errors,
    events::{self, EventKind, EventSplitter},
    keeper::Keeper,
    reply::{self, Names},
    responses,
};
use crate::error::ApiError;
use recall_ports::{ChatEndpoint, ChatFailure, ChatReply};

/// A streamed reply on its way to the client.
struct Relay {
    upstream: BoxStream<'static, Result<Bytes, ChatFailure>>,
    splitter: EventSplitter,
    keeper: Keeper,
    /// What the client gets next.
    ready: VecDeque<Bytes>,
    is_over: bool,
    is_kept: bool,
}

/// Returns the response that passes a reply on.
pub(super) fn relay(reply: ChatReply, keeper: Keeper) -> Response {
    let relay =
        Relay { upstream: reply.body, splitter: EventSplitter::default(), keeper, ready: VecDeque::new(), is_over: false, is_kept: false };
    let parts = stream::unfold(relay, |mut relay| async { relay.next().await.map(|part| (Ok::<_, Infallible>(part), relay)) });
    reply::event_stream(Body::from_stream(parts))
}

impl Relay {
    /// Returns the next bytes for the client; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Some(part);
            }
            if self.is_over {
                return None;
            }
            match self.upstream.next().await {
                Some(Ok(bytes)) => {
                    for event in self.splitter.push(&bytes) {
                        self.take(event).await;
                    }
                }
                Some(Err(failure)) => {
                    self.is_over = true;
                    self.ready.push_back(reply::event(&errors::body(&ApiError::from(failure))));
                }
                None => {
                    self.is_over = true;
                    let rest = self.splitter.take_rest();
                    // Some servers end without the last event.
                    if !rest.is_empty() {
                        self.take(rest).await;
                    }
                    if self.keeper.answer.is_finished() {
                        self.keep().await;
                    }
                }
            }
        }
    }

    /// Takes an event of the model server.
    async fn take(&mut self, event: Bytes) {
        match events::read(&event) {
            EventKind::Chunk(chunk) => {
                match self.keeper.answer.take(*chunk) {
                    Progress::Open => {}
                    Progress::TextEnds => self.add_text_sources(&event),
                    // A response ends with an event that contains all of it.
                    Progress::Ends => self.keep().await,
                }
            }
            EventKind::Done => self.keep().await,
            EventKind::Other => {}
        }
        self.ready.push_back(event);
    }

    /// Adds the sources to the end of the text, before the chunk that ends it.
    fn add_text_sources(&mut self, end: &[u8]) {
        let sources = self.keeper.text_sources();
        if sources.is_empty() {
            return;
        }
        match self.keeper.endpoint {
            ChatEndpoint::Completions => {
                let part = reply::chunk(Names::from(&self.keeper.answer), &json!({ "content": sources }), None);
                self.ready.push_back(part);
            }
            ChatEndpoint::Responses => self.ready.extend(responses::further_text(end, &sources)),
        }
    }

    /// Stores the answer and shows its sources, once.
    async fn keep(&mut self) {
        if std::mem::replace(&mut self.is_kept, true) {
            return;
        }
        self.keeper.store().await;
        if self.keeper.endpoint == ChatEndpoint::Responses {
            return;
        }
        for source in self.keeper.source_objects() {
            self.ready.push_back(reply::source_event(Names::from(&self.keeper.answer), &source));
        }
    }
}
