//! What the API needs from its host: dependencies, addresses and limits.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use ipnet::IpNet;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::{
    auth::{Authenticator, ProtectedResource, login::Logins, origin::Origin, visit::Visits},
    event_log::{EventHub, Signaling},
    graphql::documents::Admission,
    ice::IceServers,
    limits::Limits,
    openai::OpenAi,
    operations::Check,
};
use recall_ports::{Allowances, GraphQueries, Store};
use recall_usecases::UseCases;

/// Dependencies and configuration of the API.
#[derive(Clone)]
pub struct ApiState {
    /// The use cases.
    pub usecases: UseCases,
    /// The store behind them: for the audit log, access tokens, exports and the health check. Memories are read through the use cases.
    pub store: Arc<dyn Store>,
    /// Serves the event logs of sessions.
    pub hub: Arc<EventHub>,
    /// Serves the event logs over WebRTC.
    pub signaling: Arc<Signaling>,
    /// Derives the caller from a request.
    pub authenticator: Arc<dyn Authenticator>,
    /// Addresses and limits.
    pub config: ApiConfig,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Answers graph queries.
    pub graph: Arc<dyn GraphQueries>,
    /// Serves the OpenAI protocol.
    pub openai: OpenAi,
    /// Services that `/readyz` checks, in addition to the store.
    pub checks: Vec<Arc<dyn Check>>,
    /// Store of the limits that servers share; without it each server counts alone.
    pub allowances: Option<Arc<dyn Allowances>>,
}

/// Addresses and limits of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Address of the listener, with its actual port.
    pub listen: SocketAddr,
    /// Whether the listener speaks TLS.
    pub is_tls: bool,
    /// Address under which users reach the server, if it is not a loopback address.
    pub public_url: Option<Origin>,
    /// Origins of other pages that may call the API.
    pub cors_origins: Vec<Origin>,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// STUN and TURN servers that clients get.
    pub ice_servers: IceServers,
    /// Metadata that tells clients how to get a token; `None` on a server without login.
    pub login: Option<ProtectedResource>,
    /// Browser logins, if they are configured. The authenticator uses the same value.
    pub logins: Option<Logins>,
    /// Visits, if users may continue without a login. The authenticator uses the same value.
    pub visits: Option<Visits>,
    /// Limits of single requests.
    pub limits: Limits,
    /// Name of this process in the audit log.
    pub instance: String,
    /// Which GraphQL documents may be run.
    pub admission: Admission,
    /// Folder for temporary files of exports.
    pub spool: PathBuf,
}

impl ApiConfig {
    /// The defaults for a listener.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            is_tls: false,
            public_url: None,
            cors_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            ice_servers: IceServers::default(),
            login: None,
            logins: None,
            visits: None,
            limits: Limits::default(),
            instance: "recall".to_owned(),
            admission: Admission::default(),
            spool: std::env::temp_dir(),
        }
    }
}
