//! `recall serve`: starts the server, prints its address, and stops it in order.

use std::{io::Write, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use metrics_exporter_prometheus::PrometheusHandle;
use signaling::{Bye, ByeCode, SignalingConfig};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    adapters, login, maintenance,
    retention::Retention,
    telemetry,
    tls::Certificate,
    wiring::{self, Services},
};
use crate::config::Config;
use recall_api::{self as api, ApiConfig, ApiState, Listener, Origin, RateLimit};
use recall_facts::{Processor, ProcessorConfig};
use recall_projection::Projector;
use recall_store_sqlite::ServerLock;
use recall_usecases::MessageWork;

/// Time for WebRTC peers to receive their `bye`.
const STREAM_GRACE: Duration = Duration::from_secs(1);
/// Time for running jobs to end.
const JOB_GRACE: Duration = Duration::from_secs(10);
/// Time for the graph engine to accept the current batch.
const GRAPH_GRACE: Duration = Duration::from_secs(5);
/// Concurrent requests of one caller when the server has several users. Most servers have fewer processors.
const REQUESTS_AT_ONCE: usize = 8;
/// Time for background tasks that outlive their request.
const TASK_GRACE: Duration = Duration::from_secs(5);
/// Time for the store to close.
const STORE_GRACE: Duration = Duration::from_secs(5);

/// Runs the server until a signal stops it.
pub(super) async fn run(config: Config) -> anyhow::Result<()> {
    telemetry::logs(&config.log)?;
    let server = RunningServer::start(&config, telemetry::metrics()?).await?;
    // Before the address is printed: a script that waits for it may send a signal at once, and without a handler that would kill.
    let signal = signal()?;
    announce(server.scheme, server.address)?;
    signal.await?;
    server.stop().await
}

/// A server that runs in this process.
pub(super) struct RunningServer {
    /// `http` or `https`.
    pub(super) scheme: &'static str,
    /// Address of the listener, with its actual port.
    pub(super) address: SocketAddr,
    services: Services,
    signaling: Arc<api::Signaling>,
    logins: Option<api::Logins>,
    stop: CancellationToken,
    server: JoinHandle<()>,
    processor: Processor,
    projector: Option<Projector>,
    tasks: Tasks,
    renewal: Option<JoinHandle<()>>,
    _lock: Option<ServerLock>,
}

impl RunningServer {
    /// Starts a server.
    ///
    /// # Errors
    /// If the database or an address is in use, or a configured service cannot be used.
    pub(super) async fn start(config: &Config, metrics: PrometheusHandle) -> anyhow::Result<Self> {
        api::describe_metrics();
        let certificate = Certificate::load(config)?;
        // A second server on the same file would take the jobs of this one, and neither would see the events of the other.
        let lock = adapters::lock_database(config)?;
        let services = wiring::services(config).await?;
        let listener = TcpListener::bind(config.server.listen)
            .await
            .with_context(|| format!("server.listen (RECALL_LISTEN): {} cannot be used", config.server.listen))?;
        let address = listener.local_addr()?;
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let login::AuthSetup { authenticator, logins, visits } =
            login::setup(config, scheme, address, &services.store, &services.clock).await?;
        let signaling = bind_signaling(config, &services).await?;

        let processor = start_processor(config, &services).await?;
        // Before the listener accepts requests: data under deletion must stay hidden.
        services.usecases.look_for_erasures().await?;
        let projector = services.graph.start_projector();
        let stop = CancellationToken::new();
        let instance = wiring::instance_name(address);
        let tasks = Tasks::start(config, &services, &instance, &stop);

        let tls = certificate.as_ref().map(Certificate::tls);
        let renewal = certificate.map(|certificate| tokio::spawn(certificate.reload_on_change(stop.clone())));
        let mut api_config = api_config(config, &services, scheme, address)?;
        api_config.instance.clone_from(&instance);
        api_config.is_tls = tls.is_some();
        api_config.logins.clone_from(&logins);
        api_config.visits = visits;
        let mut connections = api::ServerConfig { trusted_proxies: config.http.proxies(), ..api::ServerConfig::default() };
        // Without a login there is only the local user, who needs no limits.
        if config.has_login() {
            set_limits(config, &mut api_config.limits, &mut connections);
        }
        let router = api::router(ApiState {
            usecases: services.usecases.clone(),
            store: services.store.clone(),
            hub: services.hub.clone(),
            signaling: signaling.clone(),
            authenticator,
            config: api_config,
            metrics,
            graph: services.graph.queries.clone(),
            openai: services.openai.clone(),
            checks: services.checks.iter().cloned().chain(login::check(config, &services.clock)?).collect(),
            allowances: services.allowances.clone(),
        });
        let listener = Listener::new(listener, tls);
        let server = tokio::spawn(api::serve(listener, router, connections, stop.clone().cancelled_owned()));
        info!(%address, instance, udp = %signaling.udp_addr(), store = services.store.engine(), "recall serves");
        Ok(Self { scheme, address, services, signaling, logins, stop, server, processor, projector, tasks, renewal, _lock: lock })
    }

    /// Stops the server in order.
    ///
    /// # Errors
    /// If one of its tasks panicked.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        let Self { services, .. } = self;
        info!("recall stops");
        // Streams end first. As open requests they would delay the stop, and their clients should reconnect to the next server soon.
        self.stop.cancel();
        services.usecases.background_tasks().wind_up();
        // Peers and subscriptions end together: a WebSocket that waited for the peers would close without its `bye`.
        tokio::join!(self.signaling.shutdown(STREAM_GRACE), async { services.hub.shutdown(Bye::from(ByeCode::Restart)) });
        self.server.await.context("the HTTP server task failed")?;
        self.processor.shutdown(JOB_GRACE).await;
        if let Some(projector) = self.projector {
            projector.shutdown(GRAPH_GRACE).await;
        }
        let login_tasks = self.logins.map(|logins| logins.background_tasks().clone()).unwrap_or_default();
        tokio::join!(services.usecases.background_tasks().end(TASK_GRACE), login_tasks.end(TASK_GRACE));
        self.tasks.join().await?;
        if let Some(renewal) = self.renewal {
            renewal.await.context("the certificate reload task failed")?;
        }
        let _ = tokio::time::timeout(STORE_GRACE, services.store.close()).await;
        info!("recall has stopped");
        Ok(())
    }
}

/// Opens the UDP port for WebRTC.
async fn bind_signaling(config: &Config, services: &Services) -> anyhow::Result<Arc<api::Signaling>> {
    let udp = config.stream.udp_address(&config.server);
    let settings = SignalingConfig {
        udp_listen: udp,
        this_machine: config.stream.is_for_this_machine(&config.server),
        public_addresses: config.stream.udp_public_addresses.iter().map(|ip| SocketAddr::new(*ip, 0)).collect(),
        max_peers: config.stream.max_peers,
        max_peers_per_stream: config.stream.max_peers_per_session,
        ..SignalingConfig::default()
    };
    let bound = api::Signaling::bind(settings, services.hub.clone()).await;
    bound.with_context(|| format!("stream.udp_listen (RECALL_UDP_LISTEN): {udp} cannot be used"))
}

/// Recovers the jobs of the previous process and starts the fact processor.
async fn start_processor(config: &Config, services: &Services) -> anyhow::Result<Processor> {
    let recovered = services.store.recover(services.clock.now()).await?;
    if recovered > 0 {
        info!(recovered, "resuming jobs left by the previous process");
    }
    Ok(Processor::start(
        services.store.clone(),
        MessageWork::new(services.usecases.clone()),
        services.clock.clone(),
        services.wake.clone(),
        ProcessorConfig {
            workers: config.processing.workers,
            attempts: config.processing.attempts,
            lease: config.processing.lease(),
            timeout: config.attempt_timeout(),
            ..ProcessorConfig::default()
        },
    ))
}

/// Background tasks that run as long as the server.
struct Tasks {
    reembedding: JoinHandle<()>,
    maintenance: JoinHandle<()>,
    retention: JoinHandle<()>,
}

impl Tasks {
    fn start(config: &Config, services: &Services, instance: &str, stop: &CancellationToken) -> Self {
        let retention = Retention {
            usecases: services.usecases.clone(),
            store: services.store.clone(),
            clock: services.clock.clone(),
            auditor: api::Auditor::new(services.store.clone(), instance),
            config: config.retention.clone(),
        };
        Self {
            reembedding: tokio::spawn(services.reembedder.clone().run(stop.clone())),
            maintenance: tokio::spawn(maintenance::run(
                services.store.clone(),
                services.clock.clone(),
                config.stream.clone(),
                services.graph.status.clone(),
                stop.clone(),
            )),
            retention: tokio::spawn(retention.run(stop.clone())),
        }
    }

    /// Waits until all tasks have ended.
    async fn join(self) -> anyhow::Result<()> {
        self.maintenance.await.context("the maintenance task failed")?;
        self.retention.await.context("the retention task failed")?;
        self.reembedding.await.context("the re-embedding task failed")
    }
}

/// The settings of the API that depend only on the configuration and the address.
fn api_config(config: &Config, services: &Services, scheme: &str, address: SocketAddr) -> anyhow::Result<ApiConfig> {
    let mut api_config = ApiConfig::at(address);
    api_config.public_url = config.server.public_url.as_deref().map(str::parse::<Origin>).transpose()?;
    api_config.login = login::resource(config, scheme, address);
    api_config.cors_origins = config.http.cors_origins.iter().map(|origin| origin.parse()).collect::<Result<_, _>>()?;
    api_config.trusted_proxies = config.http.proxies();
    api_config.admission = wiring::admission(config)?;
    api_config.spool.clone_from(&config.storage.data);
    let turn = config.webrtc.turn_secret.as_ref().map(|secret| api::TurnConfig {
        urls: config.webrtc.turn_urls.clone(),
        secret: secret.expose().to_owned(),
        lasts: config.webrtc.turn_ttl(),
    });
    api_config.ice_servers = api::IceServers::new(config.webrtc.stun_urls.clone(), turn, services.clock.clone());
    Ok(api_config)
}

/// Applies the configured limits; a count of 0 means no limit.
fn set_limits(config: &Config, limits: &mut api::Limits, connections: &mut api::ServerConfig) {
    let from = &config.limits;
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

/// Prints the address to standard output, for people and for scripts that wait for it.
fn announce(scheme: &str, address: SocketAddr) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "Recall listens on {scheme}://{address}")?;
    out.flush()
}

/// Installs handlers for SIGTERM and SIGINT; the future ends with the first signal.
#[cfg(unix)]
pub(super) fn signal() -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
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
pub(super) fn signal() -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
    Ok(async { Ok(tokio::signal::ctrl_c().await?) })
}
