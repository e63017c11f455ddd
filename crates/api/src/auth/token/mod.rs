//! Bearer tokens: JWT access tokens of configured issuers (RFC 9068), opaque ones that their issuer is asked about,
//! personal access tokens, and one static token for emergencies. A JWT is believed only after its signature was checked with
//! a key of the issuer that it names; what it says before that only chooses which key is tried.

pub(crate) mod blocklist;
pub(super) mod claims;
mod keys;
mod opaque;
mod provider;
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
    blocklist::{Blocklist, Listed},
    claims::{Granted, Problem, Rules},
    opaque::Introspector,
};
pub(super) use self::{keys::ProviderMetadata, provider::Provider};
use super::{AuthError, Authenticator, Identity, Permissions, Proof, personal};
use recall_domain::{Caller, Timestamp, UserId, ViewerRole};
use recall_ports::{AccessTokenStore, Clock, Fetch, RevocationStore};

/// Longest token. Real ones have one or two kilobytes; everything longer is work for nothing.
const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Longest a stream is kept for one token, whatever its expiry says.
const MAX_LIFE: Duration = Duration::from_secs(366 * 24 * 3600);
/// The same for tokens that only their issuer knows to be taken back, so that a stream does not outlive one by much.
const CHECKED_AGAIN_AFTER: Duration = Duration::from_secs(3600);

/// Which tokens are accepted, and what they mean.
#[derive(Clone)]
pub struct TokenConfig {
    /// Issuers, exactly as they stand in the tokens.
    pub issuers: Vec<String>,
    /// A token must be meant for one of these.
    pub audiences: Vec<String>,
    /// Signature algorithms, of public keys only.
    pub algorithms: Vec<String>,
    /// Accepted values of the header `typ`, without `application/`.
    pub types: Vec<String>,
    /// Claim with the caller's roles; dots lead into objects.
    pub role_claim: String,
    /// The role of administrators.
    pub admin_role: String,
    /// How far the clocks of issuer and server may be apart.
    pub clock_skew: Duration,
    /// How to ask about tokens that only their issuer can read; without it they are refused.
    pub introspection: Option<Introspection>,
    /// Where personal access tokens are kept; without it they are refused.
    pub personal: Option<Arc<dyn AccessTokenStore>>,
    /// Where it is noted which tokens of issuers are believed no more.
    pub revoked: Option<Arc<dyn RevocationStore>>,
    /// A token that needs no issuer, and whose it is.
    pub fixed: Option<(String, UserId)>,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a signature algorithm with public keys")]
pub struct UnknownAlgorithm(pub String);

/// Reads bearer tokens.
pub struct Tokens {
    providers: Vec<Arc<Provider>>,
    rules: Rules,
    algorithms: Vec<Algorithm>,
    introspector: Option<Introspector>,
    personal: Option<Arc<dyn AccessTokenStore>>,
    blocklist: Option<Arc<Blocklist>>,
    fixed: Option<(String, UserId)>,
    clock: Arc<dyn Clock>,
}

impl Tokens {
    /// An authenticator. Nothing is fetched before the first token arrives, so that a provider that is down does not keep
    /// the server from starting. Without `fetch` no issuer's token is accepted.
    ///
    /// # Errors
    /// When an algorithm is unknown or works with a shared secret.
    pub fn new(config: TokenConfig, fetch: Option<&Arc<dyn Fetch>>, clock: Arc<dyn Clock>) -> Result<Self, UnknownAlgorithm> {
        let algorithm = |name: &String| public_key_algorithm(name).ok_or_else(|| UnknownAlgorithm(name.clone()));
        Ok(Self {
            algorithms: config.algorithms.iter().map(algorithm).collect::<Result<_, _>>()?,
            providers: fetch
                .map(|fetch| config.issuers.iter().map(|issuer| Arc::new(Provider::new(issuer, fetch.clone(), clock.clone()))).collect())
                .unwrap_or_default(),
            rules: Rules {
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

    /// Asks every issuer for its keys, for an operator who wants to know; how many are usable.
    pub async fn probe(&self) -> Vec<(&str, Result<usize, Box<dyn std::error::Error + Send + Sync>>)> {
        futures_util::future::join_all(self.providers.iter().map(async |provider| {
            let outcome = provider.probe().await.and_then(|(keys, can_be_asked)| {
                let must = self.introspector.as_ref().is_some_and(|i| i.asks(provider));
                if must && !can_be_asked { Err("its discovery document names no introspection_endpoint".into()) } else { Ok(keys) }
            });
            (provider.issuer(), outcome)
        }))
        .await
    }

    /// Whether people can log in by way of an issuer, for an operator who wants to know.
    ///
    /// # Errors
    /// When it cannot be asked, or says of no place where they could.
    pub async fn probe_login(&self, issuer: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let metadata = self.provider(issuer).ok_or("it is not configured")?.metadata().await?;
        match (&metadata.authorization_endpoint, &metadata.token_endpoint) {
            (Some(_), Some(_)) => Ok(()),
            _ => Err("its discovery document names no authorization_endpoint or no token_endpoint".into()),
        }
    }

    /// One of the issuers.
    pub(super) fn provider(&self, issuer: &str) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|p| p.issuer() == issuer)
    }

    /// What is demanded of claims.
    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Who is behind a token.
    pub(super) async fn verify(&self, token: &str) -> Result<Identity, AuthError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(refused("too_long"));
        }
        if let Some((secret, user)) = &self.fixed
            && bool::from(secret.as_bytes().ct_eq(token.as_bytes()))
        {
            return Ok(Caller::verified(*user, ViewerRole::Admin).into());
        }
        if let Some(store) = self.personal.as_ref().filter(|_| personal::is_one(token)) {
            return self.held(token, store).await;
        }
        let (granted, longest) = match &self.introspector {
            // A signed token has three parts, and is never sent to anybody.
            Some(introspector) if token.split('.').count() != 3 => {
                let provider = self.providers.iter().find(|p| introspector.asks(p)).ok_or_else(|| refused("issuer"))?;
                (introspector.check(token, provider, &self.rules).await?, CHECKED_AGAIN_AFTER)
            }
            _ => (self.read(token).await?, MAX_LIFE),
        };
        let mut proof = None;
        if let Some((blocklist, token)) = self.blocklist.as_ref().zip(granted.token) {
            if blocklist.has(token).await? {
                return Err(refused("revoked"));
            }
            proof = Some(Arc::new(Listed { blocklist: blocklist.clone(), token }) as Arc<dyn Proof>);
        }
        let until = Some(self.end(granted.until, longest));
        Ok(Identity {
            caller: granted.caller,
            permissions: granted.permissions,
            manages_tokens: true,
            until,
            proof,
            csrf: None,
            address: None,
        })
    }

    /// Who holds a personal access token.
    async fn held(&self, token: &str, store: &Arc<dyn AccessTokenStore>) -> Result<Identity, AuthError> {
        let held = personal::Held { store: store.clone(), digest: personal::digest_of(token), clock: self.clock.clone() };
        let found = store.use_access_token(held.digest, self.clock.now()).await;
        let (caller, token) = found.map_err(|e| AuthError::Unavailable(Box::new(e)))?.ok_or_else(|| refused("unknown"))?;
        Ok(Identity {
            caller,
            permissions: Permissions::of_scopes(token.scopes.split(' ')),
            manages_tokens: false,
            until: Some(self.end(token.expires_at, MAX_LIFE)),
            proof: Some(Arc::new(held)),
            csrf: None,
            address: None,
        })
    }

    /// When streams end that were opened with a proof that is good until then.
    pub(super) fn end(&self, until: Timestamp, longest: Duration) -> Instant {
        Instant::now() + (until - self.clock.now()).to_std().unwrap_or_default().min(longest)
    }

    /// What a signed token grants.
    async fn read(&self, token: &str) -> Result<Granted, AuthError> {
        let header = self.header(token)?;
        if !self.rules.accepts_type(header.typ.as_deref()) {
            return Err(refused("type"));
        }
        // Not believed yet: it says whose key to try, and the checked claims are compared with it again.
        let peeked = insecure_decode::<Map<String, Value>>(token).map_err(|_| refused("malformed"))?;
        let issuer = peeked.claims.get("iss").and_then(Value::as_str);
        let provider = self.providers.iter().find(|p| Some(p.issuer()) == issuer).ok_or_else(|| refused("issuer"))?;
        let claims = provider.signed(token, &header).await?;
        self.rules.check(&claims, provider.issuer(), self.clock.now()).map_err(|problem| {
            let refused = refused(problem.code());
            // The signature is good, so its bearer may know why the token is not taken.
            if problem == Problem::Bound { AuthError::Bound } else { refused }
        })
    }

    /// The header of a signed token whose algorithm is accepted.
    pub(super) fn header(&self, token: &str) -> Result<Header, AuthError> {
        let header = decode_header(token).map_err(|_| refused("malformed"))?;
        if !self.algorithms.contains(&header.alg) {
            return Err(refused("algorithm"));
        }
        // Whoever signs with extensions that a reader must understand does not mean this one.
        if header.crit.is_some() { Err(refused("type")) } else { Ok(header) }
    }
}

/// Counts why tokens are refused. Their bearers learn no more than that they are not valid.
pub(super) fn refused(reason: &'static str) -> AuthError {
    metrics::counter!("recall_tokens_refused_total", "reason" => reason).increment(1);
    tracing::debug!(reason, "a token was refused");
    AuthError::Invalid
}

fn public_key_algorithm(name: &str) -> Option<Algorithm> {
    use jsonwebtoken::AlgorithmFamily::Hmac;
    name.parse::<Algorithm>().ok().filter(|a| a.family() != Hmac)
}

/// The token in `Bearer …`; the scheme's case does not matter.
fn bearer(credentials: &str) -> Option<&str> {
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
            // Which of two counts would be a matter of taste, and a proxy may have another.
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
    fn only_bearer_credentials_are_read() {
        assert_eq!(bearer("Bearer abc.def-_~+/="), Some("abc.def-_~+/="));
        assert_eq!(bearer("bEARER  a"), Some("a"));
        for bad in ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer a,b", "Bearer \"a\"", "Bearer\ta", "Bearer a\r\nx: y"] {
            assert_eq!(bearer(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn shared_secrets_and_nothing_are_no_algorithms() {
        for bad in ["none", "None", "HS256", "HS384", "HS512", "", "RS257", "rs256"] {
            assert_eq!(public_key_algorithm(bad), None, "{bad}");
        }
        for good in ["RS256", "PS512", "ES384", "EdDSA"] {
            assert!(public_key_algorithm(good).is_some(), "{good}");
        }
    }
}
