//! Limits what is sent to an address until it has answered a check.
//!
//! A client that knows a peer's password can still forge the source address of a request. So until the
//! address has answered, it gets no more bytes than came from it.

use std::collections::VecDeque;

use crate::stun;

/// Maximum number of unanswered checks that are remembered.
const MAX_PENDING_CHECKS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Consent {
    /// Whether the address has answered a check.
    is_given: bool,
    bytes_received: u64,
    bytes_sent: u64,
    /// Transaction ids of the latest checks. Only their recipient can answer them.
    pending_checks: VecDeque<[u8; stun::TRANSACTION_LENGTH]>,
    /// The latest check that exceeded the limit. The stack would repeat it only after a pause.
    held_check: Option<Box<[u8]>>,
    /// The latest response to a request of the address.
    ///
    /// A check is about as long as the request that causes it, so check and response together exceed
    /// the limit. The check is sent first, and the response after the check was answered.
    held_response: Option<Box<[u8]>>,
}

impl Consent {
    /// Records a datagram from the address. Returns whether a held datagram is due ([`Self::take_due`]).
    pub(super) fn received(&mut self, datagram: &[u8]) -> bool {
        if self.is_given {
            return false;
        }
        self.bytes_received += datagram.len() as u64;
        if stun::is_stun(datagram)
            && stun::is_binding_success(datagram)
            && stun::transaction_id(datagram).is_some_and(|id| self.pending_checks.contains(&id))
        {
            *self = Self { is_given: true, held_response: self.held_response.take(), ..Self::default() };
            return self.held_response.is_some();
        }
        self.held_check.as_ref().is_some_and(|check| self.bytes_sent + check.len() as u64 <= self.bytes_received)
    }

    /// Takes the held datagram that may be sent now.
    pub(super) fn take_due(&mut self) -> Option<Box<[u8]>> {
        if self.is_given { self.held_response.take() } else { self.held_check.take() }
    }

    /// Whether a datagram may be sent to the address; if so, it counts as sent.
    pub(super) fn allows(&mut self, datagrams: &[u8]) -> bool {
        if self.is_given {
            return true;
        }
        if stun::is_stun(datagrams) && stun::is_binding_success(datagrams) {
            self.held_response = Some(datagrams.into());
            return false;
        }
        let bytes_sent = self.bytes_sent + datagrams.len() as u64;
        let check = stun::transaction_id(datagrams).filter(|_| stun::is_stun(datagrams) && stun::is_binding_request(datagrams));
        if bytes_sent > self.bytes_received {
            self.held_check = check.map(|_| datagrams.into()).or(self.held_check.take());
            return false;
        }
        self.bytes_sent = bytes_sent;
        if let Some(id) = check {
            self.pending_checks.push_back(id);
            if self.pending_checks.len() > MAX_PENDING_CHECKS {
                self.pending_checks.pop_front();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::stun::tests::request;

    fn answer(request: &[u8]) -> Vec<u8> {
        let mut answer = request.to_vec();
        answer[0] = 1;
        answer
    }

    #[test]
    fn only_an_answered_check_gives_consent() {
        let mut consent = Consent::default();
        let check = request("client:server", "password", false);
        assert!(!consent.allows(&check), "nothing was received yet");
        assert!(!consent.received(&check[..30]), "not enough was received");
        assert!(consent.received(&check) && consent.take_due().as_deref() == Some(&check[..]), "the held check is due");
        assert!(consent.allows(&check) && !consent.received(b""));
        consent.bytes_sent = consent.bytes_received;
        assert!(!consent.allows(b"x") && !consent.allows(&answer(&check)), "the limit is reached");
        let mut other = answer(&check);
        other[8] ^= 1;
        consent.received(&other);
        consent.received(&answer(&check)[..20]);
        assert!(consent.is_given, "the header alone gives consent");
        assert_eq!(consent.take_due(), Some(answer(&check).into()), "the held response is due");
        assert!(consent.allows(&answer(&check)));
        let mut guessing = Consent::default();
        guessing.received(&check);
        for byte in 0..=255 {
            other[9] = byte;
            guessing.received(&other);
        }
        assert!(!guessing.is_given && guessing.allows(&check) && !guessing.allows(&vec![0; 100_000]));
    }

    proptest::proptest! {
        #[test]
        fn bytes_sent_never_exceed_bytes_received(steps in proptest::collection::vec((proptest::bool::ANY, 0usize..1500), 1..200)) {
            let mut consent = Consent::default();
            let (mut received, mut sent) = (0, 0);
            for (is_incoming, length) in steps {
                let datagram = vec![22; length];
                if is_incoming {
                    consent.received(&datagram);
                    received += length;
                } else if consent.allows(&datagram) {
                    sent += length;
                }
                proptest::prop_assert!(sent <= received);
            }
        }
    }
}
