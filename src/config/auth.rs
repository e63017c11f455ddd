//! Settings of authentication: token issuers, requirements on their tokens, and a static token.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Secret,
    sections::{at_most, flexible, is_this_machine, texts},
    wrong,
};

/// Minimum length of the static token. Attackers can try tokens without end, so it must not be guessable.
const MIN_TOKEN: usize = 32;

/// Authentication. Without issuers and token there is no login, and only this machine is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuthConfig {
    /// OAuth2/OIDC providers whose access tokens are accepted, exactly as in the claim `iss`.
    #[serde(deserialize_with = "texts")]
    pub issuers: Vec<String>,
    /// Accepted audiences. The `aud` of a token must contain one of them.
    #[serde(deserialize_with = "texts")]
    pub audiences: Vec<String>,
    /// Accepted signature algorithms.
    #[serde(deserialize_with = "texts")]
    pub algorithms: Vec<String>,
    /// Accepted header types. Providers that do not follow RFC 9068 need `JWT` here as well.
    #[serde(deserialize_with = "texts")]
    pub token_types: Vec<String>,
    /// The claim with the caller's roles. Dots name nested fields: `realm_access.roles`.
    pub role_claim: String,
    /// The role of administrators.
    pub admin_role: String,
    /// How far the clocks of provider and server may differ, in seconds.
    #[serde(deserialize_with = "flexible")]
    pub clock_skew_seconds: u64,
    /// The client id with which this server asks the provider about opaque tokens (RFC 7662). Without it opaque tokens are refused.
    pub introspection_client_id: Option<String>,
    /// The secret that goes with `introspection_client_id`.
    pub introspection_client_secret: Option<Secret>,
    /// The issuer that is asked about opaque tokens, if there are several.
    pub introspection_issuer: Option<String>,
    /// A static token for setups without a provider and for emergencies. Its holder is the local user and an administrator.
    pub token: Option<Secret>,
}

impl Default for AuthConfig {
    fn default() -> Self {
        let list = |items: &[&str]| items.iter().map(|i| (*i).to_owned()).collect();
        Self {
            issuers: Vec::new(),
            audiences: Vec::new(),
            algorithms: list(&["RS256", "PS256", "ES256", "EdDSA"]),
            token_types: list(&["at+jwt"]),
            role_claim: "roles".to_owned(),
            admin_role: "recall-admin".to_owned(),
            clock_skew_seconds: 5,
            introspection_client_id: None,
            introspection_client_secret: None,
            introspection_issuer: None,
            token: None,
        }
    }
}

impl AuthConfig {
    /// Whether callers must authenticate.
    pub fn is_configured(&self) -> bool {
        !self.issuers.is_empty() || self.token.is_some()
    }

    /// The tolerated difference between the clocks of provider and server.
    pub fn clock_skew(&self) -> Duration {
        Duration::from_secs(self.clock_skew_seconds)
    }

    /// The issuer whose opaque tokens are introspected, if introspection is configured.
    pub fn issuer_for_introspection(&self) -> Option<&str> {
        self.introspection_client_id.as_ref()?;
        self.introspection_issuer.as_deref().or_else(|| self.issuers.first().map(String::as_str))
    }

    fn check_introspection(&self) -> Result<(), ConfigError> {
        let (id, secret) = (self.introspection_client_id.is_some(), self.introspection_client_secret.is_some());
        if id != secret {
            let missing = if id { "auth.introspection_client_secret" } else { "auth.introspection_client_id" };
            return Err(wrong(missing, "is needed: client id and secret belong together"));
        }
        match &self.introspection_issuer {
            Some(_) if !id => Err(wrong("auth.introspection_client_id", "is needed with auth.introspection_issuer")),
            Some(issuer) if !self.issuers.contains(issuer) => {
                Err(wrong("auth.introspection_issuer", format!("{issuer} is not one of auth.issuers")))
            }
            None if id && self.issuers.len() != 1 => {
                Err(wrong("auth.introspection_issuer", "is needed: which of auth.issuers is asked about opaque tokens?"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for issuer in &self.issuers {
            let local = issuer.strip_prefix("http://").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
            let safe = issuer.starts_with("https://") || local.is_some_and(is_this_machine);
            if !safe || issuer.contains(['?', '#', ' ', '@']) {
                return Err(wrong("auth.issuers", format!("{issuer} must be an https address without query")));
            }
        }
        if !self.issuers.is_empty() && self.audiences.is_empty() {
            return Err(wrong(
                "auth.audiences",
                "is needed with auth.issuers: without it every token of the provider would be accepted, also those for other services",
            ));
        }
        if self.issuers.is_empty() && !self.audiences.is_empty() {
            return Err(wrong("auth.issuers", "is needed with auth.audiences"));
        }
        const PUBLIC_KEY: &[&str] = &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
        if let Some(bad) = self.algorithms.iter().find(|a| !PUBLIC_KEY.contains(&a.as_str())) {
            return Err(wrong("auth.algorithms", format!("{bad} is not one of {}", PUBLIC_KEY.join(", "))));
        }
        for (key, list) in [("auth.algorithms", &self.algorithms), ("auth.token_types", &self.token_types)] {
            if list.is_empty() {
                return Err(wrong(key, "must name at least one"));
            }
        }
        self.check_introspection()?;
        // Tokens, and the streams opened with them, stay valid longer by this time.
        at_most("auth.clock_skew_seconds", self.clock_skew_seconds, 300)?;
        match &self.token {
            Some(token) if token.expose().len() < MIN_TOKEN => {
                Err(wrong("auth.token", format!("must have at least {MIN_TOKEN} characters; generate one with `openssl rand -base64 32`")))
            }
            Some(token) if !token.expose().bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b)) => {
                Err(wrong("auth.token", "may have letters, digits and -._~+/= only, because it is sent in a header"))
            }
            _ => Ok(()),
        }
    }
}
