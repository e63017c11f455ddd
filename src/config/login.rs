//! Settings of logins with a browser.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AuthConfig, ConfigError, Secret, ServerConfig,
    sections::{at_most, flexible, is_this_machine, positive, texts},
    wrong,
};

/// Login with a browser. Without `client_id` there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoginConfig {
    /// The client id of this server at the provider, for logins. Without it users show a token.
    pub client_id: Option<String>,
    /// The secret that goes with `client_id`; none for a public client.
    pub client_secret: Option<Secret>,
    /// The issuer through which users log in, if there are several.
    pub issuer: Option<String>,
    /// Scopes that the provider is asked for, if it knows them.
    #[serde(deserialize_with = "texts")]
    pub scopes: Vec<String>,
    /// Time after which an unused login ends, in minutes.
    #[serde(deserialize_with = "flexible")]
    pub idle_minutes: u64,
    /// Maximum time of a login, in hours.
    #[serde(deserialize_with = "flexible")]
    pub hours: u64,
}

impl Default for LoginConfig {
    fn default() -> Self {
        let scopes = ["openid", "profile", "recall.read", "recall.write", "recall.admin"];
        Self {
            client_id: None,
            client_secret: None,
            issuer: None,
            scopes: scopes.map(str::to_owned).to_vec(),
            idle_minutes: 12 * 60,
            hours: 7 * 24,
        }
    }
}

impl LoginConfig {
    /// The issuer for logins, if logins are configured.
    pub fn issuer<'c>(&'c self, auth: &'c AuthConfig) -> Option<&'c str> {
        self.client_id.as_ref()?;
        self.issuer.as_deref().or_else(|| auth.issuers.first().map(String::as_str))
    }

    /// Time after which an unused login ends.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_minutes * 60)
    }

    /// Maximum time of a login.
    pub fn lifetime(&self) -> Duration {
        Duration::from_secs(self.hours * 3600)
    }

    pub(super) fn check(&self, auth: &AuthConfig, server: &ServerConfig) -> Result<(), ConfigError> {
        positive("login.idle_minutes", self.idle_minutes)?;
        at_most("login.idle_minutes", self.idle_minutes, 400 * 24 * 60)?;
        positive("login.hours", self.hours)?;
        // Browsers keep cookies for at most 400 days.
        at_most("login.hours", self.hours, 400 * 24)?;
        if !self.scopes.iter().any(|scope| scope == "openid") {
            return Err(wrong("login.scopes", "must name openid: without it the provider does not identify the user"));
        }
        if self.client_id.is_none() {
            return match (&self.client_secret, &self.issuer) {
                (None, None) => Ok(()),
                _ => Err(wrong("login.client_id", "is needed with login.client_secret or login.issuer")),
            };
        }
        if auth.issuers.is_empty() {
            return Err(wrong("auth.issuers", "is needed with login.client_id"));
        }
        match &self.issuer {
            Some(issuer) if !auth.issuers.contains(issuer) => {
                return Err(wrong("login.issuer", format!("{issuer} is not one of auth.issuers")));
            }
            None if auth.issuers.len() != 1 => {
                return Err(wrong("login.issuer", "is needed: name the one of auth.issuers through which users log in"));
            }
            _ => {}
        }
        // The cookies of logins are `Secure`: browsers keep them only for servers with TLS and for this machine.
        let plain = server.public_url.as_deref().and_then(|url| url.strip_prefix("http://"));
        if plain.is_some_and(|host| !is_this_machine(host.trim_end_matches('/'))) {
            return Err(wrong("server.public_url", "must begin with https:// for logins"));
        }
        Ok(())
    }
}
