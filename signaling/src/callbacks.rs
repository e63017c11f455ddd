//! Turns the WebRTC stack's callbacks into events of a peer. Must not wait: they run inside the stack's driver.

use std::sync::Arc;

use tokio::sync::mpsc;
use webrtc::data_channel::DataChannel;
use webrtc::peer_connection::{PeerConnectionEventHandler, RTCIceGatheringState, RTCPeerConnectionState};

/// What the WebRTC stack reports about a peer.
pub(crate) enum PeerEvent {
    Gathered,
    Channel(Arc<dyn DataChannel>),
    Gone,
}

/// Takes the stack's callbacks. They run inside its driver, so nothing here waits.
pub(crate) struct PeerHandler(pub(crate) mpsc::Sender<PeerEvent>);

impl PeerHandler {
    /// Room for all that a well-behaved peer makes: gathered, one channel, gone, and some more. A
    /// lost `Gone` is made good by the heartbeat, a surplus channel is not wanted anyway.
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
            let _ = self.0.try_send(PeerEvent::Gone);
        }
    }

    async fn on_data_channel(&self, channel: Arc<dyn DataChannel>) {
        let _ = self.0.try_send(PeerEvent::Channel(channel));
    }
}
