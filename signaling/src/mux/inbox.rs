//! The bounded queue of datagrams for one peer, and the state that the multiplexer keeps for it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

use super::early::{Datagram, Early};
use super::flight::{LastFlight, Sent};
use crate::stun;
use parking_lot::Mutex;

/// Maximum number of queued datagrams. Further ones are dropped, as by a kernel socket.
const MAX_WAITING: usize = 256;
/// First byte of a DTLS record with application data (RFC 7983, RFC 6347). It means that the
/// connection is up.
const DTLS_APPLICATION_DATA: u8 = 23;

/// The result of [`Inbox::push`].
pub(super) enum Pushed {
    /// The datagram was queued. The caller wakes this reader and retransmits this flight.
    Queued(Option<Waker>, Vec<Sent>),
    /// The queue is full or closed.
    Full,
}

#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Datagram>,
    reader: Option<Waker>,
    nomination: Nomination,
    early: Early,
    flight: LastFlight,
    fragments: VecDeque<String>,
    addresses: VecDeque<SocketAddr>,
    closed: bool,
}

/// A nomination to deliver again after the first success response.
///
/// `rtc-ice` 0.21 ignores a request with USE-CANDIDATE that arrives before its own check of the pair
/// has succeeded. The connection would then wait about 100 ms for the browser's next request.
#[derive(Debug, Default)]
enum Nomination {
    #[default]
    None,
    Request(SocketAddr, Box<[u8]>),
    /// The connection is up. Later requests only keep it alive.
    Done,
}

impl State {
    /// Queues the early DTLS datagrams after the nomination that was queued last.
    fn queue_early(&mut self, from: SocketAddr) {
        let early = self.early.nominate(from);
        self.waiting.extend(early);
    }
}

impl Inbox {
    /// Queues a datagram for the peer.
    pub(super) fn push(&self, from: SocketAddr, datagram: &[u8]) -> Pushed {
        let mut state = self.0.lock();
        if state.closed || state.waiting.len() >= MAX_WAITING {
            return Pushed::Full;
        }
        state.waiting.push_back((from, datagram.into()));
        let mut again = Vec::new();
        if stun::is_stun(datagram) {
            if stun::is_binding_request(datagram) {
                if stun::nominates(datagram) && !matches!(state.nomination, Nomination::Done) {
                    state.nomination = Nomination::Request(from, datagram.into());
                    state.queue_early(from);
                }
            } else if stun::is_binding_success(datagram) {
                state.early.checked(from);
                if let Nomination::Request(address, _) = &state.nomination
                    && *address == from
                    && let Nomination::Request(address, request) = std::mem::take(&mut state.nomination)
                {
                    state.waiting.push_back((address, request));
                    state.queue_early(from);
                }
            }
        } else {
            if datagram.first() == Some(&DTLS_APPLICATION_DATA) {
                state.nomination = Nomination::Done;
            }
            state.early.keep(from, datagram);
            again = state.flight.received(datagram);
        }
        Pushed::Queued(state.reader.take(), again)
    }

    /// Records what was sent to the peer.
    pub(super) fn sent(&self, contents: &[u8], segment_size: Option<usize>) {
        self.0.lock().flight.sent(contents, segment_size);
    }

    /// Moves the oldest datagram into `buffer`. Returns its length and source.
    pub(super) fn poll_take(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<(usize, SocketAddr)> {
        let mut state = self.0.lock();
        let Some((from, datagram)) = state.waiting.pop_front() else {
            state.reader = Some(context.waker().clone());
            // Free the memory of a burst.
            if state.waiting.capacity() > 32 {
                state.waiting.shrink_to(8);
            }
            return Poll::Pending;
        };
        let length = datagram.len().min(buffer.len());
        if let (Some(target), Some(source)) = (buffer.get_mut(..length), datagram.get(..length)) {
            target.copy_from_slice(source);
        }
        Poll::Ready((length, from))
    }

    /// Adds an address of this peer. Returns the oldest address if there are more than `max`.
    pub(super) fn add_address(&self, address: SocketAddr, max: usize) -> Option<SocketAddr> {
        let mut state = self.0.lock();
        if !state.addresses.contains(&address) {
            state.addresses.push_back(address);
        }
        match state.addresses.len() > max {
            true => state.addresses.pop_front(),
            false => None,
        }
    }

    /// Adds new ICE credentials and waits for a nomination again.
    ///
    /// Returns the oldest credentials if there are more than `max`.
    pub(super) fn restart(&self, fragment: &str, max: usize) -> Option<String> {
        let mut state = self.0.lock();
        state.nomination = Nomination::None;
        state.early = Early::default();
        state.fragments.push_back(fragment.to_owned());
        match state.fragments.len() > max {
            true => state.fragments.pop_front(),
            false => None,
        }
    }

    /// Closes the inbox. Returns the credentials and addresses of the peer.
    pub(super) fn close(&self) -> (VecDeque<String>, VecDeque<SocketAddr>) {
        let mut state = self.0.lock();
        state.closed = true;
        state.waiting = VecDeque::new();
        state.early = Early::default();
        (std::mem::take(&mut state.fragments), std::mem::take(&mut state.addresses))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::stun::tests::request;

    fn drain(inbox: &Inbox) -> Vec<Vec<u8>> {
        let mut context = Context::from_waker(Waker::noop());
        let mut buffer = [0; 1500];
        let mut all = vec![];
        while let Poll::Ready((length, _)) = inbox.poll_take(&mut context, &mut buffer) {
            all.push(buffer[..length].to_vec());
        }
        all
    }

    #[test]
    fn nomination_is_repeated_after_the_first_success() {
        let inbox = Inbox::default();
        let from = "127.0.0.1:9".parse().unwrap();
        let nominating = request("a:b", "p", true);
        let mut success = request("a:b", "p", false);
        success[0] = 1;
        inbox.push(from, &nominating);
        inbox.push(from, &success);
        inbox.push(from, &success);
        assert_eq!(drain(&inbox), [nominating.clone(), success.clone(), nominating.clone(), success.clone()]);
        inbox.push(from, &[DTLS_APPLICATION_DATA, 1, 2]);
        inbox.push(from, &nominating);
        inbox.push(from, &success);
        assert_eq!(drain(&inbox).len(), 3, "an open connection needs no repetition");
        inbox.restart("c", 2);
        inbox.push(from, &nominating);
        inbox.push(from, &success);
        assert_eq!(drain(&inbox).len(), 3, "an ICE restart needs it again");
    }

    #[test]
    fn early_handshake_is_repeated_after_the_nomination() {
        let from = "127.0.0.1:9".parse().unwrap();
        let (nominating, hello) = (request("a:b", "p", true), b"\x16hello".to_vec());
        let mut success = request("a:b", "p", false);
        success[0] = 1;
        // The order of libdatachannel: check, handshake, nomination.
        let inbox = Inbox::default();
        for datagram in [&success, &hello, &nominating, &nominating] {
            inbox.push(from, datagram);
        }
        assert_eq!(drain(&inbox), [success.clone(), hello.clone(), nominating.clone(), hello.clone(), nominating.clone()]);
        // A nomination before the answered check counts after it.
        let inbox = Inbox::default();
        for datagram in [&hello, &nominating, &success] {
            inbox.push(from, datagram);
        }
        assert_eq!(drain(&inbox), [hello.clone(), nominating.clone(), success.clone(), nominating.clone(), hello.clone()]);
    }

    #[test]
    fn queue_and_addresses_are_bounded() {
        let inbox = Inbox::default();
        let from = "127.0.0.1:9".parse().unwrap();
        for _ in 0..10 * MAX_WAITING {
            inbox.push(from, &[0; 100]);
        }
        assert_eq!(drain(&inbox).len(), MAX_WAITING);
        let forgotten: Vec<_> = (1..=40u16).filter_map(|port| inbox.add_address(SocketAddr::from(([127, 0, 0, 1], port)), 16)).collect();
        assert_eq!(forgotten.len(), 24);
    }
}
