//! What the servers under comparison have in common: they take an event, and deliver it to subscribers.

use std::{collections::HashMap, sync::Arc};

use anyhow::{Context, bail};
use parking_lot::Mutex;
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};

use super::{
    centrifuge::Centrifuge,
    deliveries::{Deliveries, mark},
    nats::Nats,
    recall::Recall,
};
use crate::server::TIMEOUT;

/// Length of the events of peers in bytes, the same as that of a `fact_update`.
pub(crate) const PAYLOAD: usize = 574;
/// The JSON field with the name of an event: in a `fact_update`, and in the events of peers.
pub(crate) const TARGET: &str = "target";

/// A running server.
pub(crate) enum System {
    Recall(Recall),
    Nats(Nats),
    Centrifuge(Centrifuge),
}

impl System {
    /// Returns the process id of the server.
    pub(crate) fn id(&self) -> u32 {
        match self {
            Self::Recall(recall) => recall.id(),
            Self::Nats(nats) => nats.id(),
            Self::Centrifuge(centrifuge) => centrifuge.id(),
        }
    }

    /// Returns the JSON field with the name of an event.
    pub(crate) fn field(&self) -> &'static str {
        match self {
            Self::Recall(recall) => recall.field(),
            Self::Nats(_) | Self::Centrifuge(_) => TARGET,
        }
    }

    /// Publishes event `n` and waits for the acknowledgement.
    pub(crate) async fn publish(&self, n: usize) -> anyhow::Result<()> {
        match self {
            Self::Recall(recall) => recall.publish(n).await,
            Self::Nats(nats) => nats.publish(n).await,
            Self::Centrifuge(centrifuge) => centrifuge.publish(n).await,
        }
    }

    /// Starts a subscriber with its own connection, from the first event.
    pub(crate) async fn subscribe(&self, deliveries: Arc<Deliveries>) -> anyhow::Result<Reader> {
        match self {
            Self::Recall(recall) => recall.subscribe(deliveries).await,
            Self::Nats(nats) => nats.subscribe(deliveries).await,
            Self::Centrifuge(centrifuge) => centrifuge.subscribe(deliveries).await,
        }
    }

    /// Stops the server. Peers end when they are dropped.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Recall(recall) => recall.stop().await,
            Self::Nats(_) | Self::Centrifuge(_) => Ok(()),
        }
    }
}

/// A task that reads a connection; disconnects when dropped.
pub(crate) struct Reader(JoinHandle<anyhow::Result<()>>);

impl Reader {
    /// Starts a task, which ends with an error only.
    pub(crate) fn spawn(following: impl Future<Output = anyhow::Result<()>> + Send + 'static) -> Self {
        Self(tokio::spawn(following))
    }

    /// Stops, and reports the error if it ended early.
    pub(crate) async fn finish(mut self) -> anyhow::Result<()> {
        if self.0.is_finished() {
            (&mut self.0).await??;
            bail!("a connection ended early");
        }
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Publishes that wait for their acknowledgement.
#[derive(Default)]
pub(crate) struct Pending(Mutex<HashMap<usize, oneshot::Sender<anyhow::Result<()>>>>);

impl Pending {
    /// Adds event `n` before it is sent. The future ends with its acknowledgement.
    pub(crate) fn add(&self, n: usize) -> impl Future<Output = anyhow::Result<()>> + use<> {
        let (sender, receiver) = oneshot::channel();
        self.0.lock().insert(n, sender);
        async move { timeout(TIMEOUT, receiver).await.context("an event was not acknowledged")?? }
    }

    /// Ends the wait of event `n`.
    pub(crate) fn resolve(&self, n: usize, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        let waiting = self.0.lock().remove(&n).with_context(|| format!("event {n} is acknowledged but not pending"))?;
        // The publisher may have given up.
        let _ = waiting.send(outcome);
        Ok(())
    }
}

/// Returns the JSON object that peers get as event `n`.
pub(crate) fn payload(n: usize) -> String {
    let start = format!(r#"{{"{TARGET}":"{}","text":""#, mark(n));
    let rest = PAYLOAD.saturating_sub(start.len() + 2);
    format!("{start}{}\"}}", "x".repeat(rest))
}
