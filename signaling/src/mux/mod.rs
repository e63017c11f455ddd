//! Multiplexes all peers over one UDP port.
//!
//! `webrtc` 0.21 binds a socket per peer and has no multiplexer. But it accepts a `Runtime` per peer,
//! whose `wrap_udp_socket` may return any socket: [`socket`] returns a virtual one, which gets its
//! datagrams from here. Only public API is used.
//!
//! The source address of a datagram determines its peer. An address belongs to a peer after a STUN
//! request from it was signed with that peer's ICE password. The server sends nothing to any other
//! address. Until the address has answered a check, it sends no more bytes than came from there
//! ([`consent`]). So the server cannot be used to amplify traffic to a third party.
//!
//! Invariant: the tables contain no handle of a peer's connection. Under their lock, no waker is
//! called and no socket is used.

mod consent;
mod early;
mod flight;
mod inbox;
mod senders;
mod socket;

use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use rtc::crypto::RTCCryptoProvider;
use tokio::io::Interest;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use webrtc::runtime::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};

use crate::stun;
use consent::Consent;
use inbox::{Inbox, Pushed};
pub(crate) use senders::{Senders, own_address};
pub(crate) use socket::MuxRuntime;

/// Kernel buffer size of the socket. A burst to a thousand peers must fit.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;
/// Maximum length of a datagram. WebRTC stays below the Ethernet MTU.
const MAX_DATAGRAM: usize = 2048;
/// Maximum number of verified addresses per peer.
///
/// A client changes its address with its network, and a browser may try several interfaces at once.
/// More addresses would be an attempt to fill the table.
const MAX_ADDRESSES_PER_PEER: usize = 16;
/// The current credentials, and the previous ones during an ICE restart.
const MAX_CREDENTIALS_PER_PEER: usize = 2;

/// Counts of datagrams since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MuxStats {
    /// Delivered to a peer.
    pub routed: u64,
    /// Dropped: from an unknown address, or from another machine if only this machine may send.
    pub unroutable: u64,
    /// Dropped because the inbox of the peer was full.
    pub overflow: u64,
    /// STUN requests for a known peer with a wrong signature.
    pub bad_integrity: u64,
    /// Not sent: to an unverified address, beyond the bytes received from there, or refused by the operating system.
    pub unsent: u64,
}

#[derive(Debug, Default)]
struct Counters {
    routed: AtomicU64,
    unroutable: AtomicU64,
    overflow: AtomicU64,
    bad_integrity: AtomicU64,
    unsent: AtomicU64,
}

#[derive(Default)]
struct Tables {
    by_fragment: HashMap<String, Credential>,
    by_address: HashMap<SocketAddr, Route>,
}

struct Credential {
    password: Arc<str>,
    inbox: Arc<Inbox>,
}

struct Route {
    inbox: Arc<Inbox>,
    /// The local address that the peer sends to.
    ///
    /// Responses must come from it, or the peer's ICE agent drops them. On a wildcard socket the
    /// kernel might choose another one.
    local: Option<IpAddr>,
    consent: Consent,
}

/// The UDP socket and the tables that map datagrams to peers.
pub(crate) struct Mux {
    socket: tokio::net::UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
    senders: Senders,
    tables: Mutex<Tables>,
    counters: Counters,
    /// Wakers of connections that wait until the socket is writable.
    blocked: Mutex<Vec<Waker>>,
    unblock: Notify,
    crypto: Arc<dyn RTCCryptoProvider>,
}

impl Mux {
    /// Opens the port and starts reading it until `stop`.
    pub(crate) async fn bind(
        listen: SocketAddr,
        senders: Senders,
        crypto: Arc<dyn RTCCryptoProvider>,
        stop: CancellationToken,
    ) -> io::Result<Arc<Self>> {
        let socket = tokio::net::UdpSocket::bind(listen).await?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // The kernel caps these sizes. Smaller buffers only tolerate smaller bursts.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES);
        let mux = Arc::new(Self {
            address: socket.local_addr()?,
            socket,
            state,
            senders,
            tables: Mutex::default(),
            counters: Counters::default(),
            blocked: Mutex::default(),
            unblock: Notify::new(),
            crypto,
        });
        let reader = mux.clone();
        let reader_stop = stop.clone();
        tokio::spawn(async move { reader_stop.run_until_cancelled(reader.read()).await });
        let writer = mux.clone();
        tokio::spawn(async move { stop.run_until_cancelled(writer.wake_blocked()).await });
        Ok(mux)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn stats(&self) -> MuxStats {
        let counters = &self.counters;
        MuxStats {
            routed: counters.routed.load(Relaxed),
            unroutable: counters.unroutable.load(Relaxed),
            overflow: counters.overflow.load(Relaxed),
            bad_integrity: counters.bad_integrity.load(Relaxed),
            unsent: counters.unsent.load(Relaxed),
        }
    }

    /// Number of known credentials and addresses.
    #[cfg(test)]
    fn sizes(&self) -> (usize, usize) {
        let tables = self.tables.lock();
        (tables.by_fragment.len(), tables.by_address.len())
    }

    /// Adds a peer to the port until the result is dropped.
    pub(crate) fn attach(self: &Arc<Self>) -> Attachment {
        Attachment { mux: self.clone(), inbox: Arc::new(Inbox::default()) }
    }

    /// Reads the socket forever.
    async fn read(self: Arc<Self>) {
        let datagram_room = self.state.gro_segments().clamp(1, 64) * MAX_DATAGRAM;
        let mut buffers: Vec<Vec<u8>> = (0..BATCH_SIZE).map(|_| vec![0; datagram_room]).collect();
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        loop {
            let mut slices: Vec<IoSliceMut<'_>> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
            let received =
                self.socket.async_io(Interest::READABLE, || self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut meta)).await;
            match received {
                Ok(count) => {
                    for (buffer, meta) in buffers.iter().zip(&meta).take(count) {
                        let filled = buffer.get(..meta.len).unwrap_or_default();
                        for datagram in filled.chunks(meta.stride.max(1)) {
                            self.route(datagram, meta.addr, meta.dst_ip);
                        }
                    }
                }
                Err(error) => {
                    // The socket reports ICMP errors of single peers here, which must not stop the port.
                    // The pause prevents a busy loop on a lasting error.
                    tracing::debug!(%error, "reading from the UDP port failed");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        }
    }

    async fn wake_blocked(self: Arc<Self>) {
        loop {
            self.unblock.notified().await;
            if self.socket.writable().await.is_err() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let blocked = std::mem::take(&mut *self.blocked.lock());
            for waker in blocked {
                waker.wake();
            }
        }
    }

    /// Delivers a datagram to its peer.
    fn route(&self, datagram: &[u8], from: SocketAddr, local: Option<IpAddr>) {
        if !self.senders.accept(from.ip(), local) {
            self.counters.unroutable.fetch_add(1, Relaxed);
            return;
        }
        let is_request = stun::is_stun(datagram) && stun::is_binding_request(datagram);
        let found = match is_request {
            true => self.claim(datagram, from, local),
            false => self.tables.lock().by_address.get_mut(&from).map(|route| (route.inbox.clone(), route.consent.received(datagram))),
        };
        let Some((inbox, is_due)) = found else {
            self.counters.unroutable.fetch_add(1, Relaxed);
            return;
        };
        // A separate statement, so that the tables are unlocked while the datagram is sent.
        let held = if is_due { self.tables.lock().by_address.get_mut(&from).and_then(|route| route.consent.take_due()) } else { None };
        if let Some(held) = held {
            self.send(&inbox, &Transmit { destination: from, ecn: None, contents: &held, segment_size: None, src_ip: None });
        }
        match inbox.push(from, datagram) {
            Pushed::Queued(waker, again) => {
                self.counters.routed.fetch_add(1, Relaxed);
                if let Some(waker) = waker {
                    waker.wake();
                }
                for sent in again {
                    let transmit =
                        Transmit { destination: from, ecn: None, contents: &sent.contents, segment_size: sent.segment_size, src_ip: None };
                    // If the socket is not writable, the peer's next repetition tries again.
                    self.send(&inbox, &transmit);
                }
            }
            Pushed::Full => {
                self.counters.overflow.fetch_add(1, Relaxed);
            }
        }
    }

    /// Finds the peer of a STUN request, and whether a held datagram is due to be sent to its source.
    ///
    /// A request from a new address claims that address for the peer, if it is signed with the peer's
    /// ICE password.
    fn claim(&self, datagram: &[u8], from: SocketAddr, local: Option<IpAddr>) -> Option<(Arc<Inbox>, bool)> {
        let fragment = stun::recipient_fragment(datagram)?;
        let (inbox, password) = {
            let mut tables = self.tables.lock();
            let credential = tables.by_fragment.get(fragment)?;
            let (inbox, password) = (credential.inbox.clone(), credential.password.clone());
            if let Some(route) = tables.by_address.get_mut(&from)
                && Arc::ptr_eq(&route.inbox, &inbox)
            {
                route.local = local.or(route.local);
                let is_due = route.consent.received(datagram);
                return Some((inbox, is_due));
            }
            (inbox, password)
        };
        if !stun::has_integrity(datagram, &password, self.crypto.crypto()) {
            self.counters.bad_integrity.fetch_add(1, Relaxed);
            return None;
        }
        let mut tables = self.tables.lock();
        // The peer may have ended while the signature was checked.
        tables.by_fragment.get(fragment)?;
        if let Some(oldest) = inbox.add_address(from, MAX_ADDRESSES_PER_PEER)
            && tables.by_address.get(&oldest).is_some_and(|route| Arc::ptr_eq(&route.inbox, &inbox))
        {
            tables.by_address.remove(&oldest);
        }
        let mut route = Route { inbox: inbox.clone(), local, consent: Consent::default() };
        route.consent.received(datagram);
        tables.by_address.insert(from, route);
        Some((inbox, false))
    }

    /// Sends for the peer that owns `inbox`. Returns false if the socket is not writable now.
    fn send(&self, inbox: &Arc<Inbox>, transmit: &Transmit<'_>) -> bool {
        let allowed = {
            let mut tables = self.tables.lock();
            let route = tables.by_address.get_mut(&transmit.destination).filter(|route| Arc::ptr_eq(&route.inbox, inbox));
            route.and_then(|route| route.consent.allows(transmit.contents).then_some(route.local))
        };
        // A datagram that must not be sent is dropped, as on any network. The peers repeat what they need.
        let Some(local) = allowed else {
            self.counters.unsent.fetch_add(1, Relaxed);
            return true;
        };
        let transmit = Transmit { src_ip: local, ..transmit.clone() };
        let sent = self.socket.try_io(Interest::WRITABLE, || self.state.try_send(UdpSockRef::from(&self.socket), &transmit));
        match sent {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => {
                // UDP may lose datagrams. Returning the error would end the whole connection.
                tracing::debug!(%error, "a datagram could not be sent");
                self.counters.unsent.fetch_add(1, Relaxed);
                true
            }
        }
    }

    /// Wakes `waker` when the socket is writable again.
    fn wait_until_writable(&self, waker: &Waker) {
        self.blocked.lock().push(waker.clone());
        self.unblock.notify_one();
    }
}

/// The registration of one peer on the port. Dropping it frees its addresses and credentials.
pub(crate) struct Attachment {
    mux: Arc<Mux>,
    inbox: Arc<Inbox>,
}

impl Attachment {
    /// Returns the runtime for this peer's connection.
    pub(crate) fn runtime(&self) -> Arc<MuxRuntime> {
        Arc::new(MuxRuntime::new(self.mux.clone(), self.inbox.clone()))
    }

    /// Makes the peer reachable under the ICE credentials of its local description.
    ///
    /// Called again after an ICE restart. The previous credentials stay valid until the next restart,
    /// because the client may still use them.
    pub(crate) fn register(&self, fragment: &str, password: &str) {
        let former = self.inbox.restart(fragment, MAX_CREDENTIALS_PER_PEER);
        let credential = Credential { password: password.into(), inbox: self.inbox.clone() };
        let mut tables = self.mux.tables.lock();
        tables.by_fragment.insert(fragment.to_owned(), credential);
        if let Some(former) = former {
            tables.by_fragment.remove(&former);
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let (fragments, addresses) = self.inbox.close();
        let mut tables = self.mux.tables.lock();
        for fragment in fragments {
            tables.by_fragment.remove(&fragment);
        }
        for address in addresses {
            if tables.by_address.get(&address).is_some_and(|route| Arc::ptr_eq(&route.inbox, &self.inbox)) {
                tables.by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests;
