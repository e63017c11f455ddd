//! WebRTC signaling and a resumable stream of numbered events over a data channel.
//!
//! The application provides a durable, numbered log ([`EventSource`]) and gets two things:
//! - a [`Hub`], which serves that log to any number of subscribers. It merges replay with live events,
//!   loses and duplicates nothing, and reports every gap. It is independent of the transport, so
//!   WebSocket and server-sent events use it too;
//! - a [`Signaling`] service, which answers WHIP-style offers and serves the hub over WebRTC data
//!   channels, with all peers on one UDP port.
//!
//! This crate does not know HTTP, the meaning of events, or who may read them. Streams are opaque
//! keys, and the application authorizes each access before it calls this crate.

mod callbacks;
mod describe;
mod ending;
mod error;
mod frame;
mod hub;
mod identifiers;
mod mux;
mod peer;
mod sdp;
mod service;
mod source;
mod stun;

pub use describe::describe_metrics;
pub use error::{BindError, OfferError, PatchError};
pub use frame::{
    Bye, ByeCode, ClientFrame, FrameError, GapReason, MAX_FRAME_BYTES, NotRecovered, PROTOCOL_VERSION, ProtocolError, ServerFrame,
};
pub use hub::{Cursor, CursorError, Delivery, Hub, HubConfig, HubStats, Resume, Subscription, Welcome};
pub use mux::MuxStats;
pub use sdp::{Offer, Patch};
pub use service::{Answer, PatchOutcome, Signaling, SignalingConfig, Stats};
pub use source::{EventSource, LogHead, LogPage, NumberedEvent, SourceError};

/// Parsers of untrusted bytes, exposed for fuzzing only.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::stun::{is_stun, recipient_fragment};
}
