//! Fuzz targets for everything that parses a stranger's bytes.
//! As ordinary tests they run briefly; `cargo bolero test -p recall-signaling NAME` runs one without limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use signaling::{ClientFrame, Cursor, MAX_FRAME_BYTES, Offer, Patch, fuzzing};

const ITERATIONS: usize = 20_000;
const LIMIT: usize = 16 * 1024;

const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:bk0/\r\n\
    a=ice-pwd:vLwEpeo/+yqcZqPLT8hRnQhm\r\na=fingerprint:sha-256 49:66:12:17:0D:1C:91:AE:57:4C:C6:36:DD:D5:97:D2:7D:62:C9:9A:7F:B9:A3:F4:70:03:E7:43:91:73:23:5E\r\n\
    a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n";
const HELLO: &str = r#"{"t":"hello","v":1,"stream":"s","resume":{"epoch":"e","seq":7}}"#;

/// Applies edits to `seed`, four bytes each: position, number of bytes to remove, and a byte to insert.
/// Random bytes alone never get past the first check of a parser.
fn edited(seed: &str, bytes: &[u8]) -> Vec<u8> {
    let mut text = seed.as_bytes().to_vec();
    for edit in bytes.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % (text.len() + 1);
        let end = (at + usize::from(edit[2] % 8)).min(text.len());
        text.splice(at..end, [edit[3]]);
    }
    text
}

#[test]
fn fuzz_client_frame() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        for text in [bytes.to_vec(), edited(HELLO, bytes)] {
            if let Ok(ClientFrame::Hello { stream, .. }) = ClientFrame::parse(&text) {
                assert!(stream.len() < text.len() && text.len() <= MAX_FRAME_BYTES);
            }
        }
    });
}

#[test]
fn fuzz_offer() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        for text in [bytes.to_vec(), edited(OFFER, bytes)] {
            let text = String::from_utf8_lossy(&text);
            if let Ok(offer) = Offer::parse(&text, LIMIT) {
                // An accepted offer round-trips: written again, it parses the same.
                let written = offer.to_sdp(1);
                assert_eq!(Offer::parse(&written, LIMIT).unwrap(), offer);
                webrtc::peer_connection::RTCSessionDescription::offer(written).unwrap();
            }
            let _ = Patch::parse(&text, LIMIT);
        }
    });
}

#[test]
fn fuzz_stun() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let mut request = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
        request.extend_from_slice(bytes);
        for datagram in [bytes, &request] {
            if let Some(name) = fuzzing::recipient_fragment(datagram) {
                assert!(name.len() < datagram.len() && !name.contains(':'));
            }
            fuzzing::is_stun(datagram);
        }
    });
}

#[test]
fn fuzz_cursor() {
    bolero::check!().with_iterations(ITERATIONS).for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(cursor) = text.parse::<Cursor>() {
            assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
        }
    });
}
