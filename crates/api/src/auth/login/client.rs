//! OAuth 2.0 client of the issuer (RFC 6749): authorization URL, code exchange, refresh and revocation.

use std::{sync::Arc, time::Duration};

use axum::http;
use futures_util::future::BoxFuture;
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, Client as OAuthClient, ClientId, ClientSecret, CsrfToken, ExtraTokenFields, HttpRequest,
    HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope, StandardRevocableToken,
    StandardTokenResponse, TokenResponse, TokenUrl,
    basic::{BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse, BasicTokenType},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{super::token::ProviderMetadata, attempt::Attempt};
use recall_domain::ProviderToken;
use recall_ports::{FetchError, PostForms};

type TokenEndpointResponse = StandardTokenResponse<IdToken, BasicTokenType>;
type ConfiguredClient = OAuthClient<
    BasicErrorResponse,
    TokenEndpointResponse,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
>;

#[derive(Debug, Deserialize, Serialize)]
struct IdToken {
    id_token: Option<String>,
}

impl ExtraTokenFields for IdToken {}

/// The tokens that the issuer returned.
pub(super) struct TokenSet {
    pub(super) id: Option<String>,
    pub(super) access: String,
    pub(super) refresh: Option<ProviderToken>,
    /// Lifetime of the access token.
    pub(super) expires_in: Option<Duration>,
    /// The granted scopes; `None` if they are those that were requested.
    pub(super) scopes: Option<Vec<String>>,
}

/// Why the exchange of a code or refresh token failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExchangeError {
    /// The issuer refused the code or token. A retry would not help.
    #[error("the issuer refused: {0}")]
    Refused(&'static str),
    /// The issuer cannot be reached, or its response is malformed.
    #[error("the issuer is not available: {0}")]
    Unavailable(String),
}

/// The OpenID Connect client of this server.
pub(super) struct OidcClient {
    id: String,
    secret: Option<String>,
    redirect: String,
    forms: Arc<dyn PostForms>,
}

impl OidcClient {
    pub(super) fn new(id: String, secret: Option<String>, redirect: String, forms: Arc<dyn PostForms>) -> Self {
        Self { id, secret, redirect, forms }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn base(&self, metadata: &ProviderMetadata) -> ConfiguredClient {
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let has = |name: &str| methods.iter().any(|m| m == name);
        let client = ConfiguredClient::new(ClientId::new(self.id.clone()));
        let client = match &self.secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.clone())),
            None => client,
        };
        let in_body = !has("client_secret_basic") && has("client_secret_post");
        client.set_auth_type(if in_body { AuthType::RequestBody } else { AuthType::BasicAuth })
    }

    /// Builds the authorization URL; `None` if the issuer names no endpoint.
    pub(super) fn authorization(&self, metadata: &ProviderMetadata, attempt: &Attempt, scopes: &[String]) -> Option<String> {
        let url = AuthUrl::new(metadata.authorization_endpoint.clone()?).ok()?;
        let client = self.base(metadata).set_auth_uri(url).set_redirect_uri(RedirectUrl::new(self.redirect.clone()).ok()?);
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(attempt.verifier()));
        let mut request = client.authorize_url(|| CsrfToken::new(attempt.state()));
        request = request.add_scopes(scopes.iter().cloned().map(Scope::new)).set_pkce_challenge(challenge);
        request = request.add_extra_param("nonce", attempt.nonce());
        // Without `prompt=consent`, issuers ignore this scope (OpenID Connect Core, section 11).
        if scopes.iter().any(|s| s == "offline_access") {
            request = request.add_extra_param("prompt", "consent");
        }
        Some(request.url().0.into())
    }

    /// Exchanges an authorization code for tokens.
    pub(super) async fn exchange(&self, metadata: &ProviderMetadata, code: &str, verifier: String) -> Result<TokenSet, ExchangeError> {
        let redirect = RedirectUrl::new(self.redirect.clone()).map_err(|e| ExchangeError::Unavailable(e.to_string()))?;
        let client = self.base(metadata).set_token_uri(token_url(metadata)?).set_redirect_uri(redirect);
        let request = client.exchange_code(AuthorizationCode::new(code.to_owned())).set_pkce_verifier(PkceCodeVerifier::new(verifier));
        request.request_async(&self.http()).await.map(token_set).map_err(exchange_error)
    }

    /// Exchanges a refresh token for new tokens.
    pub(super) async fn refresh(&self, metadata: &ProviderMetadata, token: &ProviderToken) -> Result<TokenSet, ExchangeError> {
        let client = self.base(metadata).set_token_uri(token_url(metadata)?);
        let token = RefreshToken::new(token.0.clone());
        client.exchange_refresh_token(&token).request_async(&self.http()).await.map(token_set).map_err(exchange_error)
    }

    /// Reads the claims of the userinfo endpoint (OpenID Connect Core, section 5.3); `None` without a valid response.
    ///
    /// It uses POST, which every issuer supports there.
    pub(super) async fn userinfo(&self, metadata: &ProviderMetadata, access: &str) -> Option<Map<String, Value>> {
        let url = metadata.userinfo_endpoint.as_deref()?;
        let bearer = format!("Bearer {access}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/x-www-form-urlencoded")];
        let answer = self.forms.post(url, &headers, Vec::new()).await;
        let answer = answer.inspect_err(|error| tracing::warn!(%error, "cannot reach the userinfo endpoint")).ok()?;
        if answer.status == http::StatusCode::OK.as_u16() { serde_json::from_slice(&answer.body).ok() } else { None }
    }

    /// Revokes a refresh token at the issuer (RFC 7009). A failure is only logged.
    pub(super) async fn revoke(&self, metadata: &ProviderMetadata, token: &ProviderToken) {
        let Some(url) = metadata.revocation_endpoint.clone().and_then(|url| oauth2::RevocationUrl::new(url).ok()) else { return };
        let client = self.base(metadata).set_revocation_url(url);
        let outcome = match client.revoke_token(StandardRevocableToken::RefreshToken(RefreshToken::new(token.0.clone()))) {
            Ok(request) => request.request_async(&self.http()).await.is_ok(),
            // The library requires TLS here, and an issuer on this machine may have none.
            Err(_) => return,
        };
        if !outcome {
            tracing::warn!("cannot revoke a refresh token at its issuer");
        }
    }

    /// Sends the library's requests over the port.
    fn http(&self) -> impl Fn(HttpRequest) -> BoxFuture<'static, Result<HttpResponse, FetchError>> + Send + Sync + use<> {
        let forms = self.forms.clone();
        move |request| {
            let forms = forms.clone();
            Box::pin(async move {
                let (head, body) = request.into_parts();
                let headers: Vec<_> = head.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
                let url = head.uri.to_string();
                let answer = forms.post(&url, &headers, body).await?;
                let mut response = http::Response::new(answer.body);
                *response.status_mut() = http::StatusCode::from_u16(answer.status).unwrap_or(http::StatusCode::BAD_GATEWAY);
                if let Some(media) = answer.content_type.and_then(|t| http::HeaderValue::from_str(&t).ok()) {
                    response.headers_mut().insert(http::header::CONTENT_TYPE, media);
                }
                Ok(response)
            })
        }
    }
}

fn token_url(metadata: &ProviderMetadata) -> Result<TokenUrl, ExchangeError> {
    let url = metadata
        .token_endpoint
        .clone()
        .ok_or_else(|| ExchangeError::Unavailable("its discovery document names no token_endpoint".to_owned()))?;
    TokenUrl::new(url).map_err(|e| ExchangeError::Unavailable(e.to_string()))
}

fn token_set(answer: TokenEndpointResponse) -> TokenSet {
    TokenSet {
        id: answer.extra_fields().id_token.clone(),
        access: answer.access_token().secret().clone(),
        refresh: answer.refresh_token().map(|t| ProviderToken(t.secret().clone())),
        expires_in: answer.expires_in(),
        scopes: answer.scopes().map(|scopes| scopes.iter().map(|s| s.as_str().to_owned()).collect()),
    }
}

/// Classifies an error. It drops the issuer's own text, which may contain tokens.
fn exchange_error(error: RequestTokenError<FetchError, BasicErrorResponse>) -> ExchangeError {
    match error {
        RequestTokenError::ServerResponse(refusal) => match refusal.error() {
            BasicErrorResponseType::InvalidGrant => ExchangeError::Refused("invalid_grant"),
            BasicErrorResponseType::InvalidScope => ExchangeError::Refused("invalid_scope"),
            BasicErrorResponseType::InvalidClient => ExchangeError::Unavailable("it does not know this client".to_owned()),
            BasicErrorResponseType::UnauthorizedClient => {
                ExchangeError::Unavailable("it does not permit this client to do this".to_owned())
            }
            BasicErrorResponseType::InvalidRequest => ExchangeError::Refused("invalid_request"),
            _ => ExchangeError::Unavailable("it refused with another error code".to_owned()),
        },
        RequestTokenError::Request(error) => ExchangeError::Unavailable(error.to_string()),
        RequestTokenError::Parse(..) => ExchangeError::Unavailable("its response is malformed".to_owned()),
        RequestTokenError::Other(_) => ExchangeError::Unavailable("its response does not follow the protocol".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use recall_ports::FormAnswer;

    /// Records requests and always returns the same response.
    #[derive(Default)]
    struct Forms {
        asked: Mutex<Vec<String>>,
        answer: Mutex<(u16, &'static str)>,
    }

    #[async_trait]
    impl PostForms for Forms {
        async fn post(&self, url: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Result<FormAnswer, FetchError> {
            let signed = headers.iter().any(|(name, value)| *name == "authorization" && value.starts_with("Basic "));
            let body = String::from_utf8(body).unwrap();
            self.asked.lock().unwrap().push(format!("{url} {body}{}", if signed { " signed" } else { "" }));
            let (status, answer) = *self.answer.lock().unwrap();
            Ok(FormAnswer { status, content_type: Some("application/json".to_owned()), body: answer.as_bytes().to_vec() })
        }
    }

    fn client(secret: Option<&str>, answer: (u16, &'static str)) -> (Arc<Forms>, OidcClient) {
        let forms = Arc::new(Forms::default());
        *forms.answer.lock().unwrap() = answer;
        (
            forms.clone(),
            OidcClient::new("web".to_owned(), secret.map(str::to_owned), "https://here.example/auth/callback".to_owned(), forms),
        )
    }

    fn metadata(methods: &[&str]) -> ProviderMetadata {
        let at = |path: &str| Some(format!("https://login.example.org/{path}"));
        ProviderMetadata {
            authorization_endpoint: at("authorize?tenant=7"),
            token_endpoint: at("token"),
            revocation_endpoint: at("revoke"),
            userinfo_endpoint: at("userinfo"),
            token_endpoint_auth_methods_supported: Some(methods.iter().map(|m| (*m).to_owned()).collect()),
            ..ProviderMetadata::default()
        }
    }

    #[tokio::test]
    async fn client_authenticates_by_the_method_of_the_issuer() {
        let token = ProviderToken("r".to_owned());
        let good = (200, r#"{"access_token":"a","token_type":"Bearer"}"#);
        for (secret, methods, expected) in [
            (Some("s"), &["client_secret_basic", "client_secret_post"][..], "grant_type=refresh_token&refresh_token=r signed"),
            (Some("s"), &[], "grant_type=refresh_token&refresh_token=r signed"),
            (Some("s"), &["client_secret_post"], "grant_type=refresh_token&refresh_token=r&client_id=web&client_secret=s"),
            (None, &["none"], "grant_type=refresh_token&refresh_token=r&client_id=web"),
        ] {
            let (forms, client) = client(secret, good);
            client.refresh(&metadata(methods), &token).await.unwrap();
            assert_eq!(*forms.asked.lock().unwrap(), [format!("https://login.example.org/token {expected}")]);
        }
        let (forms, client) = client(Some("s"), (200, ""));
        client.revoke(&metadata(&[]), &token).await;
        assert_eq!(*forms.asked.lock().unwrap(), ["https://login.example.org/revoke token=r&token_type_hint=refresh_token signed"]);
    }

    #[tokio::test]
    async fn userinfo_must_be_a_json_object() {
        for (status, answer, read) in [
            (200, r#"{"sub":"anna","roles":["admin"]}"#, true),
            (200, "[]", false),
            (200, "eyJhbGciOiJub25lIn0.e30.", false),
            (401, r#"{"sub":"anna"}"#, false),
            (302, "", false),
        ] {
            let (forms, client) = client(Some("s"), (status, answer));
            assert_eq!(client.userinfo(&metadata(&[]), "a").await.is_some(), read, "{status} {answer}");
            assert_eq!(*forms.asked.lock().unwrap(), ["https://login.example.org/userinfo "]);
        }
        let (forms, client) = client(None, (200, "{}"));
        assert!(client.userinfo(&ProviderMetadata::default(), "a").await.is_none() && forms.asked.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn refusal_is_distinguished_from_unavailable_issuer() {
        for (status, answer, refused) in [
            (400, r#"{"error":"invalid_grant","error_description":"used"}"#, true),
            (400, r#"{"error":"invalid_client"}"#, false),
            (400, r#"{"error":"temporarily_unavailable"}"#, false),
            (400, "", false),
            (500, "<html>", false),
            (503, r#"{"error":"server_error"}"#, false),
            (200, "{}", false),
            (200, "nonsense", false),
            (302, "", false),
        ] {
            let (_, client) = client(None, (status, answer));
            let failed = client.exchange(&metadata(&[]), "c", "v".repeat(43)).await.err().unwrap();
            assert_eq!(matches!(failed, ExchangeError::Refused(_)), refused, "{status} {answer}: {failed}");
        }
    }

    #[test]
    fn offline_access_asks_for_consent() {
        let (_, client) = client(None, (200, ""));
        let attempt = Attempt::new(recall_domain::Timestamp::UNIX_EPOCH, "/").unwrap();
        let address = |scopes: &[&str]| {
            client.authorization(&metadata(&[]), &attempt, &scopes.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        let plain = address(&["openid"]);
        assert!(plain.starts_with("https://login.example.org/authorize?tenant=7&") && !plain.contains("prompt="), "{plain}");
        assert!(address(&["openid", "offline_access"]).contains("prompt=consent"));
    }
}
