//! Keeps DTLS handshake datagrams that arrive too early for the stack, to deliver them again later.
//!
//! `rtc` 0.21 drops DTLS until the client has nominated a candidate pair. Clients such as libdatachannel begin the handshake as
//! soon as a pair works and nominate it afterwards. They repeat a lost ClientHello only after a second (RFC 6347, 4.2.4.1).

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::flight::HANDSHAKE;

/// Maximum number of datagrams: a ClientHello has one or two, and the client may have repeated it.
const MAX_KEPT: usize = 8;
/// Maximum number of addresses that have answered a check.
const MAX_CHECKED: usize = 16;

/// A datagram and its source address.
pub(super) type Datagram = (SocketAddr, Box<[u8]>);

#[derive(Debug, Default)]
pub(super) struct Early {
    checked: VecDeque<SocketAddr>,
    kept: Vec<Datagram>,
    /// The client has nominated a pair, so the stack accepts DTLS.
    nominated: bool,
}

impl Early {
    /// Keeps a handshake datagram that the stack will drop.
    pub(super) fn keep(&mut self, from: SocketAddr, datagram: &[u8]) {
        let begins_handshake = datagram.first() == Some(&HANDSHAKE);
        if begins_handshake && !self.nominated && self.kept.len() < MAX_KEPT {
            self.kept.push((from, datagram.into()));
        }
    }

    /// Records that an address has answered a check, so its candidate pair works.
    pub(super) fn checked(&mut self, from: SocketAddr) {
        if self.nominated || self.checked.contains(&from) {
            return;
        }
        if self.checked.len() >= MAX_CHECKED {
            self.checked.pop_front();
        }
        self.checked.push_back(from);
    }

    /// Records the nomination of an address. Returns the datagrams to deliver again after it.
    ///
    /// There are none if the pair does not work yet, because the stack ignores such a nomination.
    pub(super) fn nominate(&mut self, from: SocketAddr) -> Vec<Datagram> {
        if self.nominated || !self.checked.contains(&from) {
            return Vec::new();
        }
        self.nominated = true;
        self.checked = VecDeque::new();
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn handshake_is_delivered_once_after_the_nomination() {
        let mut early = Early::default();
        early.keep(address(1), &[HANDSHAKE, 1]);
        early.keep(address(1), b"\x17application data");
        assert!(early.nominate(address(1)).is_empty(), "the pair is not known to work");
        early.checked(address(1));
        assert!(early.nominate(address(2)).is_empty(), "this is another pair");
        assert_eq!(early.nominate(address(1)), [(address(1), [HANDSHAKE, 1].into())]);
        early.keep(address(1), &[HANDSHAKE, 2]);
        assert!(early.nominate(address(1)).is_empty(), "the stack accepts DTLS now");
    }

    #[test]
    fn kept_datagrams_and_addresses_are_bounded() {
        let mut early = Early::default();
        for port in 1..=200 {
            early.keep(address(port), &[HANDSHAKE; 1500]);
            early.checked(address(port));
        }
        assert_eq!(early.checked.len(), MAX_CHECKED);
        assert_eq!(early.nominate(address(200)).len(), MAX_KEPT);
    }
}
