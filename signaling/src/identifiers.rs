//! Random identifiers that cannot be guessed.

use rtc::crypto::RTCCryptoProvider;

/// Makes a peer id: 128 random bits in hexadecimal.
///
/// The id is part of the peer's URL. If it could be guessed and the application checked streams
/// loosely, a client could change or delete another client's peer.
pub(crate) fn peer_id(crypto: &dyn RTCCryptoProvider) -> Option<String> {
    let mut bytes = [0u8; 16];
    crypto.random().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
