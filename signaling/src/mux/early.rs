//! DTLS handshake datagrams that came before the stack takes them, to be presented again.
//!
//! `rtc` 0.21 drops DTLS until the client has nominated a candidate pair. Clients such as libdatachannel begin the handshake as
//! soon as a pair works and nominate it afterwards. They repeat a lost ClientHello only after a second (RFC 6347, 4.2.4.1).

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::flight::HANDSHAKE;

/// Datagrams that are kept: a ClientHello has one or two, and the client may have repeated it.
const MAX_KEPT: usize = 8;
/// Addresses from which a check of ours was answered.
const MAX_CHECKED: usize = 16;

/// A datagram and where it came from.
pub(super) type Datagram = (SocketAddr, Box<[u8]>);

#[derive(Debug, Default)]
pub(super) struct Early {
    checked: VecDeque<SocketAddr>,
    kept: Vec<Datagram>,
    /// The stack takes DTLS from now on.
    nominated: bool,
}

impl Early {
    /// Keeps a datagram that the stack will drop.
    pub(super) fn keep(&mut self, from: SocketAddr, datagram: &[u8]) {
        let begins_handshake = datagram.first() == Some(&HANDSHAKE);
        if begins_handshake && !self.nominated && self.kept.len() < MAX_KEPT {
            self.kept.push((from, datagram.into()));
        }
    }

    /// A check of ours was answered from an address: the pair works.
    pub(super) fn checked(&mut self, from: SocketAddr) {
        if self.nominated || self.checked.contains(&from) {
            return;
        }
        if self.checked.len() >= MAX_CHECKED {
            self.checked.pop_front();
        }
        self.checked.push_back(from);
    }

    /// The client nominates the pair of an address. What is to be presented behind its request: the stack selects a pair that
    /// works, and ignores the nomination of another.
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
    fn handshake_is_presented_once_behind_the_nomination() {
        let mut early = Early::default();
        early.keep(address(1), &[HANDSHAKE, 1]);
        early.keep(address(1), b"\x17application data");
        assert!(early.nominate(address(1)).is_empty(), "the pair is not known to work");
        early.checked(address(1));
        assert!(early.nominate(address(2)).is_empty(), "that is another pair");
        assert_eq!(early.nominate(address(1)), [(address(1), [HANDSHAKE, 1].into())]);
        early.keep(address(1), &[HANDSHAKE, 2]);
        assert!(early.nominate(address(1)).is_empty(), "the stack takes everything by now");
    }

    #[test]
    fn is_bounded() {
        let mut early = Early::default();
        for port in 1..=200 {
            early.keep(address(port), &[HANDSHAKE; 1500]);
            early.checked(address(port));
        }
        assert_eq!(early.checked.len(), MAX_CHECKED);
        assert_eq!(early.nominate(address(200)).len(), MAX_KEPT);
    }
}
