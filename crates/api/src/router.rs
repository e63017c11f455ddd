//! Puts the routes and their middleware together.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_extractor, from_fn, from_fn_with_state},
    routing::{delete, get, patch, post},
};
use tower_http::catch_panic::CatchPanicLayer;

use crate::{
    account_deletion, audit,
    audit::Auditor,
    auth::{self, Authenticator, personal::AccessTokens, token::revocations::Revocations},
    callers,
    config::{ApiConfig, ApiState},
    event_stream, export, front_ends, graphql, layers, mcp, openai, openapi, operations,
    operations::Check,
    rate, refused_body, rest, web, whip,
};

/// Builds all routes with their middleware.
pub fn router(state: ApiState) -> Router {
    let ApiState { usecases, store, hub, signaling, authenticator, config, metrics, graph, openai, checks, allowances } = state;
    let policy = Arc::new(origin_policy(&config));
    let limits = Arc::new(config.limits);
    let limiter = rate::CallerLimits::new(&limits, allowances.as_ref(), usecases.background_tasks());
    let streams = graphql::Streams { hub: hub.clone(), signaling: signaling.clone(), ice_servers: config.ice_servers.clone() };
    let issuers = config.login.as_ref().map(|login| login.authorization_servers.clone()).unwrap_or_default();
    let auditor = Auditor::new(store.clone(), &config.instance);
    let callers = Arc::new(callers::CallerLog {
        roles: audit::Roles::new(auditor.clone(), usecases.clone()),
        front_ends: front_ends::FrontEnds::new(store.clone(), usecases.clone()),
    });
    let visit_state = config.visits.map(|visits| auth::visit::routes::VisitState {
        visits,
        usecases: usecases.clone(),
        auditor: auditor.clone(),
        limits: limiter.clone(),
    });
    let exports = export::Exports::new(usecases.clone(), &store, auditor.clone(), config.spool);
    let login_auditor = auditor.clone();
    let services = graphql::Services {
        graph,
        streams,
        access_tokens: AccessTokens(store.clone()),
        front_ends: store.clone(),
        revocations: Revocations { issuers, store: store.clone() },
        auditor,
    };
    let mcp = mcp::routes(usecases.clone(), services.graph.clone(), (limiter.clone(), services.auditor.clone()), &limits);
    let engine = graphql::Engine::new(usecases.clone(), services, limits.clone(), limiter.clone(), config.admission);
    let whip = whip::Whip::new(signaling, config.ice_servers, limiter.clone());
    let transport = layers::Transport::of(config.public_url.as_ref());
    let login_limits = rate::AddressLimits::new(limits.logins, config.trusted_proxies.clone());
    let address_limits = rate::AddressLimits::new(limits.address_requests, config.trusted_proxies);
    let request_ids = layers::RequestIds::starting_at(usecases.now());
    let mut all_checks: Vec<Arc<dyn Check>> = vec![Arc::new(operations::StoreCheck(store.clone()))];
    all_checks.extend(checks);

    // The operation has its own time limit. This one ends requests whose body arrives too slowly.
    let limit = limits.operation_timeout + Duration::from_secs(10);
    let deletion_state = usecases.clone();
    let timed = Router::new()
        .merge(rest::routes(login_auditor.clone()).with_state(usecases.clone()))
        .merge(
            Router::new()
                .route("/signaling/{session_id}", post(whip::post).options(whip::options))
                .route("/signaling/{session_id}/{peer_id}", patch(whip::patch).delete(whip::delete))
                .with_state(whip),
        )
        .merge(Router::new().route("/export", get(export::get)).with_state(exports))
        .merge(adoption_routes(visit_state.clone()))
        .merge(mcp)
        .layer(from_fn_with_state(limit, layers::enforce_timeout));
    let chat = rest::ChatServices { limits: limiter.clone(), auditor: login_auditor.clone(), hub: hub.clone() };
    let waiting = rest::waiting_routes(chat).with_state(usecases.clone());
    let uploads = rest::document_routes(rest::UploadServices::new(limiter.clone(), login_auditor.clone()), usecases.clone());
    let timed = timed.merge(uploads.layer(from_fn_with_state(rest::MAX_UPLOAD, layers::enforce_timeout)));
    let timed = timed.merge(waiting.layer(from_fn_with_state(limit + rest::MAX_WAIT, layers::enforce_timeout)));
    let mut api = timed
        .merge(
            Router::new()
                .route("/sessions/{session_id}/events", get(event_stream::events))
                .route("/events", get(event_stream::memory_events))
                .with_state((hub, limiter.clone())),
        )
        .merge(openai::routes(usecases, (limiter.clone(), login_auditor.clone()), openai, limit));
    let mut open = Router::new().route("/openapi.json", get(openapi::describe));
    let metrics = Router::new().route("/metrics", get(operations::metrics)).with_state(metrics);
    // With a login configured, strangers can reach the server, so only administrators may read the metrics.
    match config.login.is_some() {
        true => api = api.merge(metrics.layer(from_extractor::<auth::Administrator>())),
        false => open = open.merge(metrics),
    }
    let graphql = graphql_routes(engine, authenticator.clone(), callers.clone(), limiter.clone(), limit);
    let api = api
        .layer(from_fn_with_state(deletion_state, account_deletion::refuse_during_deletion))
        .layer(from_fn_with_state(callers, callers::log_caller))
        .layer(from_fn_with_state(limiter, rate::limit_callers))
        .layer(from_fn_with_state(authenticator, auth::authenticate));
    let mut api = api.merge(graphql);
    if let Some(resource) = config.login.clone().map(Arc::new) {
        let metadata =
            Router::new().route(auth::METADATA_PATH, get(auth::metadata)).route(auth::MCP_METADATA_PATH, get(auth::mcp_metadata));
        open = open.merge(metadata.with_state(resource.clone()));
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
        .layer(from_fn_with_state(policy, auth::origin::guard))
        .layer(from_fn(openai::use_openai_errors))
        .layer(from_fn(refused_body::discard));
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
    callers: Arc<callers::CallerLog>,
    limiter: Arc<rate::CallerLimits>,
    limit: Duration,
) -> Router {
    Router::new()
        .route("/graphql", post(graphql::post).get(graphql::get))
        .layer(from_fn_with_state(limit, layers::enforce_timeout))
        .layer(layers::compression())
        .with_state(engine.clone())
        .merge(Router::new().route("/graphql/ws", get(graphql::open)).with_state((engine, authenticator.clone(), callers.clone())))
        .layer(from_fn_with_state(callers, callers::log_caller))
        .layer(from_fn_with_state(limiter, rate::limit_callers))
        .layer(from_fn_with_state(authenticator, auth::authenticate_optionally))
}

/// Builds the policy that decides which hosts and origins may send requests.
fn origin_policy(config: &ApiConfig) -> auth::origin::OriginPolicy {
    auth::origin::OriginPolicy {
        port: config.listen.port(),
        is_tls: config.is_tls,
        public: config.public_url.clone(),
        allowed: config.cors_origins.clone(),
        // Without a login, any program that uses the right host may read the metrics. With one, programs need no public host name.
        by_token: if config.login.is_some() { [&["/metrics"], openai::PATHS].concat() } else { Vec::new() },
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
