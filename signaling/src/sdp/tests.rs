//! Tests of valid and invalid offers and fragments.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use proptest::prelude::*;

const LIMIT: usize = 16 * 1024;

fn chromium_offer() -> String {
    "v=0\r\no=- 4611731400430051336 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
     a=extmap-allow-mixed\r\na=msid-semantic: WMS\r\n\
     m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
     a=candidate:1 1 udp 2113937151 8.8.8.8 53 typ host\r\n\
     a=ice-ufrag:bk0/\r\na=ice-pwd:vLwEpeo/+yqcZqPLT8hRnQhm\r\na=ice-options:trickle\r\n\
     a=fingerprint:sha-256 49:66:12:17:0D:1C:91:AE:57:4C:C6:36:DD:D5:97:D2:7D:62:C9:9A:7F:B9:A3:F4:70:03:E7:43:91:73:23:5E\r\n\
     a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n"
        .to_owned()
}

/// Firefox puts the fingerprint at session level.
fn firefox_offer() -> String {
    "v=0\r\no=mozilla...THIS_IS_SDPARTA-99.0 5519 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n\
     a=sendrecv\r\na=fingerprint:sha-256 49:66:12:17:0d:1c:91:ae:57:4c:c6:36:dd:d5:97:d2:7d:62:c9:9a:7f:b9:a3:f4:70:03:e7:43:91:73:23:5e\r\n\
     a=group:BUNDLE 0\r\na=ice-options:trickle\r\na=msid-semantic:WMS *\r\n\
     m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=sendrecv\r\n\
     a=ice-pwd:f9b83487285016f7492197a5790ceee5\r\na=ice-ufrag:403a81e1\r\na=mid:0\r\n\
     a=setup:actpass\r\na=sctp-port:5000\r\na=max-message-size:1073741823\r\n"
        .to_owned()
}

fn code(sdp: &str) -> &'static str {
    Offer::parse(sdp, LIMIT).map_or_else(|error| error.code(), |_| "OK")
}

#[test]
fn offers_of_browsers_are_accepted() {
    let chromium = Offer::parse(&chromium_offer(), LIMIT).unwrap();
    assert_eq!(chromium.ice.fragment, "bk0/");
    let firefox = Offer::parse(&firefox_offer(), LIMIT).unwrap();
    assert_eq!(firefox.fingerprint, chromium.fingerprint);
    for offer in [chromium, firefox] {
        let written = offer.to_sdp(1);
        assert!(!written.contains("candidate"), "no candidate of a client is used");
        assert_eq!(Offer::parse(&written, LIMIT).unwrap(), offer);
    }
}

#[test]
fn invalid_offers_are_refused_with_their_code() {
    let with = |from: &str, to: &str| chromium_offer().replace(from, to);
    assert_eq!(code(""), "BAD_SDP");
    assert_eq!(code("hello"), "BAD_SDP");
    assert_eq!(code(&"v=0\n".repeat(600)), "BAD_SDP");
    assert_eq!(code("v=0\r\ns=-\r\n"), "NO_DATA_CHANNEL");
    assert_eq!(code(&with("m=application", "m=audio")), "NO_DATA_CHANNEL");
    assert_eq!(code(&with("application 9", "application 0")), "NO_DATA_CHANNEL");
    assert_eq!(code(&with("webrtc-datachannel", "5000")), "BAD_SDP");
    assert_eq!(code(&(chromium_offer() + "m=audio 9 x 1\r\n")), "BAD_SDP");
    assert_eq!(code(&with("a=ice-pwd", "a=other")), "BAD_SDP");
    assert_eq!(code(&with("vLwEpeo/", "v\"wEpeo ")), "BAD_SDP");
    assert_eq!(code(&with("49:66", "49-66")), "BAD_SDP");
    assert_eq!(code(&with("actpass", "passive")), "BAD_SDP");
    assert_eq!(code(&with("sctp-port:5000", "sctp-port:500000")), "BAD_SDP");
    assert_eq!(code(&with("mid:0", "mid:<b>")), "BAD_SDP");
    assert_eq!(code(&with("s=-", "s=\u{0}")), "BAD_SDP");
    assert_eq!(code(&"x".repeat(LIMIT + 1)), "OFFER_TOO_LARGE");
}

#[test]
fn answers_contain_only_public_addresses() {
    let public = ["203.0.113.5:3478".parse().unwrap(), "[2001:db8::1]:3478".parse().unwrap()];
    let answer = answer_for_client(&chromium_offer(), &public);
    let candidates: Vec<_> = answer.lines().filter(|line| line.contains("candidate")).collect();
    assert_eq!(
        candidates,
        [
            "a=candidate:1 1 udp 2130706431 203.0.113.5 3478 typ host",
            "a=candidate:2 1 udp 2130706175 2001:db8::1 3478 typ host",
            "a=end-of-candidates"
        ]
    );
}

#[test]
fn answers_allow_trickled_candidates() {
    let public = ["203.0.113.5:3478".parse().unwrap()];
    let options = |text: &str| text.lines().filter(|line| line.starts_with("a=ice-options:")).map(str::to_owned).collect::<Vec<_>>();
    let without = chromium_offer().replace("a=ice-options:trickle\r\n", "");
    for answer in [without.as_str(), &chromium_offer()] {
        let answer = answer_for_client(answer, &public);
        assert_eq!(options(&answer), ["a=ice-options:trickle"]);
        assert!(answer.find("a=ice-options") > answer.find("m=application"), "the attribute is in the media section");
    }
    let ice = IceCredentials { fragment: "abcd".into(), password: "x".repeat(22) };
    assert_eq!(options(&restart_fragment(&ice, "0", &public)), ["a=ice-options:trickle"]);
}

#[test]
fn fragments_are_parsed_and_checked() {
    let trickle = "a=ice-ufrag:bk0/\r\na=ice-pwd:vLwEpeo/+yqcZqPLT8hRnQhm\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=candidate:1 1 udp 1 a.local 9 typ host\r\n";
    let patch = Patch::parse(trickle, LIMIT).unwrap();
    assert_eq!(patch.candidates, 1);
    assert_eq!(patch.ice.unwrap().fragment, "bk0/");
    assert!(Patch::parse("a=end-of-candidates", LIMIT).is_ok());
    assert_eq!(Patch::parse("a=mid:0", LIMIT).unwrap_err().code(), "BAD_SDP_FRAGMENT");
    assert_eq!(Patch::parse("a=ice-ufrag:abcd", LIMIT).unwrap_err().code(), "BAD_SDP_FRAGMENT");
    assert_eq!(Patch::parse(trickle, 10).unwrap_err().code(), "FRAGMENT_TOO_LARGE");
}

proptest! {
    /// The parser of the WebRTC stack accepts every rewritten offer.
    #[test]
    fn accepted_offers_are_well_formed(
        cut in 0usize..900, insert in ".{0,12}", at in 0usize..900
    ) {
        let mut sdp: Vec<char> = chromium_offer().chars().collect();
        let at = at.min(sdp.len());
        sdp.splice(at..(at + cut % 8).min(sdp.len()), insert.chars());
        let sdp: String = sdp.into_iter().collect();
        if let Ok(offer) = Offer::parse(&sdp, LIMIT) {
            let written = offer.to_sdp(1);
            prop_assert_eq!(Offer::parse(&written, LIMIT).unwrap(), offer);
            prop_assert!(webrtc::peer_connection::RTCSessionDescription::offer(written).is_ok());
        }
    }

    #[test]
    fn parsing_any_text_never_panics(sdp in "\\PC{0,300}") {
        let _ = Offer::parse(&sdp, LIMIT);
        let _ = Patch::parse(&sdp, LIMIT);
        answer_for_client(&sdp, &[]);
    }
}
