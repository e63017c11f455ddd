//! What is measured: a server and how it is used.

use anyhow::Context;

use super::{
    centrifuge::Centrifuge,
    nats::Nats,
    process::Programs,
    recall::{Operation, Recall, Transport},
    report::BASE,
    system::System,
};
use crate::place::Engine;

/// A server and how it is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Recall(Operation, Transport),
    Nats,
    Centrifuge,
}

impl Kind {
    /// What is measured with one subscriber, in turn.
    pub(crate) const ALL: [Self; 6] = [
        Self::Recall(Operation::Assert, Transport::WebSocket),
        Self::Nats,
        Self::Centrifuge,
        Self::Recall(Operation::Assert, Transport::WebRtc),
        Self::Recall(Operation::Assert, Transport::Sse),
        Self::Recall(Operation::Send, Transport::WebSocket),
    ];
    /// What is measured with many subscribers.
    pub(crate) const MANY: [Self; 3] = [Self::ALL[0], Self::Nats, Self::Centrifuge];
    /// What replays.
    pub(crate) const REPLAYING: [Self; 4] = [
        Self::Recall(Operation::Reply, Transport::WebSocket),
        Self::Nats,
        Self::Centrifuge,
        Self::Recall(Operation::Reply, Transport::Sse),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Recall(Operation::Assert, Transport::WebSocket) => "Recall, assertFact, WebSocket",
            Self::Recall(Operation::Assert, Transport::WebRtc) => "Recall, assertFact, WebRTC",
            Self::Recall(Operation::Assert, Transport::Sse) => "Recall, assertFact, SSE",
            Self::Recall(Operation::Send, _) => "Recall, sendMessage, WebSocket",
            Self::Recall(Operation::Reply, Transport::WebSocket) => "Recall, WebSocket",
            Self::Recall(Operation::Reply, Transport::Sse) => "Recall, SSE",
            Self::Recall(Operation::Reply, Transport::WebRtc) => "Recall, WebRTC",
            Self::Nats => BASE,
            Self::Centrifuge => "centrifuge, in memory",
        }
    }

    /// Whether the server can be started.
    pub(crate) fn is_built(self, programs: Option<&Programs>) -> bool {
        programs.is_some() || matches!(self, Self::Recall(..))
    }

    /// Whether the server is of this kind.
    pub(crate) fn is_of(self, system: &System) -> bool {
        match system {
            System::Recall(_) => matches!(self, Self::Recall(..)),
            System::Nats(_) => self == Self::Nats,
            System::Centrifuge(_) => self == Self::Centrifuge,
        }
    }

    /// Starts the server with new data.
    pub(crate) async fn start(self, engine: &Engine, programs: Option<&Programs>) -> anyhow::Result<System> {
        let programs = programs.context("the peers are not built");
        Ok(match self {
            Self::Recall(operation, transport) => System::Recall(Recall::start(engine, operation, transport).await?),
            Self::Nats => System::Nats(Nats::start(&programs?.nats).await?),
            Self::Centrifuge => System::Centrifuge(Centrifuge::start(&programs?.centrifuge).await?),
        })
    }
}
