//! The signaling service: answers offers, and admits, changes, removes and shuts down peers.
//!
//! The application authorizes access to a stream before it calls this service. A peer can be changed
//! or deleted only with the stream that it was created for.

mod admission;
mod config;
mod connect;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rtc::crypto::RTCCryptoProvider;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use webrtc::peer_connection::RTCCertificate;

use crate::ending::Ending;
use crate::error::{BindError, OfferError, PatchError};
use crate::hub::Hub;
use crate::identifiers;
use crate::mux::{Attachment, Mux, MuxStats, Senders, own_address};
use crate::peer::{Peer, PeerTimes};
use crate::sdp::{self, Offer, Patch};
use crate::source::{EventSource, SourceError};
use admission::{Admission, AdmissionError, Handle, PeerScope, peer_scope};
pub use config::SignalingConfig;
use connect::Connection;

/// Timeout for the WebRTC stack to answer an offer or to close a peer.
const STACK_TIMEOUT: Duration = Duration::from_secs(5);

/// The answer to an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Id of the peer, part of its URL.
    pub peer_id: String,
    /// The session description, `application/sdp`.
    pub sdp: String,
    /// Entity tag of the ICE session, with quotation marks.
    pub etag: String,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchOutcome {
    /// The fragment has candidates, which are ignored (see [`crate::Offer`]); HTTP 204.
    Candidates {
        /// Number of candidates.
        ignored: usize,
    },
    /// ICE was restarted; HTTP 200 with the fragment and the new entity tag.
    Restarted {
        /// The new local description, `application/trickle-ice-sdpfrag`.
        sdp_fragment: String,
        /// Entity tag of the new ICE session.
        etag: String,
    },
}

/// Counts of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of peers, open or connecting.
    pub peers: usize,
    /// Number of peers with an open data channel.
    pub open: usize,
    /// Datagram counts of the UDP port.
    pub udp: MuxStats,
}

/// The current ICE session of a peer.
struct IceSession {
    offer: Offer,
    generation: u32,
    etag: String,
}

/// The state of a peer that PATCH needs.
struct PeerRecord {
    connection: Connection,
    attachment: Attachment,
    session: AsyncMutex<IceSession>,
}

/// The signaling service: answers offers and serves the hub to WebRTC peers.
pub struct Signaling<S: EventSource> {
    hub: Arc<Hub<S>>,
    config: SignalingConfig,
    public: Vec<SocketAddr>,
    mux: Arc<Mux>,
    crypto: Arc<dyn RTCCryptoProvider>,
    certificate: RTCCertificate,
    admission: Arc<Admission<PeerScope<S>, PeerRecord>>,
    open: Arc<AtomicUsize>,
    peers: TaskTracker,
    /// Cancelled to make all peers send `bye restart`.
    restart: CancellationToken,
    /// Cancelled to close the port after the peers have ended.
    stop: CancellationToken,
}

impl<S: EventSource> Signaling<S> {
    /// Opens the UDP port.
    ///
    /// # Errors
    /// See [`BindError`].
    pub async fn bind(config: SignalingConfig, hub: Arc<Hub<S>>) -> Result<Arc<Self>, BindError> {
        let listen = config.udp_listen;
        if listen.ip().is_unspecified() && config.public_addresses.is_empty() {
            return Err(BindError::NoPublicAddress(listen));
        }
        for public in &config.public_addresses {
            if public.is_ipv4() != listen.is_ipv4() {
                let public = *public;
                return Err(BindError::AddressFamily { public, listen });
            }
        }
        let crypto = rtc::crypto::default_provider().map_err(|error| BindError::Crypto(error.to_string()))?;
        let certificate = connect::certificate(&*crypto)?;
        let stop = CancellationToken::new();
        let senders = config.senders();
        let mux = Mux::bind(senders.bind_to(listen), senders, crypto.clone(), stop.clone())
            .await
            .map_err(|source| BindError::Socket { address: listen, source })?;
        let bound = mux.address();
        let mut public = config.public_addresses.clone();
        if public.is_empty() {
            public.push(SocketAddr::new(listen.ip(), bound.port()));
        }
        for address in &mut public {
            if address.port() == 0 {
                address.set_port(bound.port());
            }
        }
        Ok(Arc::new(Self {
            admission: Arc::new(Admission::new(config.max_peers, config.max_peers_per_stream)),
            hub,
            config,
            public,
            mux,
            crypto,
            certificate,
            open: Arc::default(),
            peers: TaskTracker::new(),
            restart: CancellationToken::new(),
            stop,
        }))
    }

    /// The address of the UDP port.
    pub fn udp_addr(&self) -> SocketAddr {
        self.mux.address()
    }

    /// Returns the current counts.
    pub fn stats(&self) -> Stats {
        Stats { peers: self.admission.peers(), open: self.open.load(Ordering::Relaxed), udp: self.mux.stats() }
    }

    /// Answers an offer for a stream.
    ///
    /// # Errors
    /// See [`OfferError`].
    pub async fn offer(self: &Arc<Self>, stream: S::Stream, offer: &str) -> Result<Answer, OfferError> {
        self.offer_until(stream, offer, std::future::pending()).await
    }

    /// Answers an offer of a caller whose permission ends when `ended` completes.
    ///
    /// The peer then gets `bye auth_expired`.
    ///
    /// # Errors
    /// See [`OfferError`].
    pub async fn offer_until(
        self: &Arc<Self>,
        stream: S::Stream,
        offer: &str,
        ended: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Answer, OfferError> {
        let result = self.try_offer(stream, offer, Box::pin(ended)).await;
        let code = result.as_ref().map_or_else(OfferError::code, |_| "ANSWERED");
        metrics::counter!("recall_stream_offers_total", "code" => code).increment(1);
        result
    }

    async fn try_offer(self: &Arc<Self>, stream: S::Stream, offer: &str, ended: BoxFuture<'static, ()>) -> Result<Answer, OfferError> {
        if self.restart.is_cancelled() {
            return Err(OfferError::Unavailable("the server is shutting down".to_owned()));
        }
        let offer = Offer::parse(offer, self.config.max_offer_bytes)?;
        self.hub.head(&stream).await.map_err(|error| match error {
            SourceError::NotFound => OfferError::UnknownStream,
            SourceError::Unavailable(error) => OfferError::Unavailable(error.to_string()),
        })?;
        let peer_id =
            identifiers::peer_id(&*self.crypto).ok_or_else(|| OfferError::Unavailable("the random number generator failed".to_owned()))?;
        let admitted = self.admission.admit(peer_scope::<S>(&stream), peer_id.clone()).map_err(|error| match error {
            AdmissionError::Full => OfferError::TooManyPeers { limit: self.config.max_peers },
            AdmissionError::StreamFull => OfferError::TooManyPeersForStream { limit: self.config.max_peers_per_stream },
        })?;
        let unavailable = |error: String| OfferError::Unavailable(error);
        // In a separate task, so that it completes even if the client disconnects. A connection can
        // only be closed after it is built.
        let (service, wanted) = (self.clone(), offer.clone());
        let connecting = self.peers.spawn(async move { service.connect(&wanted).await });
        let connected = timeout(STACK_TIMEOUT, connecting)
            .await
            .map_err(|_| unavailable("the answer took too long".to_owned()))?
            .map_err(|error| unavailable(error.to_string()))?
            .map_err(unavailable)?;
        let etag = etag(1, &connected.fragment);
        let answer = Answer { peer_id, sdp: sdp::answer_for_client(&connected.sdp, &self.candidates()), etag: etag.clone() };
        let record = Arc::new(PeerRecord {
            connection: connected.connection,
            attachment: connected.attachment,
            session: AsyncMutex::new(IceSession { offer, generation: 1, etag }),
        });
        admitted.publish(record.clone());
        let peer = Peer {
            hub: self.hub.clone(),
            stream,
            events: connected.events,
            times: PeerTimes {
                open: self.config.open_timeout,
                hello: self.config.hello_timeout,
                ping: self.config.heartbeat,
                dead: self.config.dead_after,
                slow: self.config.slow_after,
            },
            ended,
            close: admitted.close.clone(),
            restart: self.restart.clone(),
        };
        let open = self.open.clone();
        self.peers.spawn(run_peer(peer, record, admitted, open));
        Ok(answer)
    }

    /// Accepts candidates, or restarts ICE for new credentials.
    ///
    /// # Errors
    /// See [`PatchError`].
    pub async fn patch(
        &self,
        stream: &S::Stream,
        peer_id: &str,
        if_match: Option<&str>,
        fragment: &str,
    ) -> Result<PatchOutcome, PatchError> {
        let record = self.admission.find(&peer_scope::<S>(stream), peer_id).ok_or(PatchError::UnknownPeer)?;
        let patch = Patch::parse(fragment, self.config.max_offer_bytes)?;
        let mut session = record.session.lock().await;
        match if_match {
            None => return Err(PatchError::PreconditionRequired),
            Some("*") => {}
            Some(tag) if tag == session.etag => {}
            Some(_) => {
                return Err(PatchError::PreconditionFailed { current: session.etag.clone() });
            }
        }
        let ice = match patch.ice {
            Some(ice) if ice != session.offer.ice => ice,
            _ => {
                return Ok(PatchOutcome::Candidates { ignored: patch.candidates });
            }
        };
        let mut offer = session.offer.clone();
        offer.ice = ice;
        let generation = session.generation + 1;
        let restart = connect::restart(&record.connection, &offer, generation);
        let local = timeout(STACK_TIMEOUT, restart)
            .await
            .map_err(|_| PatchError::Unavailable("the restart took too long".to_owned()))?
            .map_err(PatchError::Unavailable)?;
        record.attachment.register(&local.fragment, &local.password);
        let etag = etag(generation, &local.fragment);
        let sdp_fragment = sdp::restart_fragment(&local, offer.mid(), &self.candidates());
        *session = IceSession { offer, generation, etag: etag.clone() };
        Ok(PatchOutcome::Restarted { sdp_fragment, etag })
    }

    /// Closes a peer. Returns false if this stream has no such peer.
    pub fn delete(&self, stream: &S::Stream, peer_id: &str) -> bool {
        self.admission.close(&peer_scope::<S>(stream), peer_id)
    }

    /// Sends `bye restart` to all peers, waits up to `grace` for them to end, and closes the port.
    pub async fn shutdown(&self, grace: Duration) {
        self.restart.cancel();
        self.peers.close();
        if timeout(grace, self.peers.wait()).await.is_err() {
            tracing::warn!(peers = self.peers.len(), "peers did not close in time");
        }
        self.stop.cancel();
    }

    /// Returns the addresses for a client, most preferred first.
    ///
    /// They are determined for each answer, because the machine may change its network.
    fn candidates(&self) -> Vec<SocketAddr> {
        let mut addresses = self.public.clone();
        if self.config.senders() == Senders::ThisMachine
            && let Some(ip) = own_address(self.mux.address().is_ipv6())
        {
            addresses.push(SocketAddr::new(ip, self.mux.address().port()));
        }
        addresses
    }

    /// Returns an address with the port's IP version, which the WebRTC stack binds briefly.
    ///
    /// The stack names its local candidate after it. Datagrams use the multiplexer instead.
    fn assumed_address(&self) -> SocketAddr {
        let ip = match self.mux.address().ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        SocketAddr::new(ip, 0)
    }
}

impl<S: EventSource> Drop for Signaling<S> {
    fn drop(&mut self) {
        self.restart.cancel();
        self.stop.cancel();
    }
}

/// Runs a peer until it ends, then releases its resources.
async fn run_peer<S: EventSource>(
    peer: Peer<S>,
    record: Arc<PeerRecord>,
    admitted: Handle<PeerScope<S>, PeerRecord>,
    open: Arc<AtomicUsize>,
) {
    let opened = OpenCount::new(open);
    let ending: Ending = peer.run(|| opened.count()).await;
    metrics::counter!("recall_stream_byes_total", "code" => ending.code()).increment(1);
    tracing::debug!(code = ending.code(), reason = ?ending.reason(), "a peer has ended");
    // The table first, so that a client that reconnects at once is within the limits.
    drop(admitted);
    drop(opened);
    if timeout(STACK_TIMEOUT, record.connection.close()).await.is_err() {
        tracing::warn!("a peer connection did not close in time");
    }
}

/// Counts a peer as open until this value is dropped.
struct OpenCount {
    open: Arc<AtomicUsize>,
    counted: std::sync::atomic::AtomicBool,
}

impl OpenCount {
    fn new(open: Arc<AtomicUsize>) -> Self {
        Self { open, counted: false.into() }
    }

    fn count(&self) {
        self.counted.store(true, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        metrics::gauge!("recall_stream_peers").increment(1.0);
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        if self.counted.load(Ordering::Relaxed) {
            self.open.fetch_sub(1, Ordering::Relaxed);
            metrics::gauge!("recall_stream_peers").decrement(1.0);
        }
    }
}

fn etag(generation: u32, fragment: &str) -> String {
    format!("\"{generation}-{fragment}\"")
}
