//! Limits connections per address, so that one host cannot use all slots.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use ipnet::IpNet;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    address::{is_in_any, network_of},
    hourly_warning::HourlyWarning,
};

/// Counts open connections by network.
pub(super) struct ConnectionLimit {
    most: Option<usize>,
    proxies: Vec<IpNet>,
    open: Mutex<HashMap<IpAddr, usize>>,
    warning: HourlyWarning,
}

impl ConnectionLimit {
    /// Allows at most `most` connections from one address, and any number from `proxies`.
    pub(super) fn new(most: Option<usize>, proxies: Vec<IpNet>) -> Self {
        Self { most, proxies, open: Mutex::default(), warning: HourlyWarning::default() }
    }

    /// Whether an address belongs to a trusted proxy.
    pub(super) fn is_proxy(&self, peer: IpAddr) -> bool {
        is_in_any(peer, &self.proxies)
    }

    /// Takes a slot; `None` when the address has reached its limit.
    pub(super) fn acquire(self: &Arc<Self>, peer: IpAddr, permit: OwnedSemaphorePermit) -> Option<ConnectionSlot> {
        let peer = peer.to_canonical();
        let limit = self.most.filter(|_| !self.is_proxy(peer));
        let mut counted_network = None;
        if let Some(most) = limit {
            let network = network_of(peer);
            let mut open = self.lock();
            let count = open.entry(network).or_default();
            if *count >= most {
                drop(open);
                metrics::counter!("recall_http_connections_refused_total").increment(1);
                if self.warning.is_due() {
                    tracing::warn!(
                        address = %peer,
                        most,
                        "an address has reached its connection limit, further connections are closed: if it is a proxy, add it to \
                         http.trusted_proxies, else see limits.connections_per_address"
                    );
                }
                return None;
            }
            *count += 1;
            counted_network = Some((self.clone(), network));
        }
        metrics::gauge!("recall_http_connections").increment(1);
        Some(ConnectionSlot { _permit: permit, counted_network })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock()
    }
}

/// The slot of one connection, free when dropped.
pub(super) struct ConnectionSlot {
    _permit: OwnedSemaphorePermit,
    counted_network: Option<(Arc<ConnectionLimit>, IpAddr)>,
}

impl std::fmt::Debug for ConnectionSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot")
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        metrics::gauge!("recall_http_connections").decrement(1);
        let Some((connection_limit, network)) = self.counted_network.take() else { return };
        let mut open = connection_limit.lock();
        if let Some(count) = open.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                open.remove(&network);
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
    fn slots_are_counted_by_network_and_freed_on_drop() {
        let connection_limit = Arc::new(ConnectionLimit::new(Some(2), vec!["10.0.0.0/8".parse().unwrap()]));
        let permits = Arc::new(Semaphore::new(100));
        let acquire = |from: &str| connection_limit.acquire(from.parse().unwrap(), permits.clone().try_acquire_owned().unwrap());
        let mut open = vec![acquire("2001:db8::1").unwrap(), acquire("2001:db8::2").unwrap()];
        assert!(acquire("2001:db8::3").is_none(), "another address of the same network");
        open.push(acquire("2001:db8:0:1::1").unwrap());
        open.extend([acquire("192.0.2.1").unwrap(), acquire("::ffff:192.0.2.1").unwrap()]);
        assert!(acquire("192.0.2.1").is_none(), "written in another way");
        for _ in 0..10 {
            open.push(acquire("10.1.2.3").unwrap());
        }
        drop(open.remove(0));
        open.push(acquire("2001:db8::3").unwrap());
        drop(open);
        assert!(connection_limit.lock().is_empty(), "closed connections leave no entry");
        assert_eq!(permits.available_permits(), 100);
    }
}
