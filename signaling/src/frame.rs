//! Parses and writes the frames of `recall.events.v1`: JSON texts whose field `t` names the type.
//!
//! The README of this crate and [`crate::hub`] describe their meaning.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The protocol version of this crate.
pub const PROTOCOL_VERSION: u32 = 1;
/// Maximum length of a frame in bytes, in both directions.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;
/// Maximum length of a stream name or epoch in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A frame from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFrame {
    /// The first frame. It names the stream and the resume point.
    Hello {
        /// Protocol version of the client.
        v: u32,
        /// Name of the stream.
        stream: String,
        /// Where the client stopped reading; `None` means live events only.
        resume: Option<ResumePoint>,
    },
    /// The client has processed everything up to `seq`.
    Ack {
        /// The last processed sequence number.
        seq: u64,
    },
    /// Answer to a ping.
    Pong,
    /// A frame of a later protocol version; ignored.
    Unknown,
}

/// Where a client stopped reading.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ResumePoint {
    /// Epoch of the log that the client read.
    pub epoch: String,
    /// The last sequence number that the client received.
    pub seq: u64,
}

/// Why a client's frame is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame is longer than [`MAX_FRAME_BYTES`].
    #[error("a frame may have at most {MAX_FRAME_BYTES} bytes")]
    TooLarge,
    /// The frame is not a JSON object in UTF-8 with a text field `t`.
    #[error("a frame is a JSON object with a field `t`")]
    NotAFrame,
    /// A known frame has missing or wrong fields.
    #[error("the fields of a `{0}` frame are wrong")]
    WrongFields(&'static str),
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow)]
    t: Cow<'a, str>,
}

#[derive(Deserialize)]
struct HelloFields {
    v: u32,
    stream: String,
    // Required: with a default, a client that forgets `resume` would silently lose events.
    #[serde(deserialize_with = "Option::deserialize")]
    resume: Option<ResumePoint>,
}

#[derive(Deserialize)]
struct AckFields {
    seq: u64,
}

impl ClientFrame {
    /// Parses one frame.
    ///
    /// Unknown frames and unknown fields are accepted, so that the protocol can grow. Known fields
    /// must be valid.
    pub fn parse(bytes: &[u8]) -> Result<Self, FrameError> {
        if bytes.len() > MAX_FRAME_BYTES {
            return Err(FrameError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| FrameError::NotAFrame)?;
        // Serde would also deserialize a struct from an array such as ["ack"].
        if !text.trim_start().starts_with('{') {
            return Err(FrameError::NotAFrame);
        }
        let tag: Tag<'_> = serde_json::from_str(text).map_err(|_| FrameError::NotAFrame)?;
        match tag.t.as_ref() {
            "hello" => {
                let wrong = FrameError::WrongFields("hello");
                let Ok(hello) = serde_json::from_str::<HelloFields>(text) else {
                    return Err(wrong);
                };
                let epoch_length = hello.resume.as_ref().map_or(0, |point| point.epoch.len());
                if hello.stream.len() > MAX_NAME_BYTES || epoch_length > MAX_NAME_BYTES {
                    return Err(wrong);
                }
                Ok(Self::Hello { v: hello.v, stream: hello.stream, resume: hello.resume })
            }
            "ack" => match serde_json::from_str::<AckFields>(text) {
                Ok(ack) => Ok(Self::Ack { seq: ack.seq }),
                Err(_) => Err(FrameError::WrongFields("ack")),
            },
            "pong" => Ok(Self::Pong),
            _ => Ok(Self::Unknown),
        }
    }
}

/// A frame from the server.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ServerFrame<'a> {
    /// Always the first frame.
    Welcome {
        /// Protocol version of the server.
        v: u32,
        /// Epoch of the log.
        epoch: &'a str,
        /// Current highest sequence number.
        head: u64,
        /// Whether everything after the resume point will follow.
        recovered: bool,
        /// Why not everything follows.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<NotRecovered>,
        /// Seconds between pings.
        ping_s: u64,
        /// Maximum length of a frame in bytes.
        max: usize,
    },
    /// A numbered event.
    Ev {
        /// Its sequence number.
        seq: u64,
        /// Its identity.
        id: &'a str,
        /// Its type.
        r#type: &'a str,
        /// Time of its commit, RFC 3339.
        ts: &'a str,
        /// Its content.
        d: &'a RawValue,
    },
    /// An ephemeral event: not numbered, and it may be lost.
    Eph {
        /// Its type.
        r#type: &'a str,
        /// Its content.
        d: &'a serde_json::Value,
    },
    /// The replay has reached the head.
    CaughtUp {
        /// The last sequence number that was sent.
        seq: u64,
    },
    /// Events `from..=to` cannot be sent. The client fetches its state again and continues after `to`.
    Gap {
        /// First missing sequence number.
        from: u64,
        /// Last missing sequence number.
        to: u64,
        /// Why the events are missing.
        reason: GapReason,
    },
    /// A heartbeat. The client answers it with a pong.
    Ping {
        /// Current highest sequence number.
        head: u64,
    },
    /// The last frame; then the channel closes.
    Bye(Bye),
}

impl ServerFrame<'_> {
    /// Writes the frame as JSON text.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Why a subscription cannot resume at its resume point. A gap always follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotRecovered {
    /// The log was rebuilt.
    EpochChanged,
    /// The resume point is after the head of the log.
    AheadOfLog,
    /// Events after the resume point were pruned from the log.
    Expired,
}

/// Why events are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// The log was rebuilt; the client must fetch everything again.
    EpochChanged,
    /// The resume point is after the head of the log; the client must fetch everything again.
    AheadOfLog,
    /// The events were pruned from the log.
    Expired,
    /// The log has no entry with this number.
    Missing,
    /// The event is larger than a frame.
    TooLarge,
}

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ByeCode {
    /// The client read nothing for too long.
    Slow,
    /// The client's permission has ended.
    AuthExpired,
    /// The server restarts, or the log was rebuilt.
    Restart,
    /// Another connection replaced this one.
    Superseded,
    /// The stream was deleted.
    Deleted,
    /// The client violated the protocol.
    Protocol,
    /// The client sent no hello in time.
    Timeout,
    /// The log could not be read.
    Unavailable,
}

impl ByeCode {
    /// The code as used in frames and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::AuthExpired => "auth_expired",
            Self::Restart => "restart",
            Self::Superseded => "superseded",
            Self::Deleted => "deleted",
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
        }
    }
}

/// How a client violated the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolError {
    /// A frame longer than [`MAX_FRAME_BYTES`].
    FrameTooLarge,
    /// A binary frame.
    BinaryFrame,
    /// A frame that is not a JSON object with a text field `t`.
    NotAFrame,
    /// A known frame with missing or wrong fields.
    WrongFields,
    /// A frame other than `hello` came first.
    HelloExpected,
    /// A second hello.
    SecondHello,
    /// A protocol version that the server does not support.
    UnsupportedVersion,
    /// A stream other than the one that the offer was made for.
    WrongStream,
    /// An acknowledgment of an event that was not sent.
    AckAhead,
}

impl From<&FrameError> for ProtocolError {
    fn from(error: &FrameError) -> Self {
        match error {
            FrameError::TooLarge => Self::FrameTooLarge,
            FrameError::NotAFrame => Self::NotAFrame,
            FrameError::WrongFields(_) => Self::WrongFields,
        }
    }
}

/// The last frame to a client, which says whether to reconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bye {
    /// Why the stream ends.
    pub code: ByeCode,
    /// The exact violation, for [`ByeCode::Protocol`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<ProtocolError>,
    /// Whether the client should reconnect automatically.
    pub reconnect: bool,
    /// Minimum pause before the reconnect in milliseconds.
    pub after_ms: u64,
}

impl From<ByeCode> for Bye {
    /// The usual advice for a code: reconnect after temporary failures, but not if a person must act.
    fn from(code: ByeCode) -> Self {
        let (reconnect, after_ms) = match code {
            ByeCode::Slow | ByeCode::Timeout => (true, 1_000),
            ByeCode::Restart => (true, 250),
            ByeCode::Unavailable => (true, 2_000),
            ByeCode::AuthExpired | ByeCode::Superseded | ByeCode::Deleted | ByeCode::Protocol => (false, 0),
        };
        Self { code, reason: None, reconnect, after_ms }
    }
}

impl From<ProtocolError> for Bye {
    fn from(reason: ProtocolError) -> Self {
        Self { reason: Some(reason), ..Self::from(ByeCode::Protocol) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn parse_accepts_every_client_frame() {
        let hello = br#"{"t":"hello","v":1,"stream":"s","resume":{"epoch":"e","seq":7},"later":[]}"#;
        assert_eq!(
            ClientFrame::parse(hello),
            Ok(ClientFrame::Hello { v: 1, stream: "s".into(), resume: Some(ResumePoint { epoch: "e".into(), seq: 7 }) })
        );
        let live = br#"{"t":"hello","v":1,"stream":"s","resume":null}"#;
        assert!(matches!(ClientFrame::parse(live), Ok(ClientFrame::Hello { resume: None, .. })));
        assert_eq!(ClientFrame::parse(br#"{"t":"ack","seq":3}"#), Ok(ClientFrame::Ack { seq: 3 }));
        assert_eq!(ClientFrame::parse(br#" {"t":"pong"}"#), Ok(ClientFrame::Pong));
        assert_eq!(ClientFrame::parse(br#"{"t":"dance"}"#), Ok(ClientFrame::Unknown));
    }

    #[test]
    fn parse_refuses_malformed_frames() {
        for broken in [
            &b""[..],
            b"null",
            b"[]",
            b"[\"pong\"]",
            b"\"pong\"",
            b"{}",
            b"{\"t\":1}",
            b"{\"t\":\"pong\"",
            b"{\"t\":\"pong\"}}",
            b"\xff\xfe",
        ] {
            assert_eq!(ClientFrame::parse(broken), Err(FrameError::NotAFrame), "{broken:?}");
        }
        for broken in [
            r#"{"t":"hello","v":1,"stream":"s"}"#,
            r#"{"t":"hello","v":-1,"stream":"s","resume":null}"#,
            r#"{"t":"hello","v":1,"stream":"s","resume":{"epoch":"e","seq":-1}}"#,
            r#"{"t":"hello","v":1,"stream":"s","resume":{"epoch":"e","seq":1.5}}"#,
            r#"{"t":"hello","v":1,"stream":7,"resume":null}"#,
        ] {
            assert_eq!(ClientFrame::parse(broken.as_bytes()), Err(FrameError::WrongFields("hello")), "{broken}");
        }
        assert_eq!(ClientFrame::parse(br#"{"t":"ack"}"#), Err(FrameError::WrongFields("ack")));
        let deep = format!("{{\"t\":\"pong\",\"x\":{}", "[".repeat(60_000));
        assert_eq!(ClientFrame::parse(deep.as_bytes()), Err(FrameError::NotAFrame));
        let long = format!("{{\"t\":\"pong\",\"x\":\"{}\"}}", "x".repeat(MAX_FRAME_BYTES));
        assert_eq!(ClientFrame::parse(long.as_bytes()), Err(FrameError::TooLarge));
    }

    #[test]
    fn to_text_writes_every_server_frame() {
        let text = |frame: ServerFrame<'_>| frame.to_text().unwrap();
        assert_eq!(text(ServerFrame::Bye(Bye::from(ByeCode::Slow))), r#"{"t":"bye","code":"slow","reconnect":true,"after_ms":1000}"#);
        assert_eq!(
            text(ServerFrame::Bye(Bye::from(ProtocolError::SecondHello))),
            r#"{"t":"bye","code":"protocol","reason":"second_hello","reconnect":false,"after_ms":0}"#
        );
        assert_eq!(
            text(ServerFrame::Gap { from: 1, to: 2, reason: GapReason::EpochChanged }),
            r#"{"t":"gap","from":1,"to":2,"reason":"epoch_changed"}"#
        );
        assert_eq!(
            text(ServerFrame::Ev {
                seq: 1,
                id: "i",
                r#type: "fact_update",
                ts: "2026-01-01T00:00:00Z",
                d: &serde_json::value::to_raw_value(&serde_json::json!({"a": 1})).unwrap()
            }),
            r#"{"t":"ev","seq":1,"id":"i","type":"fact_update","ts":"2026-01-01T00:00:00Z","d":{"a":1}}"#
        );
        assert_eq!(text(ServerFrame::CaughtUp { seq: 4 }), r#"{"t":"caught_up","seq":4}"#);
        assert_eq!(
            text(ServerFrame::Welcome { v: 1, epoch: "e", head: 3, recovered: true, reason: None, ping_s: 4, max: MAX_FRAME_BYTES }),
            r#"{"t":"welcome","v":1,"epoch":"e","head":3,"recovered":true,"ping_s":4,"max":65536}"#
        );
    }
}
