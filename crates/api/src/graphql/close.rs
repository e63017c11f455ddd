//! Closes a WebSocket instead of completing subscriptions that the client should repeat.
//!
//! The client libraries of graphql-transport-ws take `complete` for the end of a subscription. After a close code that is not
//! fatal to them they connect again and subscribe again. So a subscription whose end is temporary gets no `complete`: after its
//! `bye` it stays silent until the connection closes.

use std::{
    future::{pending, ready},
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_graphql::{Data, Executor, Request, Response};
use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use signaling::{Bye, ByeCode};
use tokio::{
    sync::watch,
    time::{error::Elapsed, timeout},
};

use super::engine::Operations;

/// Why a connection closes: the code and the reason of its close frame.
pub(super) type Close = (u16, &'static str);

/// The server stops. IANA's registry calls 1012 "service restart"; graphql-ws connects again after it.
pub(super) const RESTART: Close = (1012, "The server restarts");
/// Something that is needed is unavailable. The registry calls 1013 "try again later"; graphql-ws connects again after it.
pub(super) const TRY_AGAIN: Close = (1013, "Try again later");
/// The caller is not, or no longer, allowed in. graphql-ws connects again, with a token that it asks the application for.
pub(super) const FORBIDDEN: u16 = 4403;
/// The permission of the caller has ended.
pub(super) const EXPIRED: Close = (FORBIDDEN, ByeCode::AuthExpired.as_str());

/// How one subscription ended, as its resolver says it.
#[derive(Clone, Default)]
pub(crate) struct Ending(Arc<OnceLock<Bye>>);

impl Ending {
    /// Notes the goodbye. The first one counts.
    pub(crate) fn note(&self, bye: Bye) {
        let _ = self.0.set(bye);
    }

    /// How the connection closes for it; `None` when the subscription is over for good and is completed.
    fn close(&self) -> Option<Close> {
        match self.0.get()?.code {
            ByeCode::Restart => Some(RESTART),
            ByeCode::Unavailable | ByeCode::Slow | ByeCode::Timeout => Some(TRY_AGAIN),
            ByeCode::AuthExpired => Some(EXPIRED),
            ByeCode::Superseded | ByeCode::Deleted | ByeCode::Protocol => None,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// Operations that have not ended.
    open: usize,
    /// Why the connection should close, once an operation said so.
    close: Option<Close>,
}

/// Runs the operations of one connection and keeps track of how they end.
#[derive(Clone)]
pub(super) struct Closing {
    operations: Operations,
    state: Arc<watch::Sender<State>>,
}

/// Counts an operation as open until dropped.
struct Open(Arc<watch::Sender<State>>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.open -= 1);
    }
}

impl Closing {
    pub(super) fn new(operations: Operations) -> Self {
        Self { operations, state: Arc::default() }
    }

    /// Waits until a subscription has ended that the client should repeat.
    pub(super) async fn wanted(&self) -> Close {
        let mut state = self.state.subscribe();
        let close = state.wait_for(|state| state.close.is_some()).await.ok().and_then(|state| state.close);
        // The sender lives in `self`, so the wait cannot fail.
        close.unwrap_or(TRY_AGAIN)
    }

    /// Waits until every operation has ended.
    ///
    /// # Errors
    /// When one has not within the limit.
    pub(super) async fn all_ended(&self, limit: Duration) -> Result<(), Elapsed> {
        let mut state = self.state.subscribe();
        timeout(limit, state.wait_for(|state| state.open == 0)).await.map(|_| ())
    }
}

impl Executor for Closing {
    async fn execute(&self, request: Request) -> Response {
        self.operations.execute(request).await
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let (ending, state) = (Ending::default(), self.state.clone());
        state.send_modify(|state| state.open += 1);
        let open = Open(state.clone());
        let responses = self.operations.execute_stream(request.data(ending.clone()), session_data);
        // The end of the stream is what the protocol completes. `bye` has been sent by then: the connection takes one response
        // after the other.
        let silence = async move {
            if let Some(close) = ending.close() {
                state.send_modify(|state| {
                    state.close.get_or_insert(close);
                });
                pending::<()>().await;
            }
        };
        responses
            .map(move |response| {
                let _held = &open;
                Some(response)
            })
            .chain(stream::once(silence.map(|()| None)))
            .filter_map(ready)
            .boxed()
    }
}
