//! WebRTC signaling and a resumable stream of numbered events over a data channel.
//!
//! A caller brings a durable, numbered log ([`EventSource`]) and gets two things:
//! - a [`Hub`] that serves that log to any number of subscribers, replay merged with live events,
//!   without loss, duplicate or silent hole. It knows no transport, so WebSocket and server-sent
//!   events use it as well;
//! - a [`Signaling`] service that answers WHIP-style offers and serves the hub over WebRTC data
//!   channels, all peers on one UDP port.
//!
//! This crate knows nothing about what the events mean, who may read them, or HTTP: streams are
//! opaque keys, and the caller has authorised each one before it gets here.

mod callbacks;
mod describe;
mod ending;
mod error;
mod frame;
mod hub;
mod identifiers;
mod lock;
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
pub use source::{EventSource, LogHead, NumberedEvent, SourceError};

/// Parsers of bytes that strangers send, exposed for fuzzing only.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::stun::{is_stun, requester_of};
}
