//! Bearer tokens: JWT access tokens (RFC 9068), opaque tokens, personal access tokens and one static token for emergencies.
//!
//! A JWT is accepted only after its signature was verified with a key of the issuer that it names. Before that, its claims only
//! select the key. Opaque tokens are checked by introspection at their issuer.

pub(crate) mod blocklist;
pub(super) mod claims;
mod keys;
mod opaque;
mod provider;
pub(crate) mod revocations;
mod signature;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::{header, request::Parts};
use jsonwebtoken::{Algorithm, Header, dangerous::insecure_decode, decode_header};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

pub use self::opaque::Introspection;
use self::{
    blocklist::{Blocklist, RevocableToken},
    claims::{ClaimError, ClaimRules, TokenGrant},
    opaque::Introspector,
};
pub(super) use self::{keys::ProviderMetadata, provider::Provider};
use super::{
    authenticator::{AuthError, Authenticator, refused},
    identity::{Identity, Permissions, Program, Proof},
    personal,
};
use recall_domain::{Caller, FrontEndKind, Timestamp, UserId, ViewerRole};
use recall_ports::{AccessTokenStore, Clock, Fetch, RevocationStore};

/// Maximum size of a token. Real tokens have one or two kilobytes.
const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Maximum time of a stream with one token, whatever its expiry is.
const MAX_STREAM_TIME: Duration = Duration::from_secs(366 * 24 * 3600);
/// Maximum time of a stream with an opaque token. Only the issuer knows of its revocation, and streams do not ask it.
const MAX_STREAM_TIME_OPAQUE: Duration = Duration::from_secs(3600);

/// Configuration of the accepted tokens.
#[derive(Clone)]
pub struct TokenConfig {
    /// Accepted issuers, exactly as in the tokens.
    pub issuers: Vec<String>,
    /// Accepted audiences; a token must name one of them.
    pub audiences: Vec<String>,
    /// Accepted signature algorithms, with public keys only.
    pub algorithms: Vec<String>,
    /// Accepted values of the `typ` header, without `application/`.
    pub types: Vec<String>,
    /// Claim with the caller's roles; dots lead into objects.
    pub role_claim: String,
    /// The role of administrators.
    pub admin_role: String,
    /// Maximum difference between the clocks of issuer and server.
    pub clock_skew: Duration,
    /// Client for the introspection of opaque tokens; without it they are refused.
    pub introspection: Option<Introspection>,
    /// Store of personal access tokens; without it they are refused.
    pub personal: Option<Arc<dyn AccessTokenStore>>,
    /// Store of revoked tokens of issuers.
    pub revoked: Option<Arc<dyn RevocationStore>>,
    /// A static token without an issuer, with its user.
    pub fixed: Option<(String, UserId)>,
}

/// The configuration names an unsupported algorithm.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a public-key signature algorithm")]
pub struct UnknownAlgorithm(pub String);

/// Authenticates requests with bearer tokens.
pub struct Tokens {
    providers: Vec<Arc<Provider>>,
    rules: ClaimRules,
    algorithms: Vec<Algorithm>,
    introspector: Option<Introspector>,
    personal: Option<Arc<dyn AccessTokenStore>>,
    blocklist: Option<Arc<Blocklist>>,
    fixed: Option<(String, UserId)>,
    clock: Arc<dyn Clock>,
}

impl Tokens {
    /// Creates the authenticator. Without `fetch`, tokens of issuers are refused.
    ///
    /// Nothing is fetched before the first token arrives, so the server starts even if a provider is down.
    ///
    /// # Errors
    /// When an algorithm is unknown or uses a shared secret.
    pub fn new(config: TokenConfig, fetch: Option<&Arc<dyn Fetch>>, clock: Arc<dyn Clock>) -> Result<Self, UnknownAlgorithm> {
        let algorithm = |name: &String| public_key_algorithm(name).ok_or_else(|| UnknownAlgorithm(name.clone()));
        Ok(Self {
            algorithms: config.algorithms.iter().map(algorithm).collect::<Result<_, _>>()?,
            providers: fetch
                .map(|fetch| config.issuers.iter().map(|issuer| Arc::new(Provider::new(issuer, fetch.clone(), clock.clone()))).collect())
                .unwrap_or_default(),
            rules: ClaimRules {
                audiences: config.audiences,
                types: config.types,
                role_claim: config.role_claim,
                admin_role: config.admin_role,
                skew: config.clock_skew,
            },
            introspector: config.introspection.zip(fetch).map(|(client, fetch)| Introspector::new(client, fetch.clone(), clock.clone())),
            personal: config.personal,
            blocklist: config.revoked.map(|store| Arc::new(Blocklist::new(store, clock.clone()))),
            fixed: config.fixed,
            clock,
        })
    }

    /// Reads the keys of every issuer, for `recall check`. Returns the number of usable keys.
    pub async fn probe(&self) -> Vec<(&str, Result<usize, Box<dyn std::error::Error + Send + Sync>>)> {
        futures_util::future::join_all(self.providers.iter().map(async |provider| {
            let outcome = provider.probe().await.and_then(|(keys, can_be_asked)| {
                let must = self.introspector.as_ref().is_some_and(|i| i.is_configured_for(provider));
                if must && !can_be_asked { Err("its discovery document names no introspection_endpoint".into()) } else { Ok(keys) }
            });
            (provider.issuer(), outcome)
        }))
        .await
    }

    /// Checks that an issuer supports browser logins, for `recall check`.
    ///
    /// # Errors
    /// When the issuer cannot be reached, or its discovery document names no login endpoints.
    pub async fn probe_login(&self, issuer: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let metadata = self.provider(issuer).ok_or("it is not configured")?.metadata().await?;
        match (&metadata.authorization_endpoint, &metadata.token_endpoint) {
            (Some(_), Some(_)) => Ok(()),
            _ => Err("its discovery document names no authorization_endpoint or no token_endpoint".into()),
        }
    }

    /// Finds the provider of an issuer.
    pub(super) fn provider(&self, issuer: &str) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|p| p.issuer() == issuer)
    }

    /// The requirements for claims.
    pub(super) fn rules(&self) -> &ClaimRules {
        &self.rules
    }

    /// Verifies a token and returns its identity.
    pub(super) async fn verify(&self, token: &str) -> Result<Identity, AuthError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(refused("too_long"));
        }
        if let Some((secret, user)) = &self.fixed
            && bool::from(secret.as_bytes().ct_eq(token.as_bytes()))
        {
            return Ok(Caller::verified(*user, ViewerRole::Admin).into());
        }
        if let Some(store) = self.personal.as_ref().filter(|_| personal::is_personal_token(token)) {
            return self.verify_personal_token(token, store).await;
        }
        let (granted, longest) = match &self.introspector {
            // A JWT has three parts and is never sent to the introspection endpoint.
            Some(introspector) if token.split('.').count() != 3 => {
                let provider = self.providers.iter().find(|p| introspector.is_configured_for(p)).ok_or_else(|| refused("issuer"))?;
                (introspector.check(token, provider, &self.rules).await?, MAX_STREAM_TIME_OPAQUE)
            }
            _ => (self.verify_jwt(token).await?, MAX_STREAM_TIME),
        };
        let mut proof = None;
        if let Some((blocklist, token)) = self.blocklist.as_ref().zip(granted.token) {
            if blocklist.has(token).await? {
                return Err(refused("revoked"));
            }
            proof = Some(Arc::new(RevocableToken { blocklist: blocklist.clone(), token }) as Arc<dyn Proof>);
        }
        let until = Some(self.stream_deadline(granted.until, longest));
        Ok(Identity {
            caller: granted.caller,
            permissions: granted.permissions,
            manages_tokens: true,
            until,
            proof,
            csrf: None,
            address: None,
            program: Some(Program { kind: FrontEndKind::Client, name: granted.client }),
        })
    }

    /// Verifies a personal access token.
    async fn verify_personal_token(&self, token: &str, store: &Arc<dyn AccessTokenStore>) -> Result<Identity, AuthError> {
        let held = personal::PersonalTokenProof { store: store.clone(), digest: personal::digest_of(token), clock: self.clock.clone() };
        let found = store.use_access_token(held.digest, self.clock.now()).await;
        let (caller, token) = found.map_err(|e| AuthError::Unavailable(Box::new(e)))?.ok_or_else(|| refused("unknown"))?;
        Ok(Identity {
            caller,
            permissions: Permissions::of_scopes(token.scopes.split(' ')),
            manages_tokens: false,
            until: Some(self.stream_deadline(token.expires_at, MAX_STREAM_TIME)),
            proof: Some(Arc::new(held)),
            csrf: None,
            address: None,
            program: Some(Program { kind: FrontEndKind::AccessToken, name: Some(token.name.into_string()) }),
        })
    }

    /// When streams must end that were opened with a credential valid until `until`.
    pub(super) fn stream_deadline(&self, until: Timestamp, longest: Duration) -> Instant {
        Instant::now() + (until - self.clock.now()).to_std().unwrap_or_default().min(longest)
    }

    /// Verifies a JWT and returns what it grants.
    async fn verify_jwt(&self, token: &str) -> Result<TokenGrant, AuthError> {
        let header = self.header(token)?;
        if !self.rules.accepts_type(header.typ.as_deref()) {
            return Err(refused("type"));
        }
        // Not verified yet: this only selects the issuer's keys. `ClaimRules::check` compares the verified claims with the issuer.
        let peeked = insecure_decode::<Map<String, Value>>(token).map_err(|_| refused("malformed"))?;
        let issuer = peeked.claims.get("iss").and_then(Value::as_str);
        let provider = self.providers.iter().find(|p| Some(p.issuer()) == issuer).ok_or_else(|| refused("issuer"))?;
        let claims = provider.verify_signature(token, &header).await?;
        self.rules.check(&claims, provider.issuer(), self.clock.now()).map_err(|error| {
            let refused = refused(error.code());
            // The signature is valid, so the client may learn why the token is refused.
            if error == ClaimError::Bound { AuthError::Bound } else { refused }
        })
    }

    /// Reads the header of a JWT and checks its algorithm.
    pub(super) fn header(&self, token: &str) -> Result<Header, AuthError> {
        let header = decode_header(token).map_err(|_| refused("malformed"))?;
        if !self.algorithms.contains(&header.alg) {
            return Err(refused("algorithm"));
        }
        // The token uses critical extensions, which this server does not support.
        if header.crit.is_some() { Err(refused("type")) } else { Ok(header) }
    }
}

fn public_key_algorithm(name: &str) -> Option<Algorithm> {
    use jsonwebtoken::AlgorithmFamily::Hmac;
    name.parse::<Algorithm>().ok().filter(|a| a.family() != Hmac)
}

/// Reads the token from `Bearer …`; the scheme is not case-sensitive.
pub(super) fn bearer(credentials: &str) -> Option<&str> {
    let (scheme, token) = credentials.split_once(' ')?;
    let token = token.trim_matches(' ');
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.bytes().all(plain)).then_some(token)
}

#[async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        let mut given = parts.headers.get_all(header::AUTHORIZATION).iter();
        match (given.next(), given.next()) {
            (None, _) => Err(AuthError::Missing),
            (Some(one), None) => {
                let token = one.to_str().ok().and_then(bearer).ok_or_else(|| refused("malformed"))?;
                self.verify(token).await
            }
            // A proxy may choose another of the two than this server.
            (Some(_), Some(_)) => Err(refused("malformed")),
        }
    }

    async fn authorize(&self, credentials: &str) -> Option<Result<Identity, AuthError>> {
        Some(match bearer(credentials) {
            Some(token) => self.verify(token).await,
            None => Err(refused("malformed")),
        })
    }

    fn reads_credentials(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_credentials_are_accepted() {
        assert_eq!(bearer("Bearer abc.def-_~+/="), Some("abc.def-_~+/="));
        assert_eq!(bearer("bEARER  a"), Some("a"));
        for bad in ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer a,b", "Bearer \"a\"", "Bearer\ta", "Bearer a\r\nx: y"] {
            assert_eq!(bearer(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn algorithms_without_public_keys_are_refused() {
        for bad in ["none", "None", "HS256", "HS384", "HS512", "", "RS257", "rs256"] {
            assert_eq!(public_key_algorithm(bad), None, "{bad}");
        }
        for good in ["RS256", "PS512", "ES384", "EdDSA"] {
            assert!(public_key_algorithm(good).is_some(), "{good}");
        }
    }
}
