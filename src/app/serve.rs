//! `recall serve`: starts everything, says where it is, and ends it in order.

use std::{io::Write, net::SocketAddr, time::Duration};

use anyhow::Context;
use signaling::{Bye, ByeCode, SignalingConfig};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{login, maintenance, retention::Retention, telemetry, tls::Certificate, wiring};
use crate::config::Config;
use recall_api::{self as api, ApiConfig, ApiState, Listener, Origin, RateLimit};
use recall_facts::{Processor, ProcessorConfig};
use recall_usecases::MessageWork;

/// Time for peers to hear the goodbye.
const STREAM_GRACE: Duration = Duration::from_secs(1);
/// Time for running jobs to end.
const JOB_GRACE: Duration = Duration::from_secs(10);
/// Time for the graph engine to take the batch at work.
const GRAPH_GRACE: Duration = Duration::from_secs(5);
/// Requests of one caller that are worked on at a time, where there are several callers. Most servers have fewer processors.
const REQUESTS_AT_ONCE: usize = 8;
/// Time for what goes on when whoever asked has gone.
const ERRAND_GRACE: Duration = Duration::from_secs(5);
/// Time for the store to close.
const STORE_GRACE: Duration = Duration::from_secs(5);

/// Runs until a signal asks it to stop.
pub(super) async fn run(config: Config) -> anyhow::Result<()> {
    telemetry::logs(&config.log)?;
    let metrics = telemetry::metrics()?;
    api::describe_metrics();
    let certificate = Certificate::load(&config)?;
    // A second server would take the jobs of this one, and neither would hear of the other's events.
    let lock = wiring::sole_server(&config)?;
    let house = wiring::house(&config).await?;
    let listener = TcpListener::bind(config.server.listen)
        .await
        .with_context(|| format!("server.listen (RECALL_LISTEN): {} cannot be used", config.server.listen))?;
    let address = listener.local_addr()?;
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let login::AuthSetup { authenticator, logins, visits } = login::who_asks(&config, scheme, address, &house.store, &house.clock).await?;
    let udp = config.stream.udp_address(&config.server);
    let signaling = api::Signaling::bind(
        SignalingConfig {
            udp_listen: udp,
            this_machine: config.stream.is_for_this_machine(&config.server),
            public_addresses: config.stream.udp_public_addresses.iter().map(|ip| SocketAddr::new(*ip, 0)).collect(),
            max_peers: config.stream.max_peers,
            max_peers_per_stream: config.stream.max_peers_per_session,
            ..SignalingConfig::default()
        },
        house.hub.clone(),
    )
    .await
    .with_context(|| format!("stream.udp_listen (RECALL_UDP_LISTEN): {udp} cannot be used"))?;

    let recovered = house.store.recover(house.clock.now()).await?;
    if recovered > 0 {
        info!(recovered, "jobs of the process before go on");
    }
    let processor = Processor::start(
        house.store.clone(),
        MessageWork::new(house.usecases.clone()),
        house.clock.clone(),
        house.announcer.clone(),
        house.wake.clone(),
        ProcessorConfig {
            workers: config.processing.workers,
            attempts: config.processing.attempts,
            lease: config.processing.lease(),
            ..ProcessorConfig::default()
        },
    );
    // Before anybody is shown anything.
    house.usecases.look_for_erasures().await?;
    let projector = house.graph.follow();
    let stop = CancellationToken::new();
    let reembedding = tokio::spawn(house.reembedder.run(stop.clone()));
    let maintenance = tokio::spawn(maintenance::run(
        house.store.clone(),
        house.clock.clone(),
        config.stream.clone(),
        house.graph.status.clone(),
        stop.clone(),
    ));
    let instance = wiring::instance(address);
    let retention = Retention {
        usecases: house.usecases.clone(),
        clock: house.clock.clone(),
        auditor: api::Auditor::new(house.store.clone(), &instance),
        config: config.retention.clone(),
    };
    let retention = tokio::spawn(retention.run(stop.clone()));

    let tls = certificate.as_ref().map(Certificate::tls);
    let renewal = certificate.map(|certificate| tokio::spawn(certificate.follow(stop.clone())));
    let mut api_config = ApiConfig::at(address);
    api_config.instance.clone_from(&instance);
    api_config.is_tls = tls.is_some();
    api_config.public_url = config.server.public_url.as_deref().map(str::parse::<Origin>).transpose()?;
    api_config.login = login::resource(&config, scheme, address);
    api_config.logins.clone_from(&logins);
    api_config.visits = visits;
    api_config.cors_origins = config.http.cors_origins.iter().map(|origin| origin.parse()).collect::<Result<_, _>>()?;
    api_config.trusted_proxies = config.http.proxies();
    api_config.admission = wiring::admission(&config)?;
    api_config.spool.clone_from(&config.storage.data);
    let turn = config.webrtc.turn_secret.as_ref().map(|secret| api::TurnConfig {
        urls: config.webrtc.turn_urls.clone(),
        secret: secret.expose().to_owned(),
        lasts: config.webrtc.turn_ttl(),
    });
    api_config.ice_servers = api::IceServers::new(config.webrtc.stun_urls.clone(), turn, house.clock.clone());
    let mut connections = api::ServerConfig { trusted_proxies: config.http.proxies(), ..api::ServerConfig::default() };
    // The one user of a machine is not held back.
    if config.auth.is_configured() {
        let (from, limits) = (&config.limits, &mut api_config.limits);
        let some = |count: u32| (count > 0).then_some(count);
        limits.requests = some(from.requests_per_minute).map(RateLimit::per_minute);
        limits.requests_at_once = Some(REQUESTS_AT_ONCE);
        limits.websocket_frames = Some(api::WEBSOCKET_FRAMES);
        limits.address_requests = some(from.address_requests_per_minute).map(RateLimit::per_minute);
        limits.messages_by_minute = some(from.messages_per_minute).map(RateLimit::per_minute);
        limits.messages_by_day = some(from.messages_per_day).map(RateLimit::per_day);
        limits.visitor_messages_by_day = Some(RateLimit::per_day(config.anonymous.messages_per_day));
        limits.streams_per_caller = some(from.streams_per_caller);
        limits.streams_per_visitor = Some(config.anonymous.streams);
        connections.connections_per_address = some(from.connections_per_address).and_then(|count| usize::try_from(count).ok());
        limits.logins = some(from.logins_per_minute).map(|count| RateLimit { burst: (count / 2).max(2), ..RateLimit::per_minute(count) });
    }
    let router = api::router(ApiState {
        usecases: house.usecases.clone(),
        hub: house.hub.clone(),
        signaling: signaling.clone(),
        authenticator,
        config: api_config,
        metrics,
        graph: house.graph.queries.clone(),
        checks: house.checks.iter().cloned().chain(login::check(&config, &house.clock)?).collect(),
        allowances: house.allowances.clone(),
    });
    let listener = Listener::new(listener, tls);
    let server = tokio::spawn(api::serve(listener, router, connections, stop.clone().cancelled_owned()));

    // Before the line: whoever waits for it may stop the server at once, and a signal nobody listens for kills.
    let signal = signal()?;
    announce(scheme, address)?;
    info!(%address, instance, udp = %signaling.udp_addr(), store = house.store.engine(), "recall serves");
    signal.await?;

    info!("recall stops");
    // Streams first: they would hold up the requests they are, and their peers should come back to the next server soon.
    stop.cancel();
    house.usecases.background_tasks().wind_up();
    // Peers and subscriptions at once: a WebSocket that waits for peers to close would close without its `bye`.
    tokio::join!(signaling.shutdown(STREAM_GRACE), async { house.hub.shutdown(Bye::from(ByeCode::Restart)) });
    server.await.context("the server's task failed")?;
    processor.shutdown(JOB_GRACE).await;
    if let Some(projector) = projector {
        projector.shutdown(GRAPH_GRACE).await;
    }
    let login_errands = logins.map(|logins| logins.background_tasks().clone()).unwrap_or_default();
    tokio::join!(house.usecases.background_tasks().end(ERRAND_GRACE), login_errands.end(ERRAND_GRACE));
    maintenance.await.context("the maintenance task failed")?;
    retention.await.context("the retention task failed")?;
    reembedding.await.context("the task of the embedding model failed")?;
    if let Some(renewal) = renewal {
        renewal.await.context("the task that looks after the certificate failed")?;
    }
    let _ = tokio::time::timeout(STORE_GRACE, house.store.close()).await;
    drop(lock);
    info!("recall has stopped");
    Ok(())
}

/// The one line on standard output, for people and for scripts that wait for it.
fn announce(scheme: &str, address: SocketAddr) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "Recall listens on {scheme}://{address}")?;
    out.flush()
}

/// Listens for SIGTERM and SIGINT from this call on; the future ends with the first one.
#[cfg(unix)]
fn signal() -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
fn signal() -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
    Ok(async { Ok(tokio::signal::ctrl_c().await?) })
}
