//! Counts connections by address, so that one host cannot take the places of all.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ipnet::IpNet;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    address::{is_among, neighbourhood},
    hourly::Hourly,
};

/// Who is connected.
pub(super) struct Crowd {
    most: Option<usize>,
    proxies: Vec<IpNet>,
    open: Mutex<HashMap<IpAddr, usize>>,
    crowded: Hourly,
}

impl Crowd {
    /// At most `most` connections from one address, but for those of `proxies`.
    pub(super) fn new(most: Option<usize>, proxies: Vec<IpNet>) -> Self {
        Self { most, proxies, open: Mutex::default(), crowded: Hourly::default() }
    }

    /// Whether an address is that of a proxy that is trusted.
    pub(super) fn is_proxy(&self, peer: IpAddr) -> bool {
        is_among(peer, &self.proxies)
    }

    /// Takes a place; none when the address has as many as may be.
    pub(super) fn enter(self: &Arc<Self>, peer: IpAddr, permit: OwnedSemaphorePermit) -> Option<Slot> {
        let peer = peer.to_canonical();
        let counted = self.most.filter(|_| !self.is_proxy(peer));
        let mut place = None;
        if let Some(most) = counted {
            let whose = neighbourhood(peer);
            let mut open = self.lock();
            let count = open.entry(whose).or_default();
            if *count >= most {
                drop(open);
                metrics::counter!("recall_http_connections_refused_total").increment(1);
                if self.crowded.is_due() {
                    tracing::warn!(
                        address = %peer,
                        most,
                        "an address has as many connections as one may have, and more are closed: if it is a proxy, name it in \
                         http.trusted_proxies, else see limits.connections_per_address"
                    );
                }
                return None;
            }
            *count += 1;
            place = Some((self.clone(), whose));
        }
        metrics::gauge!("recall_http_connections").increment(1);
        Some(Slot { _permit: permit, place })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, until dropped.
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
    place: Option<(Arc<Crowd>, IpAddr)>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot")
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        metrics::gauge!("recall_http_connections").decrement(1);
        let Some((crowd, whose)) = self.place.take() else { return };
        let mut open = crowd.lock();
        if let Some(count) = open.get_mut(&whose) {
            *count -= 1;
            if *count == 0 {
                open.remove(&whose);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn places_are_counted_by_network_and_come_back() {
        let crowd = Arc::new(Crowd::new(Some(2), vec!["10.0.0.0/8".parse().unwrap()]));
        let permits = Arc::new(Semaphore::new(100));
        let enter = |from: &str| crowd.enter(from.parse().unwrap(), permits.clone().try_acquire_owned().unwrap());
        let mut open = vec![enter("2001:db8::1").unwrap(), enter("2001:db8::2").unwrap()];
        assert!(enter("2001:db8::3").is_none(), "another address of the same network");
        open.push(enter("2001:db8:0:1::1").unwrap());
        open.extend([enter("192.0.2.1").unwrap(), enter("::ffff:192.0.2.1").unwrap()]);
        assert!(enter("192.0.2.1").is_none(), "written in another way");
        for _ in 0..10 {
            open.push(enter("10.1.2.3").unwrap());
        }
        drop(open.remove(0));
        open.push(enter("2001:db8::3").unwrap());
        drop(open);
        assert!(crowd.lock().is_empty(), "nothing is left of those who went");
        assert_eq!(permits.available_permits(), 100);
    }
}
