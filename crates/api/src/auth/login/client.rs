//! This server as a client of the issuer (OAuth 2.0, RFC 6749): where people are sent, and what codes and refresh tokens are
//! exchanged for.

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

type Answer = StandardTokenResponse<IdToken, BasicTokenType>;
type Base = OAuthClient<BasicErrorResponse, Answer, BasicTokenIntrospectionResponse, StandardRevocableToken, BasicRevocationErrorResponse>;

#[derive(Debug, Deserialize, Serialize)]
struct IdToken {
    id_token: Option<String>,
}

impl ExtraTokenFields for IdToken {}

/// What a code or a refresh token was exchanged for.
pub(super) struct Tokens {
    pub(super) id: Option<String>,
    pub(super) access: String,
    pub(super) refresh: Option<ProviderToken>,
    /// How long the access token is good.
    pub(super) expires_in: Option<Duration>,
    /// What was granted; what was asked for, when nothing is said.
    pub(super) scopes: Option<Vec<String>>,
}

/// Why there is nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExchangeError {
    /// The issuer takes this code or token for nothing. Another attempt would not help.
    #[error("the issuer refused: {0}")]
    Refused(&'static str),
    /// It cannot be asked now, or answers what nobody can read.
    #[error("the issuer cannot be asked: {0}")]
    Unavailable(String),
}

/// The client.
pub(super) struct Client {
    id: String,
    secret: Option<String>,
    redirect: String,
    forms: Arc<dyn PostForms>,
}

impl Client {
    pub(super) fn new(id: String, secret: Option<String>, redirect: String, forms: Arc<dyn PostForms>) -> Self {
        Self { id, secret, redirect, forms }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn base(&self, metadata: &ProviderMetadata) -> Base {
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let has = |name: &str| methods.iter().any(|m| m == name);
        let client = Base::new(ClientId::new(self.id.clone()));
        let client = match &self.secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.clone())),
            None => client,
        };
        let in_body = !has("client_secret_basic") && has("client_secret_post");
        client.set_auth_type(if in_body { AuthType::RequestBody } else { AuthType::BasicAuth })
    }

    /// Where the browser is sent to log in. `None` when the issuer says nowhere.
    pub(super) fn authorization(&self, metadata: &ProviderMetadata, attempt: &Attempt, scopes: &[String]) -> Option<String> {
        let url = AuthUrl::new(metadata.authorization_endpoint.clone()?).ok()?;
        let client = self.base(metadata).set_auth_uri(url).set_redirect_uri(RedirectUrl::new(self.redirect.clone()).ok()?);
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(attempt.verifier()));
        let mut request = client.authorize_url(|| CsrfToken::new(attempt.state()));
        request = request.add_scopes(scopes.iter().cloned().map(Scope::new)).set_pkce_challenge(challenge);
        request = request.add_extra_param("nonce", attempt.nonce());
        // Without it issuers drop this scope (OpenID Connect Core, section 11).
        if scopes.iter().any(|s| s == "offline_access") {
            request = request.add_extra_param("prompt", "consent");
        }
        Some(request.url().0.into())
    }

    /// What a code is good for.
    pub(super) async fn exchange(&self, metadata: &ProviderMetadata, code: &str, verifier: String) -> Result<Tokens, ExchangeError> {
        let redirect = RedirectUrl::new(self.redirect.clone()).map_err(|e| ExchangeError::Unavailable(e.to_string()))?;
        let client = self.base(metadata).set_token_uri(token_url(metadata)?).set_redirect_uri(redirect);
        let request = client.exchange_code(AuthorizationCode::new(code.to_owned())).set_pkce_verifier(PkceCodeVerifier::new(verifier));
        request.request_async(&self.http()).await.map(tokens).map_err(failure)
    }

    /// What a refresh token is good for.
    pub(super) async fn refresh(&self, metadata: &ProviderMetadata, token: &ProviderToken) -> Result<Tokens, ExchangeError> {
        let client = self.base(metadata).set_token_uri(token_url(metadata)?);
        let token = RefreshToken::new(token.0.clone());
        client.exchange_refresh_token(&token).request_async(&self.http()).await.map(tokens).map_err(failure)
    }

    /// The claims of the userinfo endpoint (OpenID Connect Core, section 5.3); `None` without a readable answer. By POST, which every
    /// issuer takes there.
    pub(super) async fn userinfo(&self, metadata: &ProviderMetadata, access: &str) -> Option<Map<String, Value>> {
        let url = metadata.userinfo_endpoint.as_deref()?;
        let bearer = format!("Bearer {access}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/x-www-form-urlencoded")];
        let answer = self.forms.post(url, &headers, Vec::new()).await;
        let answer = answer.inspect_err(|error| tracing::warn!(%error, "the issuer cannot be asked about a person")).ok()?;
        if answer.status == http::StatusCode::OK.as_u16() { serde_json::from_slice(&answer.body).ok() } else { None }
    }

    /// Tells the issuer that a refresh token is not needed any more (RFC 7009). Nothing depends on it.
    pub(super) async fn revoke(&self, metadata: &ProviderMetadata, token: &ProviderToken) {
        let Some(url) = metadata.revocation_endpoint.clone().and_then(|url| oauth2::RevocationUrl::new(url).ok()) else { return };
        let client = self.base(metadata).set_revocation_url(url);
        let outcome = match client.revoke_token(StandardRevocableToken::RefreshToken(RefreshToken::new(token.0.clone()))) {
            Ok(request) => request.request_async(&self.http()).await.is_ok(),
            // The library demands TLS here; an issuer on this machine has none.
            Err(_) => return,
        };
        if !outcome {
            tracing::warn!("a refresh token could not be revoked at its issuer");
        }
    }

    /// The library's requests over the port.
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
    let url = metadata.token_endpoint.clone().ok_or_else(|| ExchangeError::Unavailable("it names no token endpoint".to_owned()))?;
    TokenUrl::new(url).map_err(|e| ExchangeError::Unavailable(e.to_string()))
}

fn tokens(answer: Answer) -> Tokens {
    Tokens {
        id: answer.extra_fields().id_token.clone(),
        access: answer.access_token().secret().clone(),
        refresh: answer.refresh_token().map(|t| ProviderToken(t.secret().clone())),
        expires_in: answer.expires_in(),
        scopes: answer.scopes().map(|scopes| scopes.iter().map(|s| s.as_str().to_owned()).collect()),
    }
}

/// The issuer's own words stay out of the log: what it answers may hold tokens.
fn failure(error: RequestTokenError<FetchError, BasicErrorResponse>) -> ExchangeError {
    match error {
        RequestTokenError::ServerResponse(refusal) => match refusal.error() {
            BasicErrorResponseType::InvalidGrant => ExchangeError::Refused("invalid_grant"),
            BasicErrorResponseType::InvalidScope => ExchangeError::Refused("invalid_scope"),
            BasicErrorResponseType::InvalidClient => ExchangeError::Unavailable("it does not know this client".to_owned()),
            BasicErrorResponseType::UnauthorizedClient => ExchangeError::Unavailable("this client may not do this".to_owned()),
            BasicErrorResponseType::InvalidRequest => ExchangeError::Refused("invalid_request"),
            _ => ExchangeError::Unavailable("it refused for a reason of its own".to_owned()),
        },
        RequestTokenError::Request(error) => ExchangeError::Unavailable(error.to_string()),
        RequestTokenError::Parse(..) => ExchangeError::Unavailable("its answer cannot be read".to_owned()),
        RequestTokenError::Other(_) => ExchangeError::Unavailable("its answer is not one of the protocol".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use recall_ports::FormAnswer;

    /// Says what it was asked, and answers the same to everything.
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

    fn client(secret: Option<&str>, answer: (u16, &'static str)) -> (Arc<Forms>, Client) {
        let forms = Arc::new(Forms::default());
        *forms.answer.lock().unwrap() = answer;
        (forms.clone(), Client::new("web".to_owned(), secret.map(str::to_owned), "https://here.example/auth/callback".to_owned(), forms))
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
    async fn the_client_shows_itself_as_the_issuer_wants_it() {
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
    async fn userinfo_is_read_when_it_is_an_object() {
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
    async fn a_refusal_is_told_from_an_issuer_in_trouble() {
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
    fn people_are_asked_anew_where_a_lasting_login_is_wanted() {
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
