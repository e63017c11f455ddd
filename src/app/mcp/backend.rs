//! The server behind the bridge: an existing one, or one that runs in this process.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, bail};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};
use tracing::warn;

use super::messages;
use crate::{
    app::{health::local_address, serve::RunningServer},
    config::Config,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time of one request: longer than the server takes for one.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum bytes of one answer: more than the largest one of this version.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// How long to wait for the server of another process that starts at the same time.
const START_GRACE: Duration = Duration::from_secs(20);
/// Pause between two looks for it.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Where the server is.
pub(super) struct Endpoint {
    /// Scheme, host and port.
    base: String,
    /// Whether a server may be started if none answers there.
    is_own: bool,
}

impl Endpoint {
    /// The server of `--url`, with or without the path of the endpoint.
    pub(super) fn given(url: &str) -> anyhow::Result<Self> {
        let base = url.trim_end_matches('/').trim_end_matches("/mcp").trim_end_matches('/').to_owned();
        anyhow::ensure!(
            base.starts_with("http://") || base.starts_with("https://"),
            "--url: {url} is not an address such as https://recall.example.org"
        );
        Ok(Self { base, is_own: false })
    }

    /// The server of this configuration, on this machine.
    pub(super) fn configured(config: &Config) -> Self {
        let base = match (&config.server.public_url, config.http.tls_certificate.is_some()) {
            // The certificate is for the public name.
            (Some(url), true) => url.trim_end_matches('/').to_owned(),
            (_, is_tls) => {
                let address: SocketAddr = local_address(config.server.listen);
                format!("{}://{address}", if is_tls { "https" } else { "http" })
            }
        };
        Self { base, is_own: true }
    }
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    /// No connection could be made, so the request was not sent.
    #[error("nothing answers there")]
    NotSent(#[source] openai_http::Error),
    #[error("the server did not answer")]
    Lost(#[source] openai_http::Error),
    #[error("the answer has more than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
}

/// Sends requests to the server, and runs one if necessary.
pub(super) struct Backend {
    endpoint: Endpoint,
    token: Option<String>,
    client: openai_http::Client,
    config: Config,
    metrics: PrometheusHandle,
    /// The server of this process. Locked while one is started, so that requests start only one.
    running: Mutex<Option<RunningServer>>,
    /// The protocol version that `initialize` agreed on.
    negotiated: parking_lot::Mutex<Option<String>>,
}

impl Backend {
    pub(super) fn new(endpoint: Endpoint, token: Option<String>, config: Config, metrics: PrometheusHandle) -> anyhow::Result<Self> {
        // Fails if a provider is already installed; then that provider is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = openai_http::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .redirect(openai_http::redirect::Policy::none())
            .user_agent(concat!("relevantic-recall/", env!("CARGO_PKG_VERSION")));
        if endpoint.is_own {
            client = client.no_proxy();
        }
        let client = client.build().context("TLS cannot be set up")?;
        Ok(Self { endpoint, token, client, config, metrics, running: Mutex::default(), negotiated: parking_lot::Mutex::default() })
    }

    /// Makes sure that a server answers.
    ///
    /// # Errors
    /// If none answers and none can be started.
    pub(super) async fn ensure_server(&self) -> anyhow::Result<()> {
        let mut running = self.running.lock().await;
        if self.is_alive().await {
            return Ok(());
        }
        if !self.endpoint.is_own {
            bail!("--url: nothing answers at {}", self.endpoint.base);
        }
        if running.is_some() {
            bail!("the server in this process does not answer");
        }
        match RunningServer::start(&self.config, self.metrics.clone()).await {
            Ok(server) => *running = Some(server),
            Err(error) => {
                // Another agent may have started its server in the meantime.
                let started = Instant::now();
                while !self.is_alive().await {
                    if started.elapsed() > START_GRACE {
                        return Err(error);
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
        Ok(())
    }

    async fn is_alive(&self) -> bool {
        let health = self.client.get(format!("{}/healthz", self.endpoint.base)).timeout(CONNECT_TIMEOUT).send().await;
        health.is_ok_and(|answer| answer.status().is_success())
    }

    /// Returns the response to a request. Every failure is an error response.
    pub(super) async fn respond(&self, id: &Value, message: &Value) -> Value {
        let mut answer = self.send(message).await;
        if matches!(answer, Err(Unanswered::NotSent(_))) {
            // The server ended with its agent. The request was not sent, so it can be sent to the next one.
            match self.ensure_server().await {
                Ok(()) => answer = self.send(message).await,
                Err(error) => warn!(%error, "no server can be reached"),
            }
        }
        match answer {
            Ok((status, body)) => {
                let response = messages::response(id, status, &body);
                if message["method"] == "initialize"
                    && let Some(version) = response["result"]["protocolVersion"].as_str()
                {
                    *self.negotiated.lock() = Some(version.to_owned());
                }
                response
            }
            Err(error) => {
                warn!(%error, "a request got no answer");
                messages::error(id, -32603, "The memory server does not answer. Check whether it runs, then try again.", None)
            }
        }
    }

    async fn send(&self, message: &Value) -> Result<(u16, Vec<u8>), Unanswered> {
        let mut request = self.client.post(format!("{}/mcp", self.endpoint.base));
        request = request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let negotiated = self.negotiated.lock().clone();
        for (name, value) in messages::headers(message, negotiated.as_deref()) {
            request = request.header(name, value);
        }
        let sent = request.body(message.to_string()).send().await;
        let mut answer = sent.map_err(|e| if e.is_connect() { Unanswered::NotSent(e) } else { Unanswered::Lost(e) })?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(Unanswered::Lost)? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(Unanswered::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok((answer.status().as_u16(), body))
    }

    /// Stops the server of this process, if there is one.
    ///
    /// # Errors
    /// If one of its tasks panicked.
    pub(super) async fn stop(&self) -> anyhow::Result<()> {
        match self.running.lock().await.take() {
            Some(server) => server.stop().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_may_name_server_or_endpoint() {
        for url in [
            "https://recall.example.org",
            "https://recall.example.org/",
            "https://recall.example.org/mcp",
            "https://recall.example.org/mcp/",
        ] {
            assert_eq!(Endpoint::given(url).unwrap().base, "https://recall.example.org", "{url}");
        }
        assert!(Endpoint::given("recall.example.org").is_err());
    }

    #[test]
    fn own_server_is_reached_on_this_machine() {
        let mut config = Config::default();
        config.server.listen = "0.0.0.0:9000".parse().unwrap();
        assert_eq!(Endpoint::configured(&config).base, "http://127.0.0.1:9000");
    }
}
