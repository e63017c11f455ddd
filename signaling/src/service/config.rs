//! Settings of the signaling service.

use std::net::SocketAddr;
use std::time::Duration;

use crate::mux::Senders;

/// Addresses, limits and intervals of a [`Signaling`](crate::Signaling) service.
#[derive(Clone, Debug)]
pub struct SignalingConfig {
    /// The UDP address for all peers. It determines the IP version.
    pub udp_listen: SocketAddr,
    /// Whether only clients on this machine are served; `udp_listen` must then be a loopback address.
    ///
    /// The port accepts datagrams of this machine on all its addresses. Clients get the loopback
    /// address and the machine's own address, because Firefox sends nothing to a loopback address.
    /// On systems other than Linux, which ask the user about such a port, it stays on the loopback
    /// address.
    pub this_machine: bool,
    /// The addresses announced to clients, most preferred first. Port 0 stands for the bound port.
    /// Default: `udp_listen`. Required if `udp_listen` is a wildcard.
    pub public_addresses: Vec<SocketAddr>,
    /// Maximum number of peers in total.
    pub max_peers: usize,
    /// Maximum number of peers per stream and follower.
    pub max_peers_per_stream: usize,
    /// Maximum length of an offer or fragment in bytes.
    pub max_offer_bytes: usize,
    /// Maximum time from the answer to the open data channel.
    pub open_timeout: Duration,
    /// Maximum time from the open data channel to the hello.
    pub hello_timeout: Duration,
    /// Time between pings, at least one second.
    pub heartbeat: Duration,
    /// Time without a sign of life after which a peer counts as dead. More than twice the heartbeat,
    /// so that one lost ping does not end a peer.
    pub dead_after: Duration,
    /// Time without progress after which a client that reads nothing gets `bye slow`.
    pub slow_after: Duration,
}

impl Default for SignalingConfig {
    fn default() -> Self {
        Self {
            udp_listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            this_machine: false,
            public_addresses: Vec::new(),
            max_peers: 2_000,
            max_peers_per_stream: 16,
            max_offer_bytes: 16 * 1024,
            open_timeout: Duration::from_secs(15),
            hello_timeout: Duration::from_secs(5),
            heartbeat: Duration::from_secs(3),
            dead_after: Duration::from_secs(9),
            slow_after: Duration::from_secs(10),
        }
    }
}

impl SignalingConfig {
    /// The senders whose datagrams the port accepts.
    pub(super) fn senders(&self) -> Senders {
        if self.this_machine && cfg!(target_os = "linux") { Senders::ThisMachine } else { Senders::Any }
    }
}
