//! HTTP layer: GraphQL, REST, signaling, event streams, static pages, probes and metrics.
//!
//! It turns requests into calls of use cases, and their results into responses. It must not decide anything about the memory, and
//! must not name a database engine.

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
mod hourly_warning;
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

/// Dependencies and configuration of the API.
#[derive(Clone)]
pub struct ApiState {
    /// The use cases.
    pub usecases: UseCases,
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

/// Limits of single requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum size of a body in bytes.
    pub body_bytes: usize,
    /// Maximum nesting of fields in a GraphQL operation.
    pub query_depth: usize,
    /// Maximum cost of a GraphQL operation.
    ///
    /// A field costs 1, a list its page size times the cost of an item, and a field with its own SQL statement 40.
    pub query_complexity: usize,
    /// Limits of a document before it is validated.
    pub document: graphql::document::DocumentLimits,
    /// Limits of a GraphQL response.
    pub answer: graphql::ResponseLimits,
    /// Maximum time of one operation.
    pub operation_timeout: Duration,
    /// Maximum rate of requests of one caller.
    pub requests: Option<RateLimit>,
    /// Maximum rate at which frames of one WebSocket are read.
    pub websocket_frames: Option<RateLimit>,
    /// Maximum number of concurrent requests of one caller; more wait.
    pub requests_at_once: Option<usize>,
    /// Maximum rate of requests from one address, for all callers together.
    pub address_requests: Option<RateLimit>,
    /// Maximum number of messages of one caller in a minute.
    pub messages_by_minute: Option<RateLimit>,
    /// Maximum number of messages of one caller in a day.
    pub messages_by_day: Option<RateLimit>,
    /// Maximum number of messages of one visitor in a day.
    pub visitor_messages_by_day: Option<RateLimit>,
    /// Maximum number of open event streams of one caller at this server.
    pub streams_per_caller: Option<u32>,
    /// Maximum number of open event streams of one visitor at this server.
    pub streams_per_visitor: Option<u32>,
    /// Maximum rate of logins, callbacks and new visits from one address.
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

/// Returns the JSON Schema of event bodies: the content of `schema.events.json`.
pub fn events_schema() -> String {
    let schema = schemars::schema_for!(EventBody);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Builds all routes with their middleware.
pub fn router(state: ApiState) -> Router {
    let ApiState { usecases, hub, signaling, authenticator, config, metrics, graph, checks, allowances } = state;
    let policy = Arc::new(origin_policy(&config));
    let limits = Arc::new(config.limits);
    let limiter = rate::CallerLimits::new(&limits, allowances.as_ref(), usecases.background_tasks());
    let streams = graphql::Streams { hub: hub.clone(), signaling: signaling.clone(), ice_servers: config.ice_servers.clone() };
    let issuers = graphql::Issuers(config.login.as_ref().map(|login| login.authorization_servers.clone()).unwrap_or_default());
    let auditor = Auditor::new(usecases.store().clone(), &config.instance);
    let roles = audit::Roles::new(auditor.clone(), usecases.clone());
    let visit_state = config.visits.map(|visits| auth::visit::routes::VisitState {
        visits,
        usecases: usecases.clone(),
        auditor: auditor.clone(),
        limits: limiter.clone(),
    });
    let exports = export::Exports::new(usecases.clone(), auditor.clone(), config.spool);
    let login_auditor = auditor.clone();
    let behind = graphql::EngineDependencies { graph, streams, issuers, auditor };
    let engine = graphql::Engine::new(usecases.clone(), behind, limits.clone(), limiter.clone(), config.admission);
    let whip = whip::Whip::new(signaling, config.ice_servers, limiter.clone());
    let transport = layers::Transport::of(config.public_url.as_ref());
    let login_limits = rate::AddressLimits::new(limits.logins, config.trusted_proxies.clone());
    let address_limits = rate::AddressLimits::new(limits.address_requests, config.trusted_proxies);
    let request_ids = layers::RequestIds::starting_at(usecases.now());
    let mut all_checks: Vec<Arc<dyn Check>> = vec![Arc::new(operations::StoreCheck(usecases.store().clone()))];
    all_checks.extend(checks);

    // The operation has its own time limit. This one ends requests whose body arrives too slowly.
    let limit = limits.operation_timeout + Duration::from_secs(10);
    let deletion_state = usecases.clone();
    let timed = Router::new()
        .merge(rest::routes(limiter.clone(), login_auditor.clone()).with_state(usecases))
        .merge(
            Router::new()
                .route("/signaling/{session_id}", post(whip::post).options(whip::options))
                .route("/signaling/{session_id}/{peer_id}", patch(whip::patch).delete(whip::delete))
                .with_state(whip),
        )
        .merge(Router::new().route("/export", get(export::get)).with_state(exports))
        .merge(adoption_routes(visit_state.clone()))
        .layer(from_fn_with_state(limit, layers::enforce_timeout));
    let mut api =
        timed.merge(Router::new().route("/sessions/{session_id}/events", get(event_stream::events)).with_state((hub, limiter.clone())));
    let mut open = Router::new();
    let metrics = Router::new().route("/metrics", get(operations::metrics)).with_state(metrics);
    // With a login configured, strangers can reach the server, so only administrators may read the metrics.
    match config.login.is_some() {
        true => api = api.merge(metrics.layer(from_extractor::<auth::Administrator>())),
        false => open = open.merge(metrics),
    }
    let graphql = graphql_routes(engine, authenticator.clone(), roles.clone(), limiter.clone(), limit);
    let api = api
        .layer(from_fn_with_state(deletion_state, account_deletion::refuse_during_deletion))
        .layer(from_fn_with_state(limiter, rate::limit_callers))
        .layer(from_fn_with_state(roles, audit::watch_roles))
        .layer(from_fn_with_state(authenticator, auth::authenticate));
    let mut api = api.merge(graphql);
    if let Some(resource) = config.login.clone().map(Arc::new) {
        open = open.merge(Router::new().route(auth::METADATA_PATH, get(auth::metadata)).with_state(resource.clone()));
        api = api.layer(from_fn_with_state(resource, auth::add_metadata_link));
    }
    let api = api.layer(DefaultBodyLimit::max(limits.body_bytes));
    let visits = visit_state.as_ref().map(|v| v.visits.clone());
    let methods = auth::login::routes::LoginMethods { logins: config.logins, visits, tokens: config.login.is_some() };
    open = open.merge(login_routes(methods, visit_state, login_limits).layer(axum::Extension(login_auditor)));
    let guarded = Router::new()
        .merge(api)
        .merge(open)
        .layer(from_fn(layers::problem_details))
        .fallback_service(Router::new().fallback(web::static_file))
        .layer(from_fn_with_state(address_limits, rate::limit_addresses))
        .layer(from_fn_with_state(policy, auth::origin::guard));
    guarded
        .merge(probe_routes(all_checks))
        .layer(CatchPanicLayer::custom(layers::panic_response))
        .layer(from_fn_with_state(transport, layers::security_headers))
        .layer(from_fn_with_state(request_ids, layers::observe))
}

/// Builds the GraphQL routes.
///
/// A browser that opens GraphiQL has no token yet, and a WebSocket may send one in its first frame. The middleware therefore accepts
/// requests without credentials, and the handlers refuse their operations.
fn graphql_routes(
    engine: graphql::Engine,
    authenticator: Arc<dyn Authenticator>,
    roles: Arc<audit::Roles>,
    limiter: Arc<rate::CallerLimits>,
    limit: Duration,
) -> Router {
    Router::new()
        .route("/graphql", post(graphql::post).get(graphql::get))
        .layer(from_fn_with_state(limit, layers::enforce_timeout))
        .with_state(engine.clone())
        .merge(Router::new().route("/graphql/ws", get(graphql::open)).with_state((engine, authenticator.clone(), roles.clone())))
        .layer(from_fn_with_state(limiter, rate::limit_callers))
        .layer(from_fn_with_state(roles, audit::watch_roles))
        .layer(from_fn_with_state(authenticator, auth::authenticate_optionally))
}

/// Builds the policy that decides which hosts and origins may send requests.
fn origin_policy(config: &ApiConfig) -> auth::origin::OriginPolicy {
    auth::origin::OriginPolicy {
        port: config.listen.port(),
        is_tls: config.is_tls,
        public: config.public_url.clone(),
        allowed: config.cors_origins.clone(),
        // Without a login, any program that uses the right host may read the metrics.
        by_token: if config.login.is_some() { &["/metrics"] } else { &[] },
    }
}

/// Builds the health probes. They skip the origin policy, because probes use an address instead of a host name.
fn probe_routes(checks: Vec<Arc<dyn Check>>) -> Router {
    Router::new()
        .route("/healthz", get(operations::healthz))
        .route("/readyz", get(operations::readyz))
        .with_state(operations::Checks::new(checks))
}

/// Builds the routes for browser logins and visits. Without them only `/auth/session` remains, which says so.
fn login_routes(
    methods: auth::login::routes::LoginMethods,
    visit_state: Option<auth::visit::routes::VisitState>,
    login_limits: Arc<rate::AddressLimits>,
) -> Router {
    use auth::{login::routes, visit::routes as visit};
    /// A logout token is a few kilobytes.
    const BODY_BYTES: usize = 32 * 1024;
    let mut open = Router::new().route("/auth/session", get(routes::session)).with_state(methods.clone());
    if let Some(visit_state) = visit_state.clone() {
        // Starting a visit is limited like a login; ending one is not.
        let limited =
            Router::new().route("/auth/visit", post(visit::begin).layer(from_fn_with_state(login_limits.clone(), rate::limit_addresses)));
        let visits = limited.route("/auth/visit", delete(visit::leave)).with_state(visit_state);
        open = open.merge(visits.layer(DefaultBodyLimit::max(BODY_BYTES)));
    }
    let Some(logins) = methods.logins else { return open };
    let limited = Router::new()
        .route("/auth/login", get(routes::login))
        .route("/auth/callback", get(routes::callback))
        .route("/auth/backchannel-logout", post(routes::backchannel_logout))
        .layer(from_fn_with_state(login_limits, rate::limit_addresses));
    let mut logout = post(routes::logout);
    if let Some(visit_state) = visit_state {
        logout = logout.layer(axum::Extension(visit_state));
    }
    let routes = limited.route("/auth/logout", logout).with_state(logins);
    open.merge(routes.layer(from_fn_with_state(Duration::from_secs(30), layers::enforce_timeout)).layer(DefaultBodyLimit::max(BODY_BYTES)))
}

/// Builds the route that adopts a visit into an account; empty without visits.
fn adoption_routes(visit_state: Option<auth::visit::routes::VisitState>) -> Router {
    let Some(visit_state) = visit_state else { return Router::new() };
    Router::new().route("/auth/adopt", post(auth::visit::routes::adopt)).with_state(visit_state)
}
