//! Parses the parts of STUN (RFC 8489) that the multiplexer needs to find the peer of a datagram.
//!
//! These are the header, the user name and the message integrity. The ICE agent handles the rest.
//! The input is untrusted, so nothing here may panic or allocate.

use rtc::crypto::{HmacAlgorithm, RTCCrypto};

const HEADER: usize = 20;
const MAGIC_COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
const BINDING_REQUEST: [u8; 2] = [0x00, 0x01];
const BINDING_SUCCESS: [u8; 2] = [0x01, 0x01];
const USERNAME: u16 = 0x0006;
const MESSAGE_INTEGRITY: u16 = 0x0008;
const USE_CANDIDATE: u16 = 0x0025;
const HMAC_SHA1_LENGTH: usize = 20;
/// Length of a transaction id in bytes.
pub(crate) const TRANSACTION_LENGTH: usize = 12;

/// Whether a datagram is STUN: first byte 0 to 3 (RFC 7983) and the magic cookie.
pub fn is_stun(datagram: &[u8]) -> bool {
    datagram.len() >= HEADER && datagram.first().is_some_and(|byte| *byte < 4) && datagram.get(4..8) == Some(&MAGIC_COOKIE)
}

/// Whether a STUN message is a binding request.
pub(crate) fn is_binding_request(datagram: &[u8]) -> bool {
    datagram.get(..2) == Some(&BINDING_REQUEST)
}

/// Whether a STUN message is a binding success response.
pub(crate) fn is_binding_success(datagram: &[u8]) -> bool {
    datagram.get(..2) == Some(&BINDING_SUCCESS)
}

/// The transaction id, which a request and its response share.
pub(crate) fn transaction_id(datagram: &[u8]) -> Option<[u8; TRANSACTION_LENGTH]> {
    datagram.get(HEADER - TRANSACTION_LENGTH..HEADER)?.try_into().ok()
}

/// Whether a request nominates its candidate pair.
pub(crate) fn nominates(datagram: &[u8]) -> bool {
    attribute(datagram, USE_CANDIDATE).is_some()
}

/// The ICE user name fragment of the recipient of a request.
///
/// It is the part of `USERNAME` before the colon (RFC 8445, 7.2.2).
pub fn recipient_fragment(datagram: &[u8]) -> Option<&str> {
    let (_, name) = attribute(datagram, USERNAME)?;
    std::str::from_utf8(name).ok()?.split(':').next()
}

/// Whether the sender of the message knows `password`.
///
/// RFC 8489, 14.5: HMAC-SHA1 over everything before the attribute, with a header length that ends
/// with the attribute.
pub(crate) fn has_integrity(datagram: &[u8], password: &str, crypto: &dyn RTCCrypto) -> bool {
    let Some((offset, tag)) = attribute(datagram, MESSAGE_INTEGRITY) else {
        return false;
    };
    if tag.len() != HMAC_SHA1_LENGTH {
        return false;
    }
    let covered_length = offset + 4 + HMAC_SHA1_LENGTH - HEADER;
    let Ok(length) = u16::try_from(covered_length) else {
        return false;
    };
    let (Some(kind), Some(rest)) = (datagram.get(..2), datagram.get(4..offset)) else {
        return false;
    };
    crypto
        .new_hmac(HmacAlgorithm::Sha1, password.as_bytes())
        .is_ok_and(|mut mac| mac.verify(&[kind, &length.to_be_bytes(), rest], tag).is_ok())
}

/// Offset and value of the first attribute of type `wanted`.
///
/// Attributes after MESSAGE-INTEGRITY are ignored, because it does not cover them.
fn attribute(datagram: &[u8], wanted: u16) -> Option<(usize, &[u8])> {
    let mut offset = HEADER;
    loop {
        let [t0, t1, l0, l1] = *datagram.get(offset..offset + 4)? else {
            return None;
        };
        let kind = u16::from_be_bytes([t0, t1]);
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let value = datagram.get(offset + 4..offset + 4 + length)?;
        if kind == wanted {
            return Some((offset, value));
        }
        if kind == MESSAGE_INTEGRITY {
            return None;
        }
        offset += 4 + length.next_multiple_of(4);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    /// A binding request for `user`, signed with `password`.
    pub(crate) fn request(user: &str, password: &str, nominate: bool) -> Vec<u8> {
        let provider = rtc::crypto::default_provider().unwrap();
        let mut datagram = vec![0, 1, 0, 0];
        datagram.extend(MAGIC_COOKIE);
        datagram.extend([7; 12]);
        let mut add = |kind: u16, value: &[u8]| {
            datagram.extend(kind.to_be_bytes());
            datagram.extend((value.len() as u16).to_be_bytes());
            datagram.extend(value);
            datagram.resize(datagram.len().next_multiple_of(4), 0);
        };
        add(USERNAME, user.as_bytes());
        if nominate {
            add(USE_CANDIDATE, &[]);
        }
        let length = (datagram.len() - HEADER + 24) as u16;
        datagram[2..4].copy_from_slice(&length.to_be_bytes());
        let mut tag = [0; 20];
        provider.crypto().new_hmac(HmacAlgorithm::Sha1, password.as_bytes()).unwrap().sign(&[&datagram], &mut tag).unwrap();
        datagram.extend(MESSAGE_INTEGRITY.to_be_bytes());
        datagram.extend(20u16.to_be_bytes());
        datagram.extend(tag);
        datagram
    }

    #[test]
    fn integrity_detects_every_altered_byte() {
        let provider = rtc::crypto::default_provider().unwrap();
        let datagram = request("server:client", "secret", true);
        assert!(is_stun(&datagram) && is_binding_request(&datagram) && nominates(&datagram));
        assert_eq!(recipient_fragment(&datagram), Some("server"));
        assert!(has_integrity(&datagram, "secret", provider.crypto()));
        assert!(!has_integrity(&datagram, "guess", provider.crypto()));
        for index in 0..datagram.len() - 20 {
            let mut altered = datagram.clone();
            altered[index] ^= 1;
            // Bytes 2 and 3 are the length, which the signature does not cover.
            if !(2..4).contains(&index) {
                assert!(!has_integrity(&altered, "secret", provider.crypto()), "byte {index}");
            }
        }
    }

    #[test]
    fn test_requests_are_valid_for_the_stun_library() {
        use rtc::stun::message::{Getter, Message};
        let datagram = request("server:client", "secret", false);
        let mut message = Message::new();
        message.unmarshal_binary(&datagram).unwrap();
        let mut name = rtc::stun::textattrs::Username::new(rtc::stun::attributes::ATTR_USERNAME, String::new());
        name.get_from(&message).unwrap();
        assert_eq!(name.text, "server:client");
        let provider = rtc::crypto::default_provider().unwrap();
        rtc::stun::integrity::MessageIntegrity::check(&mut message, b"secret", provider.crypto()).unwrap();
    }

    proptest! {
        #[test]
        fn parsing_any_datagram_never_panics(datagram in proptest::collection::vec(any::<u8>(), 0..200)) {
            let provider = rtc::crypto::default_provider().unwrap();
            is_stun(&datagram);
            recipient_fragment(&datagram);
            nominates(&datagram);
            prop_assert!(!has_integrity(&datagram, "secret", provider.crypto()));
        }

        #[test]
        fn parsing_altered_requests_never_panics(cut in 0usize..60, at in 0usize..60, byte in any::<u8>()) {
            let provider = rtc::crypto::default_provider().unwrap();
            let mut datagram = request("server:client", "secret", true);
            let index = at % datagram.len();
            datagram[index] = byte;
            datagram.truncate(datagram.len().saturating_sub(cut));
            recipient_fragment(&datagram);
            nominates(&datagram);
            has_integrity(&datagram, "secret", provider.crypto());
        }
    }
}
