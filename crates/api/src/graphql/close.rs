//! Closes a WebSocket when clients should repeat their subscriptions.
//!
//! Client libraries of graphql-transport-ws treat `complete` as the final end of a subscription. After a non-fatal close code they
//! reconnect and subscribe again. So a subscription that ends for a temporary reason sends `bye` but no `complete`. It then
//! stays silent until the connection closes.

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

/// The code and reason of a close frame.
pub(super) type Close = (u16, &'static str);

/// The server stops. IANA names 1012 "service restart"; graphql-ws reconnects after it.
pub(super) const RESTART: Close = (1012, "The server restarts");
/// A dependency is unavailable. IANA names 1013 "try again later"; graphql-ws reconnects after it.
pub(super) const TRY_AGAIN: Close = (1013, "Try again later");
/// The caller is not, or no longer, authenticated. graphql-ws reconnects with a new token from the application.
pub(super) const FORBIDDEN: u16 = 4403;
/// The caller's credentials have expired.
pub(super) const EXPIRED: Close = (FORBIDDEN, ByeCode::AuthExpired.as_str());

/// The reason why one subscription ended, set by its resolver.
#[derive(Clone, Default)]
pub(crate) struct SubscriptionEnd(Arc<OnceLock<Bye>>);

impl SubscriptionEnd {
    /// Sets the reason. Only the first call counts.
    pub(crate) fn note(&self, bye: Bye) {
        let _ = self.0.set(bye);
    }

    /// Returns how the connection closes; `None` if the subscription ended for good and is completed.
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
    /// How the connection should close, once a subscription has asked for it.
    close: Option<Close>,
}

/// Runs the operations of one connection and tracks how they end.
#[derive(Clone)]
pub(super) struct ClosingExecutor<E> {
    operations: E,
    state: Arc<watch::Sender<State>>,
}

/// Counts an operation as open until dropped.
struct OpenOperation(Arc<watch::Sender<State>>);

impl Drop for OpenOperation {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.open -= 1);
    }
}

impl<E> ClosingExecutor<E> {
    pub(super) fn new(operations: E) -> Self {
        Self { operations, state: Arc::default() }
    }

    /// Waits until a subscription that the client should repeat has ended.
    pub(super) async fn close_requested(&self) -> Close {
        let mut state = self.state.subscribe();
        let close = state.wait_for(|state| state.close.is_some()).await.ok().and_then(|state| state.close);
        // The sender is part of `self`, so the wait cannot fail.
        close.unwrap_or(TRY_AGAIN)
    }

    /// Waits until every operation has ended.
    ///
    /// # Errors
    /// If an operation has not ended within the limit.
    pub(super) async fn all_ended(&self, limit: Duration) -> Result<(), Elapsed> {
        let mut state = self.state.subscribe();
        timeout(limit, state.wait_for(|state| state.open == 0)).await.map(|_| ())
    }
}

impl<E: Executor> Executor for ClosingExecutor<E> {
    async fn execute(&self, request: Request) -> Response {
        self.operations.execute(request).await
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let (end, state) = (SubscriptionEnd::default(), self.state.clone());
        state.send_modify(|state| state.open += 1);
        let open = OpenOperation(state.clone());
        let responses = self.operations.execute_stream(request.data(end.clone()), session_data);
        // The protocol sends `complete` when the stream ends. `bye` has been sent by then, because the connection sends the responses
        // in order.
        let silence = async move {
            if let Some(close) = end.close() {
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
