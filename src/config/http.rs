//! Settings of the HTTP listener: CORS, proxies and TLS.

use std::{net::IpAddr, path::PathBuf};

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError,
    sections::{is_this_machine, texts},
    wrong,
};

/// Pages of other origins, proxies, and TLS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Origins whose pages may call the API, such as `https://app.example.org`. Without it only the server's own.
    #[serde(deserialize_with = "texts")]
    pub cors_origins: Vec<String>,
    /// Addresses and networks of proxies whose `X-Forwarded-For` is trusted.
    #[serde(deserialize_with = "texts")]
    pub trusted_proxies: Vec<String>,
    /// A PEM file with the server's certificate and its chain. With it the listener speaks TLS only. A changed file is read without a
    /// restart.
    pub tls_certificate: Option<PathBuf>,
    /// A PEM file with the key of `tls_certificate`.
    pub tls_key: Option<PathBuf>,
}

impl HttpConfig {
    /// The networks of the trusted proxies.
    pub fn proxies(&self) -> Vec<IpNet> {
        self.trusted_proxies.iter().filter_map(|text| network(text)).collect()
    }

    /// Checks the section. `login` says whether callers must authenticate.
    pub(super) fn check(&self, login: bool) -> Result<(), ConfigError> {
        for origin in &self.cors_origins {
            let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            let Some(host) = rest.filter(|host| !host.is_empty() && !host.contains(['/', '?', '#', ' ', '@', '*'])) else {
                return Err(wrong(
                    "http.cors_origins",
                    format!("{origin} must be a scheme and a host, such as https://app.example.org, without a path or `*`"),
                ));
            };
            if is_this_machine(host) {
                continue;
            }
            if !login {
                return Err(wrong(
                    "http.cors_origins",
                    format!("without a login the pages of {origin} could read all data; configure the section [auth]"),
                ));
            }
            if origin.starts_with("http://") {
                return Err(wrong("http.cors_origins", format!("{origin} is not safe without TLS; use https")));
            }
        }
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            let missing = if self.tls_key.is_some() { "http.tls_certificate" } else { "http.tls_key" };
            return Err(wrong(missing, "is needed: a certificate and its key belong together"));
        }
        for text in &self.trusted_proxies {
            let Some(network) = network(text) else {
                return Err(wrong("http.trusted_proxies", format!("{text} must be an address or a network, such as 10.0.0.0/8")));
            };
            if network.prefix_len() == 0 {
                return Err(wrong("http.trusted_proxies", format!("{text} would trust every address")));
            }
        }
        Ok(())
    }
}

/// Parses a network; a single address is a network of one.
fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}
