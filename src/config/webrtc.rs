//! Settings of STUN and TURN servers.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Secret,
    sections::{at_most, flexible, texts},
    wrong,
};

/// Minimum length of the shared secret. Anyone who guesses it can relay traffic at the operator's expense.
const MIN_SECRET: usize = 16;

/// STUN and TURN servers, for browsers that cannot reach this server by UDP directly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebrtcConfig {
    /// Addresses of STUN servers: `stun:stun.example.org:3478`.
    #[serde(deserialize_with = "texts")]
    pub stun_urls: Vec<String>,
    /// Addresses of TURN servers: `turn:turn.example.org:3478`, `turns:turn.example.org:5349?transport=tcp`.
    #[serde(deserialize_with = "texts")]
    pub turn_urls: Vec<String>,
    /// The secret that this server shares with the TURN servers (coturn: `static-auth-secret`). Clients get credentials that are
    /// derived from it.
    pub turn_secret: Option<Secret>,
    /// How long these credentials are valid, in seconds.
    #[serde(deserialize_with = "flexible")]
    pub turn_ttl_seconds: u64,
}

impl Default for WebrtcConfig {
    fn default() -> Self {
        Self { stun_urls: Vec::new(), turn_urls: Vec::new(), turn_secret: None, turn_ttl_seconds: 3_600 }
    }
}

impl WebrtcConfig {
    /// How long TURN credentials are valid.
    pub fn turn_ttl(&self) -> Duration {
        Duration::from_secs(self.turn_ttl_seconds)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let is_valid = |url: &str, schemes: &[&str]| {
            let rest = url.split_once(':').filter(|(scheme, _)| schemes.contains(scheme)).map(|(_, rest)| rest);
            // Only characters that are safe between angle brackets in a header.
            rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:[]?=".contains(&b)))
        };
        for (key, urls, schemes) in
            [("webrtc.stun_urls", &self.stun_urls, &["stun", "stuns"]), ("webrtc.turn_urls", &self.turn_urls, &["turn", "turns"])]
        {
            if let Some(bad) = urls.iter().find(|url| !is_valid(url, schemes)) {
                return Err(wrong(key, format!("{bad} must be an address such as {}:{}.example.org:3478", schemes[0], schemes[0])));
            }
        }
        if self.turn_urls.is_empty() != self.turn_secret.is_none() {
            let missing = if self.turn_urls.is_empty() { "webrtc.turn_urls" } else { "webrtc.turn_secret" };
            return Err(wrong(missing, "is needed: addresses and secret of TURN servers belong together"));
        }
        if self.turn_secret.as_ref().is_some_and(|secret| secret.expose().len() < MIN_SECRET) {
            return Err(wrong(
                "webrtc.turn_secret",
                format!("must have at least {MIN_SECRET} characters; generate one with `openssl rand -base64 32`"),
            ));
        }
        if self.turn_ttl_seconds < 60 {
            return Err(wrong("webrtc.turn_ttl_seconds", "must be at least 60"));
        }
        at_most("webrtc.turn_ttl_seconds", self.turn_ttl_seconds, 24 * 3600)
    }
}
