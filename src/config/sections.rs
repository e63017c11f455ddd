//! The smaller sections of the configuration, each with its defaults and checks.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{ConfigError, Extraction, wrong};

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port for HTTP. Port 0 takes a free one.
    #[serde(deserialize_with = "socket_address")]
    pub listen: SocketAddr,
    /// The address that browsers use, if it is not the listener's own: `http://recall.localhost`. Without a login it must be an address
    /// of this machine.
    pub public_url: Option<String>,
}

/// Reads an address with its port.
fn socket_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    /// A variable of the environment that has a port alone is a number.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Text(String),
        Other(serde::de::IgnoredAny),
    }
    let address = match Told::deserialize(deserializer)? {
        Told::Text(text) => text.parse().ok(),
        Told::Other(_) => None,
    };
    address.ok_or_else(|| serde::de::Error::custom("is no IP address with a port; write one such as 127.0.0.1:9000 or [::1]:9000"))
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 8080)), public_url: None }
    }
}

impl ServerConfig {
    /// Checks the section. `login` says whether callers must authenticate.
    pub(super) fn check(&self, login: bool) -> Result<(), ConfigError> {
        if !login && !self.listen.ip().is_loopback() {
            return Err(wrong(
                "server.listen",
                format!(
                    "{} can be reached from other machines, and no login is configured, so anyone there could read all data; \
                     listen on 127.0.0.1 or [::1], or configure the section [auth]",
                    self.listen
                ),
            ));
        }
        let Some(url) = &self.public_url else {
            return match self.listen.ip().is_loopback() {
                true => Ok(()),
                // The server refuses requests for other hosts than its own, so it must know its name.
                false => Err(wrong("server.public_url", "is needed when server.listen can be reached from other machines")),
            };
        };
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let host = rest.map(|r| r.strip_suffix('/').unwrap_or(r)).filter(|h| !h.is_empty() && !h.contains(['/', '?', '#', ' ', '@']));
        let Some(host) = host else {
            return Err(wrong("server.public_url", "must be a scheme and a host, such as https://memory.example.org, without a path"));
        };
        if !login && !is_this_machine(host) {
            return Err(wrong(
                "server.public_url",
                format!("{host} can be reached from other machines, and no login is configured, so anyone there could read all data"),
            ));
        }
        Ok(())
    }
}

/// Whether a host, with or without port, is a loopback address or `localhost`.
pub(super) fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, p)| p.bytes().all(|b| b.is_ascii_digit())).map_or(host, |(h, _)| h);
    name == "localhost" || name.ends_with(".localhost") || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The event stream and WebRTC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StreamConfig {
    /// Address and port for WebRTC. Default: the HTTP listener's address and a free port. For a loopback listener without a public URL
    /// on Linux also the machine's own address, where only datagrams of this machine are accepted.
    pub udp_listen: Option<SocketAddr>,
    /// Addresses announced to browsers, if they are not the listener's own.
    #[serde(deserialize_with = "addresses")]
    pub udp_public_addresses: Vec<IpAddr>,
    /// Maximum number of WebRTC peers in total.
    #[serde(deserialize_with = "flexible")]
    pub max_peers: usize,
    /// Maximum number of WebRTC peers of one session. For a shared session: of each follower.
    #[serde(deserialize_with = "flexible")]
    pub max_peers_per_session: usize,
    /// Maximum number of events kept per session for replay.
    #[serde(deserialize_with = "flexible")]
    pub events_kept: u64,
    /// Time for which events are kept for replay, in hours.
    #[serde(deserialize_with = "flexible")]
    pub events_kept_hours: u32,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            udp_listen: None,
            udp_public_addresses: Vec::new(),
            max_peers: 2_000,
            max_peers_per_session: 16,
            events_kept: 10_000,
            events_kept_hours: 24,
        }
    }
}

impl StreamConfig {
    /// The UDP address and port for WebRTC.
    pub fn udp_address(&self, server: &ServerConfig) -> SocketAddr {
        self.udp_listen.unwrap_or_else(|| SocketAddr::new(server.listen.ip(), 0))
    }

    /// Whether the UDP port serves only this machine, on all its addresses.
    ///
    /// Not behind a proxy: the machine's own address would be announced to clients elsewhere, who cannot use it.
    pub fn is_for_this_machine(&self, server: &ServerConfig) -> bool {
        let by_default = self.udp_listen.is_none() && self.udp_public_addresses.is_empty();
        by_default && server.listen.ip().is_loopback() && server.public_url.is_none()
    }

    pub(super) fn check(&self, server: &ServerConfig) -> Result<(), ConfigError> {
        if self.udp_address(server).ip().is_unspecified() && self.udp_public_addresses.is_empty() {
            return Err(wrong("stream.udp_public_addresses", "is needed when stream.udp_listen is a wildcard address"));
        }
        positive("stream.max_peers", self.max_peers as u64)?;
        positive("stream.max_peers_per_session", self.max_peers_per_session as u64)?;
        positive("stream.events_kept", self.events_kept)?;
        positive("stream.events_kept_hours", u64::from(self.events_kept_hours))?;
        at_most("stream.events_kept_hours", u64::from(self.events_kept_hours), 100 * 366 * 24)
    }
}

/// The fact processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessingConfig {
    /// Messages processed at a time.
    #[serde(deserialize_with = "flexible")]
    pub workers: usize,
    /// Attempts before processing of a message fails permanently.
    #[serde(deserialize_with = "flexible")]
    pub attempts: u32,
    /// Time without a heartbeat after which another worker takes over a job, in seconds.
    #[serde(deserialize_with = "flexible")]
    pub lease_seconds: u64,
}

impl Default for ProcessingConfig {
    fn default() -> Self {
        Self { workers: 4, attempts: 5, lease_seconds: 30 }
    }
}

impl ProcessingConfig {
    /// Time without a heartbeat after which another worker takes over a job.
    pub fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.workers == 0 || self.workers > 256 {
            return Err(wrong("processing.workers", "must be 1 to 256"));
        }
        positive("processing.attempts", u64::from(self.attempts))?;
        positive("processing.lease_seconds", self.lease_seconds)?;
        at_most("processing.lease_seconds", self.lease_seconds, 24 * 3600)
    }
}

/// Message search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrievalConfig {
    /// Memory for the indexes of all users, in megabytes. The least recently used index is evicted first.
    #[serde(deserialize_with = "flexible")]
    pub index_megabytes: u64,
}

impl Default for RetrievalConfig {
    fn default() -> Self {
        Self { index_megabytes: 512 }
    }
}

impl RetrievalConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        positive("retrieval.index_megabytes", self.index_megabytes)
    }
}

/// Extraction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UnderstandingConfig {
    /// What finds facts.
    pub extraction: Extraction,
    /// Whether small networks complete the rules. One corrects and completes what the built-in extractor finds, in a few milliseconds of
    /// processor time for a message. Another one judges whether a passage of a document answers a question, and finds messages that answer it in other words. It
    /// takes a few milliseconds for each of up to 16 excerpts and 48 messages or pairs of messages, the latter twice for a question that was rephrased.
    #[serde(deserialize_with = "flexible")]
    pub learned: bool,
    /// A file with relations that replace the built-in ones.
    pub ontology: Option<PathBuf>,
}

impl Default for UnderstandingConfig {
    fn default() -> Self {
        Self { extraction: Extraction::default(), learned: true, ontology: None }
    }
}

impl UnderstandingConfig {
    pub(super) fn check(&self, has_model: bool) -> Result<(), ConfigError> {
        if matches!(self.extraction, Extraction::Hybrid | Extraction::Model) && !has_model {
            return Err(wrong("understanding.extraction", "needs a model: set model.url (RECALL_MODEL_URL) and model.name"));
        }
        Ok(())
    }
}

/// How logs look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs, one JSON object per line.
    Json,
}

/// Logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// Which events are logged: `info`, `recall=debug,info`, and so on.
    pub filter: String,
    /// The format of the log.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        // The WebRTC stack logs a warning for every unanswered connectivity check of a closed tab.
        Self { filter: "info,webrtc=error,rtc=error,rtc_ice=error,rtc_sctp=error,rtc_dtls=error".to_owned(), format: LogFormat::Text }
    }
}

impl LogConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        tracing_subscriber::EnvFilter::try_new(&self.filter).map(|_| ()).map_err(|e| wrong("log.filter", e.to_string()))
    }
}

pub(super) fn positive(key: &str, value: u64) -> Result<(), ConfigError> {
    if value == 0 { Err(wrong(key, "must be at least 1")) } else { Ok(()) }
}

pub(super) fn at_most(key: &str, value: u64, limit: u64) -> Result<(), ConfigError> {
    if value > limit { Err(wrong(key, format!("must be at most {limit}"))) } else { Ok(()) }
}

/// Deserializes a number or a boolean: a typed value in the file, text in the environment.
pub(super) fn flexible<'de, D, T>(d: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + std::str::FromStr,
    T::Err: std::fmt::Display,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<T> {
        Value(T),
        Text(String),
    }
    match Either::<T>::deserialize(d) {
        Ok(Either::Value(v)) => Ok(v),
        Ok(Either::Text(s)) => s.trim().parse().map_err(|e| serde::de::Error::custom(format!("`{s}`: {e}"))),
        Err(_) => Err(serde::de::Error::custom("has the wrong type")),
    }
}

/// Deserializes addresses from a list or from comma-separated text.
fn addresses<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<IpAddr>, D::Error> {
    texts(d)?.iter().map(|s| s.parse().map_err(|e| serde::de::Error::custom(format!("`{s}`: {e}")))).collect()
}

/// Deserializes texts from a list or from comma-separated text.
pub(super) fn texts<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<String>),
        Text(String),
    }
    let items = match Either::deserialize(d)? {
        Either::List(l) => l,
        Either::Text(s) => s.split(',').map(str::to_owned).collect(),
    };
    Ok(items.iter().map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect())
}
