//! The table of peers: by id, with limits in total and per stream.
//!
//! Invariant: a peer counts from its admission until its [`Handle`] is dropped. So concurrent offers
//! cannot exceed the limits, and no count leaks.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::source::EventSource;

/// The key under which peers are counted and found: stream and follower.
pub(super) type PeerScope<S> = (<S as EventSource>::Stream, u128);

pub(super) fn peer_scope<S: EventSource>(stream: &S::Stream) -> PeerScope<S> {
    (stream.clone(), S::follower(stream))
}

/// Why a peer was not admitted.
pub(super) enum AdmissionError {
    /// The total limit is reached.
    Full,
    /// The limit of the stream is reached.
    StreamFull,
}

pub(super) struct Admission<K, R> {
    max_peers: usize,
    max_per_stream: usize,
    table: Mutex<Table<K, R>>,
}

struct Table<K, R> {
    peers: HashMap<String, Entry<K, R>>,
    per_stream: HashMap<K, usize>,
}

struct Entry<K, R> {
    stream: K,
    close: CancellationToken,
    /// `None` until the offer is answered.
    record: Option<Arc<R>>,
}

/// One admitted peer. Dropping it removes the peer from the table.
pub(super) struct Handle<K: Eq + Hash, R> {
    admission: Arc<Admission<K, R>>,
    peer_id: String,
    pub(super) close: CancellationToken,
}

impl<K: Clone + Eq + Hash, R> Admission<K, R> {
    pub(super) fn new(max_peers: usize, max_per_stream: usize) -> Self {
        Self { max_peers, max_per_stream, table: Mutex::new(Table { peers: HashMap::new(), per_stream: HashMap::new() }) }
    }

    pub(super) fn peers(&self) -> usize {
        self.table.lock().peers.len()
    }

    /// Adds a peer, unless a limit is reached.
    pub(super) fn admit(self: &Arc<Self>, stream: K, peer_id: String) -> Result<Handle<K, R>, AdmissionError> {
        let close = CancellationToken::new();
        let mut table = self.table.lock();
        if table.peers.len() >= self.max_peers {
            return Err(AdmissionError::Full);
        }
        let of_stream = table.per_stream.get(&stream).copied().unwrap_or_default();
        if of_stream >= self.max_per_stream {
            return Err(AdmissionError::StreamFull);
        }
        table.per_stream.insert(stream.clone(), of_stream + 1);
        let entry = Entry { stream, close: close.clone(), record: None };
        table.peers.insert(peer_id.clone(), entry);
        Ok(Handle { admission: self.clone(), peer_id, close })
    }

    /// Finds the record of a peer of this stream.
    pub(super) fn find(&self, stream: &K, peer_id: &str) -> Option<Arc<R>> {
        let table = self.table.lock();
        let entry = table.peers.get(peer_id)?;
        (entry.stream == *stream).then(|| entry.record.clone())?
    }

    /// Tells a peer to close. Returns false if this stream has no such peer.
    pub(super) fn close(&self, stream: &K, peer_id: &str) -> bool {
        let table = self.table.lock();
        match table.peers.get(peer_id) {
            Some(entry) if entry.stream == *stream => {
                entry.close.cancel();
                true
            }
            _ => false,
        }
    }
}

impl<K: Eq + Hash, R> Handle<K, R> {
    /// Makes the record of the peer visible to [`Admission::find`].
    pub(super) fn publish(&self, record: Arc<R>) {
        if let Some(entry) = self.admission.table.lock().peers.get_mut(&self.peer_id) {
            entry.record = Some(record);
        }
    }
}

impl<K: Eq + Hash, R> Drop for Handle<K, R> {
    fn drop(&mut self) {
        // Dropped outside the lock: dropping a peer's connection could take the same lock again.
        let _removed = {
            let mut table = self.admission.table.lock();
            let removed = table.peers.remove(&self.peer_id);
            if let Some(entry) = &removed
                && let Some(count) = table.per_stream.get_mut(&entry.stream)
            {
                *count -= 1;
                if *count == 0 {
                    table.per_stream.remove(&entry.stream);
                }
            }
            removed
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn peer_counts_from_admission_to_drop() {
        let admission = Arc::new(Admission::<&str, ()>::new(3, 2));
        let admit = |stream, id: &str| admission.admit(stream, id.to_owned());
        let first = admit("a", "1").ok().unwrap();
        let _second = admit("a", "2").ok().unwrap();
        assert!(matches!(admit("a", "3"), Err(AdmissionError::StreamFull)));
        let third = admit("b", "3").ok().unwrap();
        assert!(matches!(admit("b", "4"), Err(AdmissionError::Full)));
        assert!(admission.find(&"a", "1").is_none(), "the offer is not answered yet");
        first.publish(Arc::new(()));
        assert!(admission.find(&"a", "1").is_some());
        assert!(admission.find(&"b", "1").is_none(), "the peer belongs to another stream");
        assert!(!admission.close(&"b", "1"));
        assert!(admission.close(&"a", "1") && first.close.is_cancelled());
        drop(first);
        drop(third);
        assert_eq!(admission.peers(), 1);
        assert!(admit("a", "4").is_ok());
        drop(_second);
        assert!(admission.table.lock().per_stream.is_empty());
    }
}
