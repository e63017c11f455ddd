//! The frames of `recall.events.v1`: JSON texts, named by their field `t`.
//! This module only reads and writes them; what they mean is in the README and in [`crate::hub`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The protocol version of this crate.
pub const PROTOCOL_VERSION: u32 = 1;
/// The largest frame either side may send, in bytes.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;
/// The longest stream name or epoch that is read, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFrame {
    /// The first frame: which stream, and from where on.
    Hello {
        /// Protocol version the client speaks.
        v: u32,
        /// Name of the stream.
        stream: String,
        /// Where the client stopped; `None`: live from the head on.
        resume: Option<ResumePoint>,
    },
    /// Everything up to `seq` has been handled.
    Ack {
        /// The last handled sequence number.
        seq: u64,
    },
    /// Answer to a ping.
    Pong,
    /// A frame of a later protocol, to be ignored.
    Unknown,
}

/// Where a client stopped reading.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ResumePoint {
    /// Epoch of the log that was read.
    pub epoch: String,
    /// The last sequence number that was seen.
    pub seq: u64,
}

/// Why a client's frame was not understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than [`MAX_FRAME_BYTES`].
    #[error("a frame may have at most {MAX_FRAME_BYTES} bytes")]
    TooLarge,
    /// Not a JSON object in UTF-8 with a text field `t`.
    #[error("a frame is a JSON object with a field `t`")]
    NotAFrame,
    /// A known frame with missing or wrong fields.
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
    // Not defaulted: a client that forgets `resume` would silently lose what it missed.
    #[serde(deserialize_with = "Option::deserialize")]
    resume: Option<ResumePoint>,
}

#[derive(Deserialize)]
struct AckFields {
    seq: u64,
}

impl ClientFrame {
    /// Reads one frame. Unknown frames and unknown fields are accepted, so that the protocol can
    /// grow; known fields must be right.
    pub fn parse(bytes: &[u8]) -> Result<Self, FrameError> {
        if bytes.len() > MAX_FRAME_BYTES {
            return Err(FrameError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| FrameError::NotAFrame)?;
        // Serde would read the array ["ack"] as a struct; a frame is an object.
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

/// What the server says.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ServerFrame<'a> {
    /// Always the first frame.
    Welcome {
        /// Protocol version of the server.
        v: u32,
        /// Epoch of the log.
        epoch: &'a str,
        /// Highest sequence number now.
        head: u64,
        /// Whether everything after the resume point will follow.
        recovered: bool,
        /// Why not.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<NotRecovered>,
        /// Seconds between pings.
        ping_s: u64,
        /// Largest frame in bytes.
        max: usize,
    },
    /// A numbered event.
    Ev {
        /// Its number.
        seq: u64,
        /// Its identity.
        id: &'a str,
        /// Its type.
        r#type: &'a str,
        /// When it was committed, RFC 3339.
        ts: &'a str,
        /// Its content.
        d: &'a serde_json::Value,
    },
    /// An event without number, which may be lost.
    Eph {
        /// Its type.
        r#type: &'a str,
        /// Its content.
        d: &'a serde_json::Value,
    },
    /// The replay has reached the head.
    CaughtUp {
        /// The last sequence number sent.
        seq: u64,
    },
    /// Events `from..=to` cannot be sent; refetch, then go on after `to`.
    Gap {
        /// First missing number.
        from: u64,
        /// Last missing number.
        to: u64,
        /// Why.
        reason: GapReason,
    },
    /// A sign of life, to be answered with a pong.
    Ping {
        /// Highest sequence number now.
        head: u64,
    },
    /// The last frame.
    Bye(Bye),
}

impl ServerFrame<'_> {
    /// The frame as JSON text.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Why a subscriber's resume point could not be continued. A gap always follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotRecovered {
    /// The log was rebuilt since.
    EpochChanged,
    /// The resume point is after the head of the log.
    AheadOfLog,
    /// Events after the resume point have been removed from the log.
    Expired,
}

/// Why events are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// The log was rebuilt: all of it must be fetched anew.
    EpochChanged,
    /// The client knew more than the log: all of it must be fetched anew.
    AheadOfLog,
    /// The events have been removed from the log.
    Expired,
    /// The log has no entry of that number.
    Missing,
    /// The event does not fit into a frame.
    TooLarge,
}

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ByeCode {
    /// The client took nothing for too long.
    Slow,
    /// The client's permission has ended.
    AuthExpired,
    /// The server restarts, or the log was rebuilt.
    Restart,
    /// Another connection has taken this one's place.
    Superseded,
    /// The stream was deleted.
    Deleted,
    /// The client broke the protocol.
    Protocol,
    /// The client said no hello in time.
    Timeout,
    /// The log could not be read.
    Unavailable,
}

impl ByeCode {
    /// The code as it is written in frames and metrics.
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

/// How a client broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolError {
    /// A frame longer than [`MAX_FRAME_BYTES`].
    FrameTooLarge,
    /// A binary frame.
    BinaryFrame,
    /// A frame that is no JSON object with a text field `t`.
    NotAFrame,
    /// A known frame with missing or wrong fields.
    WrongFields,
    /// Another frame before the hello.
    HelloExpected,
    /// A second hello.
    SecondHello,
    /// A protocol version that the server does not speak.
    UnsupportedVersion,
    /// The name of another stream than the offer was made for.
    WrongStream,
    /// An acknowledgement of an event that was not sent.
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

/// The last word to a client, with the advice whether to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bye {
    /// Why.
    pub code: ByeCode,
    /// What exactly, for [`ByeCode::Protocol`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<ProtocolError>,
    /// Whether the client should connect again by itself.
    pub reconnect: bool,
    /// After how many milliseconds, at the earliest.
    pub after_ms: u64,
}

impl From<ByeCode> for Bye {
    /// The usual advice for a code: come back where time heals, stay away where a person must act.
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
    fn reads_the_frames_of_the_protocol() {
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
    fn refuses_what_is_broken() {
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
    fn writes_the_frames_of_the_protocol() {
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
            text(ServerFrame::Ev { seq: 1, id: "i", r#type: "fact_update", ts: "2026-01-01T00:00:00Z", d: &serde_json::json!({"a": 1}) }),
            r#"{"t":"ev","seq":1,"id":"i","type":"fact_update","ts":"2026-01-01T00:00:00Z","d":{"a":1}}"#
        );
        assert_eq!(text(ServerFrame::CaughtUp { seq: 4 }), r#"{"t":"caught_up","seq":4}"#);
        assert_eq!(
            text(ServerFrame::Welcome { v: 1, epoch: "e", head: 3, recovered: true, reason: None, ping_s: 4, max: MAX_FRAME_BYTES }),
            r#"{"t":"welcome","v":1,"epoch":"e","head":3,"recovered":true,"ping_s":4,"max":65536}"#
        );
    }
}
