//! Settings of the signaling service.

use std::net::SocketAddr;
use std::time::Duration;

use crate::mux::Senders;

/// Addresses, bounds and intervals of a [`Signaling`] service.
#[derive(Clone, Debug)]
pub struct SignalingConfig {
    /// The UDP port of all peers. Its address decides the IP version.
    pub udp_listen: SocketAddr,
    /// The port takes datagrams of this machine only, on every address of it. `udp_listen` is a loopback address then, and clients
    /// are told it and the machine's own address: Firefox sends nothing to a loopback address. On systems other than Linux, which
    /// ask the user about such a port, it stays on the loopback address alone.
    pub this_machine: bool,
    /// The addresses that clients are told, most preferred first; port 0 stands for the bound port.
    /// May be empty unless `udp_listen` is a wildcard: then it is `udp_listen` itself.
    pub public_addresses: Vec<SocketAddr>,
    /// Peers in all.
    pub max_peers: usize,
    /// Peers per stream.
    pub max_peers_per_stream: usize,
    /// Length of an offer or a fragment in bytes.
    pub max_offer_bytes: usize,
    /// From the answer to the open data channel.
    pub open_timeout: Duration,
    /// From the open data channel to the hello.
    pub hello_timeout: Duration,
    /// Between pings, at least a second.
    pub heartbeat: Duration,
    /// Without any sign of life until a peer counts as dead. More than twice the heartbeat, so that
    /// one lost ping does not end a peer.
    pub dead_after: Duration,
    /// Without progress of a client that takes nothing until it is told `bye slow`.
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
    /// Whose datagrams the port takes.
    pub(super) fn senders(&self) -> Senders {
        if self.this_machine && cfg!(target_os = "linux") { Senders::ThisMachine } else { Senders::Everybody }
    }
}
