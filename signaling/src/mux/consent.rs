//! Whether an address has shown that it hears what is sent to it. Who knows a peer's password may still write another's address on
//! a request, so until then it is told no more than came from it.

use std::collections::VecDeque;

use crate::stun;

/// Checks of ours that may be answered.
const MAX_ASKED: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Consent {
    given: bool,
    heard: u64,
    told: u64,
    /// What the latest checks that were sent are known by. Nobody else than who got one can answer it.
    asked: VecDeque<[u8; stun::TRANSACTION_LENGTH]>,
    /// The latest check that was too much when it was to be sent. The stack would repeat it only after a pause.
    check: Option<Box<[u8]>>,
    /// The latest answer. A check is about as long as the request that leads to it, and both would be too much: the check goes
    /// first, and when that was answered the answer does, a way there and back later.
    answer: Option<Box<[u8]>>,
}

impl Consent {
    /// Something came from the address. Whether there is something [`Self::due`] now.
    pub(super) fn heard(&mut self, datagram: &[u8]) -> bool {
        if self.given {
            return false;
        }
        self.heard += datagram.len() as u64;
        if stun::is_stun(datagram)
            && stun::is_binding_success(datagram)
            && stun::transaction(datagram).is_some_and(|id| self.asked.contains(&id))
        {
            *self = Self { given: true, answer: self.answer.take(), ..Self::default() };
            return self.answer.is_some();
        }
        self.check.as_ref().is_some_and(|check| self.told + check.len() as u64 <= self.heard)
    }

    /// What was held back before.
    pub(super) fn due(&mut self) -> Option<Box<[u8]>> {
        if self.given { self.answer.take() } else { self.check.take() }
    }

    /// Whether this may be sent there; if so, it counts as sent.
    pub(super) fn allows(&mut self, datagrams: &[u8]) -> bool {
        if self.given {
            return true;
        }
        if stun::is_stun(datagrams) && stun::is_binding_success(datagrams) {
            self.answer = Some(datagrams.into());
            return false;
        }
        let told = self.told + datagrams.len() as u64;
        let check = stun::transaction(datagrams).filter(|_| stun::is_stun(datagrams) && stun::is_binding_request(datagrams));
        if told > self.heard {
            self.check = check.map(|_| datagrams.into()).or(self.check.take());
            return false;
        }
        self.told = told;
        if let Some(id) = check {
            self.asked.push_back(id);
            if self.asked.len() > MAX_ASKED {
                self.asked.pop_front();
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
    fn consent_is_an_answer_to_what_was_sent_there() {
        let mut consent = Consent::default();
        let check = request("client:server", "password", false);
        assert!(!consent.allows(&check), "nothing came yet");
        assert!(!consent.heard(&check[..30]), "not enough came");
        assert!(consent.heard(&check) && consent.due().as_deref() == Some(&check[..]), "what was held back is sent");
        assert!(consent.allows(&check) && !consent.heard(b""));
        consent.told = consent.heard;
        assert!(!consent.allows(b"x") && !consent.allows(&answer(&check)), "as much was sent as came");
        let mut other = answer(&check);
        other[8] ^= 1;
        consent.heard(&other);
        consent.heard(&answer(&check)[..20]);
        assert!(consent.given, "the head alone says so");
        assert_eq!(consent.due(), Some(answer(&check).into()), "what it had asked is answered now");
        assert!(consent.allows(&answer(&check)));
        let mut guessing = Consent::default();
        guessing.heard(&check);
        for byte in 0..=255 {
            other[9] = byte;
            guessing.heard(&other);
        }
        assert!(!guessing.given && guessing.allows(&check) && !guessing.allows(&vec![0; 100_000]));
    }

    proptest::proptest! {
        #[test]
        fn never_more_is_sent_than_came(steps in proptest::collection::vec((proptest::bool::ANY, 0usize..1500), 1..200)) {
            let mut consent = Consent::default();
            let (mut came, mut went) = (0, 0);
            for (comes, length) in steps {
                let datagram = vec![22; length];
                if comes {
                    consent.heard(&datagram);
                    came += length;
                } else if consent.allows(&datagram) {
                    went += length;
                }
                proptest::prop_assert!(went <= came);
            }
        }
    }
}
