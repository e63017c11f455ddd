//! A counter shared by all browsers: a minimal complete server on this crate, with a load test.
//!
//! ```text
//! cargo run --release --example counter                          serve http://127.0.0.1:8090
//! cargo run --release --example counter -- load 127.0.0.1:8090 300 10    300 peers for 10 seconds
//! ```
//! `POST /count/{n}` counts n times. `POST /rate/{hz}` sets how often it counts by itself.
#![allow(missing_docs)]

mod load;
mod log;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, patch, post};
use log::CounterLog;
use signaling::{Hub, HubConfig, PatchError, PatchOutcome, Signaling, SignalingConfig};

type Failure = Box<dyn Error + Send + Sync>;

struct Server {
    log: Arc<CounterLog>,
    hub: Arc<Hub<CounterLog>>,
    signaling: Arc<Signaling<CounterLog>>,
    /// Counts per second.
    rate: AtomicU64,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => serve("127.0.0.1:8090", "127.0.0.1:0", &[]).await,
        ["serve", http, udp, ref public @ ..] => serve(http, udp, public).await,
        ["load", http, peers, seconds] => load::run(http, peers.parse()?, seconds.parse()?).await,
        _ => Err("usage: counter [serve HTTP UDP [PUBLIC_UDP...] | load HTTP PEERS SECONDS]".into()),
    }
}

async fn serve(http: &str, udp: &str, public: &[&str]) -> Result<(), Failure> {
    let log = Arc::new(CounterLog::default());
    let hub = Hub::new(log.clone(), HubConfig::default());
    let config = SignalingConfig {
        udp_listen: udp.parse()?,
        public_addresses: public.iter().map(|address| address.parse()).collect::<Result<_, _>>()?,
        max_peers: 10_000,
        max_peers_per_stream: 10_000,
        ..SignalingConfig::default()
    };
    let signaling = Signaling::bind(config, hub.clone()).await?;
    let udp = signaling.udp_addr();
    let server = Arc::new(Server { log, hub, signaling, rate: AtomicU64::new(1) });
    let counting = tokio::spawn(count_at_rate(server.clone()));
    let routes = Router::new()
        .route("/", get(async || Html(include_str!("page.html"))))
        .route("/signaling/{stream}", post(offer))
        .route("/signaling/{stream}/{peer}", patch(patch_peer).delete(delete_peer))
        .route("/count/{n}", post(count_n_times))
        .route("/rate/{hz}", post(set_rate))
        .route("/stats", get(stats))
        .layer(DefaultBodyLimit::max(64 * 1024))
        .with_state(server.clone());
    let listener = tokio::net::TcpListener::bind(http).await?;
    println!("http://{} with peers on UDP {udp}", listener.local_addr()?);
    axum::serve(listener, routes)
        .with_graceful_shutdown(async {
            let _ = tokio::signal::ctrl_c().await;
        })
        .await?;
    counting.abort();
    server.signaling.shutdown(Duration::from_secs(3)).await;
    Ok(())
}

async fn count_at_rate(server: Arc<Server>) {
    loop {
        let rate = server.rate.load(Ordering::Relaxed);
        match rate {
            0 => tokio::time::sleep(Duration::from_millis(100)).await,
            rate => {
                tokio::time::sleep(Duration::from_nanos(1_000_000_000 / rate)).await;
                server.log.count();
                server.hub.wake(&log::STREAM.to_owned());
            }
        }
    }
}

async fn count_n_times(State(server): State<Arc<Server>>, Path(n): Path<u32>) -> StatusCode {
    for _ in 0..n.min(100_000) {
        server.log.count();
    }
    server.hub.wake(&log::STREAM.to_owned());
    StatusCode::NO_CONTENT
}

async fn set_rate(State(server): State<Arc<Server>>, Path(hz): Path<u64>) -> StatusCode {
    server.rate.store(hz, Ordering::Relaxed);
    StatusCode::NO_CONTENT
}

async fn stats(State(server): State<Arc<Server>>) -> String {
    let stats = server.signaling.stats();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let rss = rss.unwrap_or("0 kB").trim().trim_end_matches(" kB");
    let process = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15 of proc_pid_stat(5): user and system time in ticks of 10 ms.
    let ticks: u64 = process.split(' ').skip(13).take(2).flat_map(str::parse::<u64>).sum();
    serde_json::json!({
        "peers": stats.peers,
        "open": stats.open,
        "rss_kb": rss.parse::<u64>().unwrap_or_default(),
        "cpu_ms": ticks * 10,
        "udp": format!("{:?}", stats.udp),
    })
    .to_string()
}

async fn offer(State(server): State<Arc<Server>>, Path(stream): Path<String>, body: String) -> Response {
    match server.signaling.offer(stream.clone(), &body).await {
        Ok(answer) => {
            let location = format!("/signaling/{stream}/{}", answer.peer_id);
            let headers = [(header::CONTENT_TYPE, "application/sdp".to_owned()), (header::LOCATION, location), (header::ETAG, answer.etag)];
            (StatusCode::CREATED, headers, answer.sdp).into_response()
        }
        Err(error) => {
            let status = match error.code() {
                "UNKNOWN_STREAM" => StatusCode::NOT_FOUND,
                "OFFER_TOO_LARGE" => StatusCode::PAYLOAD_TOO_LARGE,
                "UNAVAILABLE" | "TOO_MANY_PEERS" => StatusCode::SERVICE_UNAVAILABLE,
                "TOO_MANY_PEERS_FOR_STREAM" => StatusCode::TOO_MANY_REQUESTS,
                _ => StatusCode::BAD_REQUEST,
            };
            (status, format!("{}: {error}\n", error.code())).into_response()
        }
    }
}

async fn patch_peer(
    State(server): State<Arc<Server>>,
    Path((stream, peer)): Path<(String, String)>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let tag = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
    match server.signaling.patch(&stream, &peer, tag, &body).await {
        Ok(PatchOutcome::Candidates { .. }) => StatusCode::NO_CONTENT.into_response(),
        Ok(PatchOutcome::Restarted { sdp_fragment, etag }) => {
            let kind = "application/trickle-ice-sdpfrag".to_owned();
            let headers = [(header::CONTENT_TYPE, kind), (header::ETAG, etag)];
            (StatusCode::OK, headers, sdp_fragment).into_response()
        }
        Err(error) => {
            let status = match error {
                PatchError::UnknownPeer => StatusCode::NOT_FOUND,
                PatchError::PreconditionRequired => StatusCode::PRECONDITION_REQUIRED,
                PatchError::PreconditionFailed { .. } => StatusCode::PRECONDITION_FAILED,
                PatchError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                PatchError::BadFragment(_) => StatusCode::BAD_REQUEST,
                PatchError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            (status, format!("{}: {error}\n", error.code())).into_response()
        }
    }
}

async fn delete_peer(State(server): State<Arc<Server>>, Path((stream, peer)): Path<(String, String)>) -> StatusCode {
    match server.signaling.delete(&stream, &peer) {
        true => StatusCode::OK,
        false => StatusCode::NOT_FOUND,
    }
}
