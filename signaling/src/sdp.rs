//! Parses the session descriptions of clients and writes the answers.
//!
//! Only a few checked values of a client's description are kept. The WebRTC stack gets a new
//! description, written from those values, so no other untrusted text reaches its parser. An ICE
//! restart uses the same values.
//!
//! Candidates of the client are ignored. The server learns addresses only from signed ICE checks, so
//! a client cannot make it send packets to a third party.

use std::net::SocketAddr;

use crate::error::{OfferError, PatchError};

/// Maximum number of lines. A description of one data channel has far fewer.
const MAX_LINES: usize = 512;
const DEFAULT_SCTP_PORT: u16 = 5000;
/// The maximum message size of a client that names none (RFC 8841, 6.1).
const DEFAULT_MAX_MESSAGE_SIZE: u64 = 65_536;
/// Allows both sides to send candidates later (RFC 8840, 4.1.1).
const ICE_OPTIONS: &str = "a=ice-options:trickle";
/// Length of a SHA-256 fingerprint: hexadecimal pairs with colons.
const FINGERPRINT_CHARS: usize = 32 * 3 - 1;

/// ICE credentials (RFC 8839, 5.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IceCredentials {
    /// User name fragment.
    pub fragment: String,
    /// Password.
    pub password: String,
}

/// The checked values of a client's offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The client's ICE credentials.
    pub ice: IceCredentials,
    fingerprint: String,
    active: bool,
    mid: String,
    sctp_port: u16,
    max_message_size: u64,
}

impl Offer {
    /// Parses and checks an offer.
    ///
    /// # Errors
    /// [`OfferError::TooLarge`], [`OfferError::BadSdp`], or [`OfferError::NoDataChannel`].
    pub fn parse(sdp: &str, max_bytes: usize) -> Result<Self, OfferError> {
        if sdp.len() > max_bytes {
            return Err(OfferError::TooLarge { limit: max_bytes });
        }
        let lines = lines(sdp).map_err(OfferError::BadSdp)?;
        if lines.first() != Some(&"v=0") {
            return Err(OfferError::BadSdp("it does not begin with v=0"));
        }
        let mut sections = lines.iter().enumerate().filter(|(_, line)| line.starts_with("m="));
        let Some((start, media)) = sections.next() else {
            return Err(OfferError::NoDataChannel);
        };
        if sections.next().is_some() {
            return Err(OfferError::BadSdp("it has more than one media section; offer one data channel only"));
        }
        check_media(media)?;
        let (session, media) = lines.split_at(start);
        // RFC 8839 and RFC 8122 allow these attributes at both levels; the media section takes precedence.
        let attribute = |name| attribute(media, name).or_else(|| attribute(session, name));
        let ice = credentials(attribute).map_err(OfferError::BadSdp)?.ok_or(OfferError::BadSdp("it has no ICE credentials"))?;
        let fingerprint = media
            .iter()
            .chain(session)
            .find_map(|line| sha256_fingerprint(line))
            .ok_or(OfferError::BadSdp("it has no SHA-256 fingerprint"))?;
        let active = match attribute("setup").ok_or(OfferError::BadSdp("it has no DTLS role"))? {
            "actpass" => false,
            "active" => true,
            _ => {
                return Err(OfferError::BadSdp("its DTLS role must be actpass or active"));
            }
        };
        let mid = attribute("mid").unwrap_or("0");
        if mid.is_empty() || mid.len() > 32 || !mid.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(OfferError::BadSdp("its media identification is not usable"));
        }
        Ok(Self {
            ice,
            fingerprint,
            active,
            mid: mid.to_owned(),
            sctp_port: number(attribute("sctp-port"), DEFAULT_SCTP_PORT)
                .filter(|port| *port > 0)
                .ok_or(OfferError::BadSdp("its SCTP port is not a number"))?,
            max_message_size: number(attribute("max-message-size"), DEFAULT_MAX_MESSAGE_SIZE)
                .ok_or(OfferError::BadSdp("its largest message is not a number"))?,
        })
    }

    /// Writes the description for the WebRTC stack. `generation` counts the ICE sessions of the peer.
    pub fn to_sdp(&self, generation: u32) -> String {
        let Self { ice, fingerprint, active, mid, sctp_port, max_message_size } = self;
        let setup = if *active { "active" } else { "actpass" };
        let (fragment, password) = (&ice.fragment, &ice.password);
        [
            "v=0".to_owned(),
            format!("o=- 1 {generation} IN IP4 127.0.0.1"),
            "s=-".to_owned(),
            "t=0 0".to_owned(),
            format!("a=group:BUNDLE {mid}"),
            "m=application 9 UDP/DTLS/SCTP webrtc-datachannel".to_owned(),
            "c=IN IP4 0.0.0.0".to_owned(),
            format!("a=ice-ufrag:{fragment}"),
            format!("a=ice-pwd:{password}"),
            ICE_OPTIONS.to_owned(),
            format!("a=fingerprint:sha-256 {fingerprint}"),
            format!("a=setup:{setup}"),
            format!("a=mid:{mid}"),
            format!("a=sctp-port:{sctp_port}"),
            format!("a=max-message-size:{max_message_size}"),
            String::new(),
        ]
        .join("\r\n")
    }
}

/// The checked values of an `application/trickle-ice-sdpfrag` (RFC 8840).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The client's ICE credentials. New ones request an ICE restart.
    pub ice: Option<IceCredentials>,
    /// Number of candidates.
    pub candidates: usize,
}

impl Patch {
    /// Parses and checks a fragment.
    ///
    /// # Errors
    /// [`PatchError::TooLarge`] or [`PatchError::BadFragment`].
    pub fn parse(fragment: &str, max_bytes: usize) -> Result<Self, PatchError> {
        if fragment.len() > max_bytes {
            return Err(PatchError::TooLarge { limit: max_bytes });
        }
        let lines = lines(fragment).map_err(PatchError::BadFragment)?;
        let candidates = lines.iter().filter(|line| line.starts_with("a=candidate:")).count();
        let ended = lines.contains(&"a=end-of-candidates");
        let ice = credentials(|name| attribute(&lines, name)).map_err(PatchError::BadFragment)?;
        if ice.is_none() && candidates == 0 && !ended {
            return Err(PatchError::BadFragment("it has neither candidates nor ICE credentials"));
        }
        Ok(Self { ice, candidates })
    }
}

/// Reads the ICE credentials of a description that the WebRTC stack wrote.
pub(crate) fn local_credentials(sdp: &str) -> Option<IceCredentials> {
    let lines = lines(sdp).ok()?;
    credentials(|name| attribute(&lines, name)).ok()?
}

/// Turns an answer of the WebRTC stack into the answer for the client.
///
/// The public addresses replace the stack's candidates, whose addresses do not exist. The option
/// `trickle` is added, because the stack omits it and a client may not trickle without it.
pub(crate) fn answer_for_client(answer: &str, public: &[SocketAddr]) -> String {
    let mut text = String::with_capacity(answer.len() + public.len() * 80);
    for line in answer.lines() {
        let is_replaced = ["a=candidate:", "a=ice-options:", "a=end-of-candidates"].iter().any(|start| line.starts_with(start));
        if !is_replaced {
            text.push_str(line);
            text.push_str("\r\n");
        }
    }
    // The only media section is last, so attributes at the end belong to it.
    text.push_str(ICE_OPTIONS);
    text.push_str("\r\n");
    push_candidates(&mut text, public);
    text
}

/// Writes the answer to an ICE restart as a fragment (RFC 8840, RFC 9725 4.3.3).
pub(crate) fn restart_fragment(ice: &IceCredentials, mid: &str, public: &[SocketAddr]) -> String {
    let (fragment, password) = (&ice.fragment, &ice.password);
    let mut text = format!(
        "a=ice-ufrag:{fragment}\r\na=ice-pwd:{password}\r\n{ICE_OPTIONS}\r\n\
         m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:{mid}\r\n"
    );
    push_candidates(&mut text, public);
    text
}

impl Offer {
    /// Media identification of the data channel's section.
    pub(crate) fn mid(&self) -> &str {
        &self.mid
    }
}

/// Appends host candidates in order of preference.
///
/// RFC 8445, 5.1.2.1: type preference 126, local preference descending from 65535, component 1.
fn push_candidates(text: &mut String, public: &[SocketAddr]) {
    for (index, address) in (0u32..).zip(public) {
        let priority = (126 << 24) + ((65_535 - index.min(65_535)) << 8) + 255;
        let foundation = index + 1;
        let (ip, port) = (address.ip(), address.port());
        text.push_str(&format!("a=candidate:{foundation} 1 udp {priority} {ip} {port} typ host\r\n"));
    }
    text.push_str("a=end-of-candidates\r\n");
}

fn lines(sdp: &str) -> Result<Vec<&str>, &'static str> {
    if sdp.bytes().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\r' | b'\n' | b'\t')) {
        return Err("it has control characters");
    }
    let lines: Vec<_> =
        sdp.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).filter(|line| !line.is_empty()).take(MAX_LINES + 1).collect();
    match lines.len() {
        0 => Err("it is empty"),
        count if count > MAX_LINES => Err("it has too many lines"),
        _ => Ok(lines),
    }
}

fn check_media(line: &str) -> Result<(), OfferError> {
    let mut words = line.trim_start_matches("m=").split(' ');
    let (kind, port, protocol, format) = (words.next(), words.next(), words.next(), words.next());
    if kind != Some("application") {
        return Err(OfferError::NoDataChannel);
    }
    if port == Some("0") {
        return Err(OfferError::NoDataChannel);
    }
    let protocol_known = matches!(protocol, Some("UDP/DTLS/SCTP" | "DTLS/SCTP" | "TCP/DTLS/SCTP"));
    if !protocol_known || format != Some("webrtc-datachannel") {
        return Err(OfferError::BadSdp("its media section is no WebRTC data channel over SCTP"));
    }
    Ok(())
}

fn attribute<'a>(lines: &[&'a str], name: &str) -> Option<&'a str> {
    lines.iter().find_map(|line| {
        let value = line.strip_prefix("a=")?.strip_prefix(name)?.strip_prefix(':')?;
        Some(value.trim())
    })
}

fn credentials<'a>(attribute: impl Fn(&'static str) -> Option<&'a str>) -> Result<Option<IceCredentials>, &'static str> {
    // RFC 8839, 5.4: ice-char; 4 to 256 and 22 to 256 of them.
    let valid = |text: &str, least: usize| {
        (least..=256).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
    };
    match (attribute("ice-ufrag"), attribute("ice-pwd")) {
        (None, None) => Ok(None),
        (Some(fragment), Some(password)) if valid(fragment, 4) && valid(password, 22) => {
            Ok(Some(IceCredentials { fragment: fragment.to_owned(), password: password.to_owned() }))
        }
        _ => Err("its ICE credentials are not valid"),
    }
}

fn sha256_fingerprint(line: &str) -> Option<String> {
    let (hash, value) = line.strip_prefix("a=fingerprint:")?.split_once(' ')?;
    let value = value.trim();
    let well_formed = value.len() == FINGERPRINT_CHARS
        && value.bytes().enumerate().all(|(index, byte)| match index % 3 {
            2 => byte == b':',
            _ => byte.is_ascii_hexdigit(),
        });
    (hash.eq_ignore_ascii_case("sha-256") && well_formed).then(|| value.to_ascii_uppercase())
}

fn number<T: std::str::FromStr>(text: Option<&str>, default: T) -> Option<T> {
    match text {
        Some(text) => text.parse().ok(),
        None => Some(default),
    }
}

#[cfg(test)]
mod tests;
