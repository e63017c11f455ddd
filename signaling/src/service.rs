//! Answers offers and owns the peers: admission, changes, removal, shutdown.
//!
//! The caller has authorised the stream it names; a peer can only be changed or deleted under the
//! stream it was made for.

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
use admission::{Admission, Handle, Place, Refusal, place};
pub use config::SignalingConfig;
use connect::Connection;

/// Longest time the WebRTC stack may take to answer an offer or to close a peer.
const STACK_TIME: Duration = Duration::from_secs(5);

/// What the client gets for its offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Identity of the peer, part of its URL.
    pub peer_id: String,
    /// The answer, `application/sdp`.
    pub sdp: String,
    /// Entity tag of the ICE session, with quotation marks.
    pub etag: String,
}

/// What became of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchOutcome {
    /// Candidates were read. They are not needed, see [`crate::Offer`]; HTTP 204.
    Candidates {
        /// How many.
        ignored: usize,
    },
    /// ICE was restarted; HTTP 200 with the fragment and the new entity tag.
    Restarted {
        /// The answer, `application/trickle-ice-sdpfrag`.
        sdp_fragment: String,
        /// Entity tag of the new ICE session.
        etag: String,
    },
}

/// What a service holds and has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Peers, open or on their way.
    pub peers: usize,
    /// Peers with an open data channel.
    pub open: usize,
    /// Datagrams of the UDP port.
    pub udp: MuxStats,
}

/// One ICE session after the other of one peer.
struct IceSession {
    offer: Offer,
    generation: u32,
    etag: String,
}

/// What PATCH needs of a peer.
struct PeerRecord {
    connection: Connection,
    attachment: Attachment,
    session: AsyncMutex<IceSession>,
}

/// The signaling service. See the module's page.
pub struct Signaling<S: EventSource> {
    hub: Arc<Hub<S>>,
    config: SignalingConfig,
    public: Vec<SocketAddr>,
    mux: Arc<Mux>,
    crypto: Arc<dyn RTCCryptoProvider>,
    certificate: RTCCertificate,
    admission: Arc<Admission<Place<S>, PeerRecord>>,
    open: Arc<AtomicUsize>,
    peers: TaskTracker,
    /// Tells peers to say goodbye.
    restart: CancellationToken,
    /// Stops the port, once the peers are gone.
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

    /// What the service holds and has seen.
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

    /// As [`Self::offer`], for a caller whose permission has an end: when `ended` is, the peer is told `bye auth_expired`.
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
            return Err(OfferError::Unavailable("the server shuts down".to_owned()));
        }
        let offer = Offer::parse(offer, self.config.max_offer_bytes)?;
        self.hub.head(&stream).await.map_err(|error| match error {
            SourceError::NotFound => OfferError::UnknownStream,
            SourceError::Unavailable(error) => OfferError::Unavailable(error.to_string()),
        })?;
        let peer_id = identifiers::peer_id(&*self.crypto).ok_or_else(|| OfferError::Unavailable("no random numbers".to_owned()))?;
        let admitted = self.admission.admit(place::<S>(&stream), peer_id.clone()).map_err(|refusal| match refusal {
            Refusal::Full => OfferError::TooManyPeers { limit: self.config.max_peers },
            Refusal::StreamFull => OfferError::TooManyPeersForStream { limit: self.config.max_peers_per_stream },
        })?;
        let unavailable = |error: String| OfferError::Unavailable(error);
        // In a task of its own: a client that hangs up must not stop the stack halfway, since it
        // can only be closed once it is built.
        let (service, wanted) = (self.clone(), offer.clone());
        let connecting = self.peers.spawn(async move { service.connect(&wanted).await });
        let connected = timeout(STACK_TIME, connecting)
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
        self.peers.spawn(keep(peer, record, admitted, open));
        Ok(answer)
    }

    /// Takes candidates or restarts ICE.
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
        let record = self.admission.find(&place::<S>(stream), peer_id).ok_or(PatchError::UnknownPeer)?;
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
        let local = timeout(STACK_TIME, restart)
            .await
            .map_err(|_| PatchError::Unavailable("the restart took too long".to_owned()))?
            .map_err(PatchError::Unavailable)?;
        record.attachment.register(&local.fragment, &local.password);
        let etag = etag(generation, &local.fragment);
        let sdp_fragment = sdp::restart_fragment(&local, offer.mid(), &self.candidates());
        *session = IceSession { offer, generation, etag: etag.clone() };
        Ok(PatchOutcome::Restarted { sdp_fragment, etag })
    }

    /// Closes a peer; false when this stream has no such peer.
    pub fn delete(&self, stream: &S::Stream, peer_id: &str) -> bool {
        self.admission.close(&place::<S>(stream), peer_id)
    }

    /// Says `bye restart` to all peers, waits for them up to `grace`, and closes the port.
    pub async fn shutdown(&self, grace: Duration) {
        self.restart.cancel();
        self.peers.close();
        if timeout(grace, self.peers.wait()).await.is_err() {
            tracing::warn!(peers = self.peers.len(), "peers did not close in time");
        }
        self.stop.cancel();
    }

    /// The addresses for a client, most preferred first. Read for each answer: a laptop changes its network.
    fn candidates(&self) -> Vec<SocketAddr> {
        let mut addresses = self.public.clone();
        if self.config.senders() == Senders::ThisMachine
            && let Some(ip) = own_address(self.mux.address().is_ipv6())
        {
            addresses.push(SocketAddr::new(ip, self.mux.address().port()));
        }
        addresses
    }

    /// An address for the WebRTC stack to bind for a moment, of the port's IP version. What it
    /// finds there names its local candidate; datagrams go through the multiplexer.
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

/// Runs a peer to its end and clears up behind it.
async fn keep<S: EventSource>(peer: Peer<S>, record: Arc<PeerRecord>, admitted: Handle<Place<S>, PeerRecord>, open: Arc<AtomicUsize>) {
    let opened = OpenCount::new(open);
    let ending: Ending = peer.run(|| opened.count()).await;
    metrics::counter!("recall_stream_byes_total", "code" => ending.code()).increment(1);
    tracing::debug!(code = ending.code(), reason = ?ending.reason(), "a peer has ended");
    // First the table, so that a client that comes back at once finds its place free.
    drop(admitted);
    drop(opened);
    if timeout(STACK_TIME, record.connection.close()).await.is_err() {
        tracing::warn!("a peer connection did not close in time");
    }
}

/// Counts a peer as open from the moment it is until the end of its task.
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
