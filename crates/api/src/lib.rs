//! The street side of the house: HTTP, GraphQL, REST, signaling, pages and operations. Turns requests into calls of use
//! cases and outcomes into answers. Must not decide anything about memory, and must not name an engine.

mod account_deletion;
mod address;
mod audit;
pub mod auth;
mod body;
mod error;
pub mod event_log;
mod event_stream;
mod export;
pub mod graphql;
mod hourly;
mod ice;
mod layers;
mod operations;
mod rate;
mod rest;
mod sampler;
mod server;
mod tls;
mod web;
mod whip;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_extractor, from_fn, from_fn_with_state},
    routing::{delete, get, patch, post},
};
use ipnet::IpNet;
use metrics_exporter_prometheus::PrometheusHandle;
use tower_http::catch_panic::CatchPanicLayer;

pub use audit::Auditor;
pub use auth::{
    Authenticator, Identity, LocalUser, Permission, Permissions, ProtectedResource,
    login::{LoginConfig, Logins},
    origin::Origin,
    token::{Introspection, TokenConfig, Tokens},
    visit::{VisitConfig, Visits},
};
pub use error::ApiError;
pub use graphql::{Admission, WEBSOCKET_FRAMES, documents::Documents, sdl};
pub use ice::{IceServer, IceServers, TurnConfig};
pub use layers::describe_metrics;
pub use operations::{Check, Problem};
pub use rate::RateLimit;
pub use server::{Listener, ServerConfig, serve};
pub use tls::{Tls, TlsError};

use crate::event_log::{EventHub, LogSource};
use recall_domain::EventBody;
use recall_ports::{Allowances, GraphQueries};
use recall_usecases::UseCases;

/// The signaling service over the sessions' event logs.
pub type Signaling = signaling::Signaling<LogSource>;

/// Everything that the API works with.
#[derive(Clone)]
pub struct ApiState {
    /// The use cases.
    pub usecases: UseCases,
    /// Serves event logs.
    pub hub: Arc<EventHub>,
    /// Serves them over WebRTC.
    pub signaling: Arc<Signaling>,
    /// Says who asks.
    pub authenticator: Arc<dyn Authenticator>,
    /// Addresses and bounds.
    pub config: ApiConfig,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Answers how things hang together.
    pub graph: Arc<dyn GraphQueries>,
    /// What must be reachable besides the store, for `/readyz`.
    pub checks: Vec<Arc<dyn Check>>,
    /// Where servers share the limits of callers; without it each has its own.
    pub allowances: Option<Arc<dyn Allowances>>,
}

/// Addresses and bounds of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Where the listener really listens: with the port that it got.
    pub listen: SocketAddr,
    /// Whether the listener speaks TLS.
    pub is_tls: bool,
    /// Where people reach it, when that is not a loopback address.
    pub public_url: Option<Origin>,
    /// Origins whose pages may call the API besides its own.
    pub cors_origins: Vec<Origin>,
    /// Proxies that are believed about whom they speak for.
    pub trusted_proxies: Vec<IpNet>,
    /// STUN and TURN servers that clients are told.
    pub ice_servers: IceServers,
    /// What clients are told about how to get a token; nothing on a server without login.
    pub login: Option<ProtectedResource>,
    /// Who has logged in with a browser, if they can. The authenticator knows them as well.
    pub logins: Option<Logins>,
    /// Who is on a visit, if people may go on without a login. The authenticator knows them as well.
    pub visits: Option<Visits>,
    /// Bounds of single requests.
    pub limits: Limits,
    /// What this process is called in the audit log.
    pub instance: String,
    /// What may be run over GraphQL.
    pub admission: Admission,
    /// Folder for what waits for slow clients.
    pub spool: PathBuf,
}

impl ApiConfig {
    /// The defaults behind a listener.
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

/// Bounds of single requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest body in bytes.
    pub body_bytes: usize,
    /// Fields within fields of a GraphQL operation.
    pub query_depth: usize,
    /// Cost of a GraphQL operation: a field costs 1, a list its page size times what is selected of an item, a statement of its own 40.
    pub query_complexity: usize,
    /// Bounds of a document before it is validated.
    pub document: graphql::document::DocumentLimits,
    /// Bounds of an answer.
    pub answer: graphql::ResponseLimits,
    /// Longest time of one operation.
    pub operation_timeout: Duration,
    /// How often one caller may ask.
    pub requests: Option<RateLimit>,
    /// How fast frames of one WebSocket are read.
    pub websocket_frames: Option<RateLimit>,
    /// How many requests of one caller are worked on at a time; more wait.
    pub requests_at_once: Option<usize>,
    /// How often one address may ask, whoever is there.
    pub address_requests: Option<RateLimit>,
    /// How many messages one caller may store in a minute.
    pub messages_by_minute: Option<RateLimit>,
    /// And in a day.
    pub messages_by_day: Option<RateLimit>,
    /// How many messages one visitor may store in a day.
    pub visitor_messages_by_day: Option<RateLimit>,
    /// How many event streams one caller may have open at this server.
    pub streams_per_caller: Option<u32>,
    /// And one visitor.
    pub streams_per_visitor: Option<u32>,
    /// How often one address may begin or end a login at the issuer.
    pub logins: Option<RateLimit>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            query_depth: 15,
            query_complexity: 50_000,
            document: graphql::document::DocumentLimits::default(),
            answer: graphql::ResponseLimits::default(),
            operation_timeout: Duration::from_secs(20),
            requests: None,
            websocket_frames: None,
            requests_at_once: None,
            address_requests: None,
            messages_by_minute: None,
            messages_by_day: None,
            visitor_messages_by_day: None,
            streams_per_caller: None,
            streams_per_visitor: None,
            logins: None,
        }
    }
}

/// The JSON Schema of event bodies: the content of `schema.events.json`.
pub fn events_schema() -> String {
    let schema = schemars::schema_for!(EventBody);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// All routes.
pub fn router(state: ApiState) -> Router {
    let ApiState { usecases, hub, signaling, authenticator, config, metrics, graph, checks, allowances } = state;
    let limits = Arc::new(config.limits);
    let limiter = rate::CallerLimits::new(&limits, allowances.as_ref(), usecases.background_tasks());
    let streams = graphql::Streams { hub: hub.clone(), signaling: signaling.clone(), ice_servers: config.ice_servers.clone() };
    let issuers = graphql::Issuers(config.login.as_ref().map(|login| login.authorization_servers.clone()).unwrap_or_default());
    let auditor = Auditor::new(usecases.store().clone(), &config.instance);
    let roles = audit::Roles::new(auditor.clone(), usecases.clone());
    let visiting = config.visits.map(|visits| auth::visit::routes::Visiting {
        visits,
        usecases: usecases.clone(),
        auditor: auditor.clone(),
        limits: limiter.clone(),
    });
    let exports = export::Exports::new(usecases.clone(), auditor.clone(), config.spool);
    let notes = auditor.clone();
    let behind = graphql::EngineDependencies { graph, streams, issuers, auditor };
    let engine = graphql::Engine::new(usecases.clone(), behind, limits.clone(), limiter.clone(), config.admission);
    let whip = whip::Whip::new(signaling, config.ice_servers, limiter.clone());
    let transport = layers::Transport::of(config.public_url.as_ref());
    let policy = Arc::new(auth::origin::OriginPolicy {
        port: config.listen.port(),
        is_tls: config.is_tls,
        public: config.public_url,
        allowed: config.cors_origins,
        // Without a login anybody may read them who comes to the right host.
        by_token: if config.login.is_some() { &["/metrics"] } else { &[] },
    });
    let attempts = rate::Addresses::new(limits.logins, config.trusted_proxies.clone());
    let addresses = rate::Addresses::new(limits.address_requests, config.trusted_proxies);
    let request_ids = layers::RequestIds::starting_at(usecases.now());
    let mut all_checks: Vec<Arc<dyn Check>> = vec![Arc::new(operations::StoreCheck(usecases.store().clone()))];
    all_checks.extend(checks);

    // The operation has its own limit; this one ends bodies that trickle in.
    let limit = limits.operation_timeout + Duration::from_secs(10);
    let erasing = usecases.clone();
    let timed = Router::new()
        .merge(rest::routes(limiter.clone(), notes.clone()).with_state(usecases))
        .merge(
            Router::new()
                .route("/signaling/{session_id}", post(whip::post).options(whip::options))
                .route("/signaling/{session_id}/{peer_id}", patch(whip::patch).delete(whip::delete))
                .with_state(whip),
        )
        .merge(Router::new().route("/export", get(export::get)).with_state(exports))
        .merge(adoption(visiting.clone()))
        .layer(from_fn_with_state(limit, layers::deadline));
    let mut api =
        timed.merge(Router::new().route("/sessions/{session_id}/events", get(event_stream::events)).with_state((hub, limiter.clone())));
    let mut open = Router::new();
    let metrics = Router::new().route("/metrics", get(operations::metrics)).with_state(metrics);
    // Behind a login strangers can reach the server, and its numbers are not theirs.
    match config.login.is_some() {
        true => api = api.merge(metrics.layer(from_extractor::<auth::Administrator>())),
        false => open = open.merge(metrics),
    }
    // A browser that opens the page to try queries on has no token yet, and a WebSocket may show one in its first frame.
    let graphql = Router::new()
        .route("/graphql", post(graphql::post).get(graphql::get))
        .layer(from_fn_with_state(limit, layers::deadline))
        .with_state(engine.clone())
        .merge(Router::new().route("/graphql/ws", get(graphql::open)).with_state((engine, authenticator.clone(), roles.clone())))
        .layer(from_fn_with_state(limiter.clone(), rate::limit))
        .layer(from_fn_with_state(roles.clone(), audit::watch_roles))
        .layer(from_fn_with_state(authenticator.clone(), auth::authenticate_or_later));
    let api = api
        .layer(from_fn_with_state(erasing, account_deletion::refuse))
        .layer(from_fn_with_state(limiter, rate::limit))
        .layer(from_fn_with_state(roles, audit::watch_roles))
        .layer(from_fn_with_state(authenticator, auth::authenticate));
    let mut api = api.merge(graphql);
    if let Some(resource) = config.login.clone().map(Arc::new) {
        open = open.merge(Router::new().route(auth::METADATA_PATH, get(auth::metadata)).with_state(resource.clone()));
        api = api.layer(from_fn_with_state(resource, auth::point_to_login));
    }
    let api = api.layer(DefaultBodyLimit::max(limits.body_bytes));
    let visits = visiting.as_ref().map(|v| v.visits.clone());
    let ways = auth::login::routes::LoginMethods { logins: config.logins, visits, tokens: config.login.is_some() };
    open = open.merge(login_routes(ways, visiting, attempts).layer(axum::Extension(notes)));
    let pages = Router::new().fallback(web::file);
    let guarded = Router::new()
        .merge(api)
        .merge(open)
        .layer(from_fn(layers::problems))
        .fallback_service(pages)
        .layer(from_fn_with_state(addresses, rate::limit_addresses))
        .layer(from_fn_with_state(policy, auth::origin::guard));
    // Probes come by address, not by name, and learn nothing about anybody.
    let probes = Router::new()
        .route("/healthz", get(operations::healthz))
        .route("/readyz", get(operations::readyz))
        .with_state(operations::Checks::new(all_checks));
    guarded
        .merge(probes)
        .layer(CatchPanicLayer::custom(layers::panicked))
        .layer(from_fn_with_state(transport, layers::secure))
        .layer(from_fn_with_state(request_ids, layers::observe))
}

/// Where people log in with a browser. On a server that lets nobody do so there is only the place that says it.
fn login_routes(
    ways: auth::login::routes::LoginMethods,
    visiting: Option<auth::visit::routes::Visiting>,
    attempts: Arc<rate::Addresses>,
) -> Router {
    use auth::{login::routes, visit::routes as visit};
    /// A logout token is a few kilobytes.
    const BODY_BYTES: usize = 32 * 1024;
    let mut open = Router::new().route("/auth/session", get(routes::session)).with_state(ways.clone());
    if let Some(visiting) = visiting.clone() {
        // Whoever makes visits is held back as one who logs in; ending them is not.
        let limited =
            Router::new().route("/auth/visit", post(visit::begin).layer(from_fn_with_state(attempts.clone(), rate::limit_addresses)));
        let visits = limited.route("/auth/visit", delete(visit::leave)).with_state(visiting);
        open = open.merge(visits.layer(DefaultBodyLimit::max(BODY_BYTES)));
    }
    let Some(logins) = ways.logins else { return open };
    let limited = Router::new()
        .route("/auth/login", get(routes::login))
        .route("/auth/callback", get(routes::callback))
        .route("/auth/backchannel-logout", post(routes::backchannel_logout))
        .layer(from_fn_with_state(attempts, rate::limit_addresses));
    let mut logout = post(routes::logout);
    if let Some(visiting) = visiting {
        logout = logout.layer(axum::Extension(visiting));
    }
    let routes = limited.route("/auth/logout", logout).with_state(logins);
    open.merge(routes.layer(from_fn_with_state(Duration::from_secs(30), layers::deadline)).layer(DefaultBodyLimit::max(BODY_BYTES)))
}

/// Where what was told on a visit is taken into an account. Only where there are visits.
fn adoption(visiting: Option<auth::visit::routes::Visiting>) -> Router {
    let Some(visiting) = visiting else { return Router::new() };
    Router::new().route("/auth/adopt", post(auth::visit::routes::adopt)).with_state(visiting)
}
