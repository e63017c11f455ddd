//! Turns callbacks of the WebRTC stack into events of a peer.

use std::sync::Arc;

use tokio::sync::mpsc;
use webrtc::data_channel::DataChannel;
use webrtc::peer_connection::{PeerConnectionEventHandler, RTCIceGatheringState, RTCPeerConnectionState};

/// An event that the WebRTC stack reports about a peer.
pub(crate) enum PeerEvent {
    /// The stack has gathered its local candidate.
    Gathered,
    /// The client opened a data channel.
    Channel(Arc<dyn DataChannel>),
    /// The connection failed or closed.
    Disconnected,
}

/// Receives the callbacks of the stack. They run inside its driver, so they must not wait.
pub(crate) struct PeerHandler(pub(crate) mpsc::Sender<PeerEvent>);

impl PeerHandler {
    /// Capacity of the queue. A well-behaved peer causes three events.
    ///
    /// Losing further events is harmless: the heartbeat detects a lost `Disconnected`, and additional
    /// channels are closed anyway.
    pub(crate) const QUEUE: usize = 8;
}

#[async_trait::async_trait]
impl PeerConnectionEventHandler for PeerHandler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            let _ = self.0.try_send(PeerEvent::Gathered);
        }
    }

    async fn on_connection_state_change(&self, state: RTCPeerConnectionState) {
        if matches!(state, RTCPeerConnectionState::Failed | RTCPeerConnectionState::Closed) {
            let _ = self.0.try_send(PeerEvent::Disconnected);
        }
    }

    async fn on_data_channel(&self, channel: Arc<dyn DataChannel>) {
        let _ = self.0.try_send(PeerEvent::Channel(channel));
    }
}
