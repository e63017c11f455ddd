//! Limits of addresses, with the proxies that are trusted to name them.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use ipnet::IpNet;

use super::limiter::{Limiter, delay_refusal};
use crate::{
    address::{self, ClientAddress},
    hourly_warning::HourlyWarning,
    limits::RateLimit,
    server::Connection,
};

/// Extra tokens that an address pays for a refused credential, so that guessing is slow.
const REFUSED_PROOF_COST: f64 = 9.0;

/// Rate limits of addresses, with the proxies that are trusted to name them.
pub(crate) struct AddressLimits {
    limiter: Arc<Limiter<IpAddr>>,
    proxies: Vec<IpNet>,
    unknown_proxy: HourlyWarning,
}

impl AddressLimits {
    pub(crate) fn new(limit: Option<RateLimit>, proxies: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self { limiter: Limiter::new(limit), proxies, unknown_proxy: HourlyWarning::default() })
    }

    /// Returns the client's address; `None` for a request without a connection.
    fn client_of(&self, request: &Request) -> Option<IpAddr> {
        if let Some(ClientAddress(client)) = request.extensions().get() {
            return Some(*client);
        }
        let peer = request.extensions().get::<Connection>()?.peer;
        let client = address::client_address(peer, request.headers(), &self.proxies);
        // Any client can write the header. Clients of an unknown proxy share the bucket of the proxy's address.
        if address::is_forwarded(request.headers()) && !address::is_in_any(peer, &self.proxies) {
            metrics::counter!("recall_http_unknown_proxy_requests_total").increment(1);
            if self.unknown_proxy.is_due() {
                tracing::warn!(
                    address = %peer.to_canonical(),
                    "requests come through a proxy that is not in http.trusted_proxies: all its clients share the limits of one address"
                );
            }
        }
        Some(client)
    }
}

/// Middleware: refuses requests of an address that sends too many.
pub(crate) async fn limit_addresses(State(address_limits): State<Arc<AddressLimits>>, mut request: Request, next: Next) -> Response {
    let Some(client) = address_limits.client_of(&request) else { return next.run(request).await };
    request.extensions_mut().insert(ClientAddress(client));
    let client = address::network_of(client);
    if let Err(error) = address_limits.limiter.take(client) {
        return delay_refusal(error).await.into_response();
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        address_limits.limiter.charge(&client, REFUSED_PROOF_COST);
    }
    response
}
