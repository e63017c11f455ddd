//! Errors of signaling, each with a stable code for programs and a sentence for people.
//!
//! This crate does not know HTTP. The application maps the codes to HTTP statuses.

use std::io;

/// Why the signaling service could not start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The UDP port could not be opened.
    #[error("cannot listen on UDP {address}")]
    Socket {
        /// The requested address.
        address: std::net::SocketAddr,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The UDP address is a wildcard, and no public address is configured.
    #[error("the UDP address {0} is a wildcard: configure at least one public address that clients can reach")]
    NoPublicAddress(std::net::SocketAddr),
    /// A public address and the UDP address have different IP versions.
    #[error("the public address {public} and the UDP address {listen} are of different IP versions")]
    AddressFamily {
        /// The configured public address.
        public: std::net::SocketAddr,
        /// The configured UDP address.
        listen: std::net::SocketAddr,
    },
    /// The keys or the certificate could not be generated.
    #[error("cannot prepare the encryption of data channels: {0}")]
    Crypto(String),
}

/// Why an offer was refused.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// The text is not a valid session description.
    #[error("the offer cannot be understood: {0}")]
    BadSdp(&'static str),
    /// The offer contains no data channel.
    #[error("the offer has no data channel: create the channel `events` before making the offer")]
    NoDataChannel,
    /// The offer is longer than allowed.
    #[error("the offer is longer than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The server has reached its maximum number of peers.
    #[error("the server has reached its limit of {limit} peers; try again later")]
    TooManyPeers {
        /// The limit.
        limit: usize,
    },
    /// The stream has reached its maximum number of peers.
    #[error("this stream has reached its limit of {limit} peers; close one first")]
    TooManyPeersForStream {
        /// The limit.
        limit: usize,
    },
    /// The stream does not exist.
    #[error("there is no such stream")]
    UnknownStream,
    /// The service cannot answer now: it is shutting down, or the log or the WebRTC stack failed.
    #[error("the stream cannot be opened now: {0}")]
    Unavailable(String),
}

impl OfferError {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSdp(_) => "BAD_SDP",
            Self::NoDataChannel => "NO_DATA_CHANNEL",
            Self::TooLarge { .. } => "OFFER_TOO_LARGE",
            Self::TooManyPeers { .. } => "TOO_MANY_PEERS",
            Self::TooManyPeersForStream { .. } => "TOO_MANY_PEERS_FOR_STREAM",
            Self::UnknownStream => "UNKNOWN_STREAM",
            Self::Unavailable(_) => "UNAVAILABLE",
        }
    }
}

/// Why a change of a peer was refused.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The stream has no such peer, or no longer.
    #[error("there is no such peer")]
    UnknownPeer,
    /// `If-Match` is missing.
    #[error("a change of a peer needs the entity tag of its session in If-Match")]
    PreconditionRequired,
    /// `If-Match` names another ICE session.
    #[error("the peer has another ICE session by now; its entity tag is {current}")]
    PreconditionFailed {
        /// The entity tag in force.
        current: String,
    },
    /// The fragment is invalid.
    #[error("the fragment cannot be understood: {0}")]
    BadFragment(&'static str),
    /// The fragment is longer than allowed.
    #[error("the fragment is longer than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The service cannot change the peer now.
    #[error("the peer cannot be changed now: {0}")]
    Unavailable(String),
}

impl PatchError {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownPeer => "UNKNOWN_PEER",
            Self::PreconditionRequired => "PRECONDITION_REQUIRED",
            Self::PreconditionFailed { .. } => "PRECONDITION_FAILED",
            Self::BadFragment(_) => "BAD_SDP_FRAGMENT",
            Self::TooLarge { .. } => "FRAGMENT_TOO_LARGE",
            Self::Unavailable(_) => "UNAVAILABLE",
        }
    }
}
