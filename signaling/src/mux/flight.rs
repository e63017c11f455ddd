//! Retransmits the last DTLS flight to a peer when the peer repeats its own.
//!
//! RFC 6347, 4.2.4 requires this of a DTLS server. `rtc-dtls` 0.21 does it only after the handshake;
//! before that, a repeated client flight even stops its retransmission timer. So one lost datagram
//! with the ServerHello would leave both sides waiting forever. At 5 % loss this happened to about
//! one connection in twenty.

use std::sync::Arc;

/// Length of the record header (RFC 6347, 4.1). The fields of a handshake message follow (4.2.2).
const RECORD_HEADER: usize = 13;
const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Maximum number of datagrams. A flight has one or two, and a retransmission by the stack may double it.
const MAX_DATAGRAMS: usize = 8;
/// Maximum number of retransmissions per peer. A client that fails this often connects again.
const MAX_REPETITIONS: u32 = 20;

/// One write to the socket: a datagram, or several of the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) contents: Arc<[u8]>,
    pub(super) segment_size: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct LastFlight {
    sent: Vec<Sent>,
    /// Message number and fragment offset of the furthest handshake message received.
    furthest: Option<(u16, u32)>,
    /// The peer has sent its next flight, so the next datagram begins a new flight of ours.
    answered: bool,
    repetitions: u32,
    /// Application data was received, so the handshake is complete.
    complete: bool,
}

impl LastFlight {
    /// Records what was sent to the peer.
    pub(super) fn sent(&mut self, contents: &[u8], segment_size: Option<usize>) {
        let part_of_flight = matches!(contents.first(), Some(&(HANDSHAKE | CHANGE_CIPHER_SPEC)));
        if self.complete || !part_of_flight {
            return;
        }
        if std::mem::take(&mut self.answered) || self.sent.len() >= MAX_DATAGRAMS {
            self.sent.clear();
        }
        self.sent.push(Sent { contents: contents.into(), segment_size });
    }

    /// Records a datagram from the peer. Returns the flight to retransmit if the peer repeats its own.
    pub(super) fn received(&mut self, datagram: &[u8]) -> Vec<Sent> {
        if self.complete {
            return Vec::new();
        }
        if datagram.first() == Some(&APPLICATION_DATA) {
            *self = Self { complete: true, ..Self::default() };
            return Vec::new();
        }
        let Some(position) = message_position(datagram) else {
            return Vec::new();
        };
        if self.furthest.is_none_or(|furthest| position > furthest) {
            self.furthest = Some(position);
            self.answered = true;
            return Vec::new();
        }
        if self.repetitions >= MAX_REPETITIONS {
            return Vec::new();
        }
        self.repetitions += 1;
        self.sent.clone()
    }
}

/// Message number and fragment offset, if the datagram begins with an unencrypted handshake message.
fn message_position(datagram: &[u8]) -> Option<(u16, u32)> {
    let epoch = datagram.get(3..5)?;
    if datagram.first() != Some(&HANDSHAKE) || epoch != [0, 0] {
        return None;
    }
    let [_, _, _, _, s0, s1, o0, o1, o2] = *datagram.get(RECORD_HEADER..RECORD_HEADER + 9)? else {
        return None;
    };
    Some((u16::from_be_bytes([s0, s1]), u32::from_be_bytes([0, o0, o1, o2])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handshake record that carries message `number` from byte `offset` on.
    fn message(number: u8, offset: u8) -> Vec<u8> {
        let mut datagram = vec![HANDSHAKE, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        datagram.extend([1, 0, 0, 0, 0, number, 0, 0, offset, 0, 0, 0]);
        datagram
    }

    #[test]
    fn repeated_client_flight_retransmits_the_last_flight() {
        let mut flight = LastFlight::default();
        assert!(flight.received(&message(0, 0)).is_empty());
        flight.sent(b"\x16verify", None);
        assert_eq!(flight.received(&message(0, 0)).len(), 1);
        assert!(flight.received(&message(1, 0)).is_empty(), "the client sent its next flight");
        flight.sent(b"\x16hello", None);
        flight.sent(b"\x16certificate", Some(7));
        flight.sent(b"\x17data", None);
        flight.sent(b"\x00stun", None);
        let again = flight.received(&message(1, 0));
        let contents: Vec<_> = again.iter().map(|sent| &sent.contents[..]).collect();
        assert_eq!(contents, [&b"\x16hello"[..], b"\x16certificate"]);
        assert_eq!(again.last().map(|sent| sent.segment_size), Some(Some(7)));
        assert!(flight.received(&message(2, 0)).is_empty());
        assert!(flight.received(&message(2, 9)).is_empty(), "a further fragment");
        flight.sent(b"\x14finished", None);
        assert_eq!(flight.received(&message(2, 0)).len(), 1);
        assert!(flight.received(b"\x17data").is_empty());
        assert!(flight.received(&message(2, 0)).is_empty(), "the handshake is complete");
    }

    #[test]
    fn retransmissions_are_bounded() {
        let mut flight = LastFlight::default();
        flight.received(&message(0, 0));
        for _ in 0..100 {
            flight.sent(b"\x16hello", None);
        }
        let repeated: usize = (0..100).map(|_| flight.received(&message(0, 0)).len()).sum();
        assert!(repeated <= MAX_DATAGRAMS * MAX_REPETITIONS as usize);
        for length in 0..message(0, 0).len() {
            flight.received(message(9, 0).get(..length).unwrap_or_default());
        }
    }
}
