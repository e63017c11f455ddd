//! Random identifiers that a stranger cannot guess.

use rtc::crypto::RTCCryptoProvider;

/// A peer id of 128 random bits in hexadecimal. It is part of the peer's URL, so guessing one would
/// allow to patch or delete a foreign peer where the caller's check of the stream is loose.
pub(crate) fn peer_id(crypto: &dyn RTCCryptoProvider) -> Option<String> {
    let mut bytes = [0u8; 16];
    crypto.random().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
