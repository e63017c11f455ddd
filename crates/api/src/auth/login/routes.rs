//! `/auth/…`: routes for login, logout and back-channel logout.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::{
    Inner, Logins,
    attempt::{self, Attempt, Secret, local_path},
    cookies::{self, SentFor},
    flow::CallbackParameters,
    read_login_secret,
};
use crate::{
    address::ClientAddress,
    audit::Auditor,
    auth::{
        authenticator::{AuthError, refused},
        csrf::{CSRF_HEADER, csrf_required},
        origin::ForeignPage,
        visit::{self, Visits, routes::VisitState},
    },
    error::ApiError,
};
use recall_domain::{AuditAction, Caller, Login, TokenDigest, UserId, UserText, Word};

/// Login methods of this server.
#[derive(Clone)]
pub(crate) struct LoginMethods {
    /// Browser login at an issuer.
    pub(crate) logins: Option<Logins>,
    /// Visits without a login.
    pub(crate) visits: Option<Visits>,
    /// Whether tokens are accepted.
    pub(crate) tokens: bool,
}

/// `GET /auth/session`: returns the login methods and the current user. It needs no credentials, because pages call it first.
pub(crate) async fn session(
    State(methods): State<LoginMethods>,
    foreign: Option<axum::Extension<ForeignPage>>,
    headers: HeaderMap,
) -> Response {
    let (oidc, visit) = (methods.logins.iter().map(|_| "oidc"), methods.visits.iter().map(|_| "visit"));
    let names: Vec<&str> = oidc.chain(visit).chain(methods.tokens.then_some("token")).collect();
    let mut body = json!({ "methods": names, "user": null, "csrfToken": null, "expiresAt": null });
    let mut cookie = None;
    if let Some((logins, secret)) = methods.logins.as_ref().zip(read_login_secret(&headers, foreign.is_some())) {
        match logins.0.find(secret.digest()).await {
            Ok(Some((caller, login))) => {
                body["user"] = user(&caller, &login);
                body["csrfToken"] = json!(secret.csrf());
                body["expiresAt"] = json!(login.expires_at);
            }
            Ok(None) | Err(AuthError::Missing | AuthError::Invalid) => {}
            Err(error) => return ApiError::from(error).into_response(),
        }
    }
    if let Some(visits) = &methods.visits {
        body["visit"] = Value::Null;
        match visits.session_view(&headers, foreign.is_some()).await {
            Ok(Some((visit, renewed_cookie))) => {
                // With a login, the visit can be adopted into the account. Without one, the visitor is the current user.
                if !cookies::is_present(&headers, cookies::LOGIN) {
                    for field in ["user", "csrfToken", "expiresAt"] {
                        body[field] = visit[field].clone();
                    }
                }
                body["visit"] = json!({ "messages": visit["messages"], "expiresAt": visit["expiresAt"] });
                cookie = renewed_cookie;
            }
            Ok(None) => {}
            Err(error) => return ApiError::from(error).into_response(),
        }
    }
    let mut response = Json(body).into_response();
    add_cookie(&mut response, cookie);
    response
}

fn user(caller: &Caller, login: &Login) -> Value {
    let role = caller.role().word().to_uppercase();
    json!({ "id": caller.user().to_string(), "name": login.name.as_ref().map(UserText::as_str), "role": role })
}

#[derive(Deserialize)]
pub(crate) struct LoginParameters {
    #[serde(default)]
    return_to: String,
}

/// `GET /auth/login`: redirects the browser to the issuer.
pub(crate) async fn login(State(logins): State<Logins>, Query(parameters): Query<LoginParameters>, headers: HeaderMap) -> Response {
    let inner = &logins.0;
    let return_to = local_path(&parameters.return_to).unwrap_or("/");
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    if !inner.origin.matches_host(host) {
        // The issuer redirects to one address only, and a cookie set under another host would be missing there.
        let return_to: String = form_urlencoded::byte_serialize(return_to.as_bytes()).collect();
        return redirect(&format!("{}/auth/login?return_to={return_to}", inner.config.address), &[]);
    }
    match inner.begin(return_to).await {
        Ok((address, attempt)) => redirect(
            &address,
            &[cookies::set(cookies::ATTEMPT, &attempt.cookie(), SentFor::Links, attempt::MAX_AGE_SECONDS.unsigned_abs())],
        ),
        Err(error) => error_response(error, &headers),
    }
}

/// `GET /auth/callback`: completes the login when the browser returns from the issuer.
pub(crate) async fn callback(
    State(logins): State<Logins>,
    headers: HeaderMap,
    auditor: Option<Extension<Auditor>>,
    address: Option<Extension<ClientAddress>>,
    parameters: Result<Query<CallbackParameters>, QueryRejection>,
) -> Response {
    let inner = &logins.0;
    let attempt = cookies::read(&headers, cookies::ATTEMPT).and_then(|cookie| Attempt::parse(cookie, inner.clock.now()));
    let (Some(attempt), Ok(Query(parameters))) = (attempt, parameters) else {
        let message = "This login was started in another browser, or more than ten minutes ago. Log in again.";
        return error_response(ApiError::refused(StatusCode::BAD_REQUEST, "LOGIN_NOT_BEGUN", message), &headers);
    };
    match inner.finish(&attempt, parameters).await {
        Ok(fresh) => {
            // Ends the browser's previous login, so that nobody can continue it.
            if let Some(before) = read_login_secret(&headers, false) {
                inner.end(&before).await;
            }
            inner.note(fresh.digest(), auditor, address, AuditAction::SignedIn).await;
            let lifetime = inner.config.lifetime.as_secs();
            let login = cookies::set(cookies::LOGIN, fresh.text(), SentFor::OwnPages, lifetime);
            redirect(attempt.return_to(), &[login, cookies::set(cookies::ATTEMPT, "", SentFor::Links, 0)])
        }
        Err(error) => error_response(error, &headers),
    }
}

/// `POST /auth/logout`: ends the login. Returns the URL where the browser can log out at the issuer as well.
pub(crate) async fn logout(
    State(logins): State<Logins>,
    foreign: Option<Extension<ForeignPage>>,
    auditor: Option<Extension<Auditor>>,
    came_from: Option<Extension<ClientAddress>>,
    visit_state: Option<Extension<VisitState>>,
    headers: HeaderMap,
) -> Response {
    let inner = &logins.0;
    let mut ended = false;
    let mut address = Value::Null;
    if let Some(secret) = read_login_secret(&headers, foreign.is_some()) {
        let shown = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).unwrap_or_default();
        if !bool::from(shown.ct_eq(secret.csrf().as_bytes())) {
            return csrf_required().into_response();
        }
        inner.note(secret.digest(), auditor, came_from, AuditAction::SignedOut).await;
        inner.end(&secret).await;
        ended = true;
        address = inner.logout_url().await.map_or(Value::Null, Value::String);
    }
    let mut response = Json(json!({ "logoutUrl": address })).into_response();
    add_cookie(&mut response, cookies::set(cookies::LOGIN, "", SentFor::OwnPages, 0));
    if let Some(Extension(visit_state)) = visit_state.filter(|_| ended) {
        visit::routes::end_browser_visit(&visit_state, &headers, &mut response).await;
    }
    response
}

#[derive(Deserialize)]
struct LogoutForm {
    logout_token: String,
}

/// `POST /auth/backchannel-logout`: ends logins after a logout at the issuer (OpenID Connect Back-Channel Logout).
pub(crate) async fn backchannel_logout(
    State(logins): State<Logins>,
    auditor: Option<Extension<Auditor>>,
    address: Option<Extension<ClientAddress>>,
    body: Bytes,
) -> Response {
    let form: Option<LogoutForm> = serde_json::to_value(form_urlencoded::parse(&body).collect::<std::collections::BTreeMap<_, _>>())
        .ok()
        .and_then(|fields| serde_json::from_value(fields).ok());
    let done = match form {
        Some(form) => logins.0.logged_out(&form.logout_token).await,
        None => Err(refused("malformed")),
    };
    match done {
        Ok(users) => {
            for user in users {
                if let Some(Extension(auditor)) = &auditor {
                    let address = address.as_ref().map(|Extension(address)| address.0);
                    auditor.note(logins.0.clock.now(), Some(user), address, AuditAction::SignedOutByIssuer, None).await;
                }
            }
            StatusCode::OK.into_response()
        }
        Err(error @ AuthError::Unavailable(_)) => ApiError::from(error).into_response(),
        Err(_) => (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_request" }))).into_response(),
    }
}

impl Inner {
    /// Writes an audit entry for the user of a login.
    async fn note(
        &self,
        digest: TokenDigest,
        auditor: Option<Extension<Auditor>>,
        address: Option<Extension<ClientAddress>>,
        action: AuditAction,
    ) {
        let now = self.clock.now();
        if let (Some(Extension(auditor)), Ok(Some((caller, _)))) = (auditor, self.store.login(digest, now).await) {
            auditor.note(now, Some(caller.user()), address.map(|Extension(address)| address.0), action, None).await;
        }
    }

    /// Ends a login and revokes its refresh token at the issuer in the background.
    ///
    /// Failures are only logged, because the login and the token expire anyway.
    async fn end(self: &Arc<Self>, secret: &Secret) {
        let (digest, now) = (secret.digest(), self.clock.now());
        let found = self.store.login(digest, now).await.ok().flatten();
        if let Err(error) = self.store.end_login(digest).await {
            tracing::error!(%error, "cannot end a login");
        }
        let Some(token) = found.and_then(|(_, login)| login.renewal).map(|r| r.token) else { return };
        let inner = self.clone();
        self.background_tasks.run(async move {
            if let Ok(metadata) = inner.provider.metadata().await {
                inner.client.revoke(&metadata, &token).await;
            }
        });
    }

    /// Builds the URL that ends the browser's session at the issuer (OpenID Connect RP-Initiated Logout).
    ///
    /// It contains no ID token, which would have to pass through the browser. The issuer therefore asks the user for confirmation.
    async fn logout_url(&self) -> Option<String> {
        let metadata = self.provider.metadata().await.ok()?;
        let endpoint = metadata.end_session_endpoint.as_deref()?;
        let back = format!("{}/", self.config.address);
        let parameters = form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", self.client.id())
            .append_pair("post_logout_redirect_uri", &back)
            .finish();
        Some(format!("{endpoint}{}{parameters}", if endpoint.contains('?') { '&' } else { '?' }))
    }

    /// Ends the logins that a logout token names. Returns their users.
    async fn logged_out(&self, token: &str) -> Result<Vec<UserId>, AuthError> {
        let header = self.tokens.header(token)?;
        // Issuers that predate the type `logout+jwt` use `JWT` or omit the type.
        if header
            .typ
            .as_deref()
            .is_some_and(|t| !["logout+jwt", "application/logout+jwt", "jwt"].contains(&t.to_ascii_lowercase().as_str()))
        {
            return Err(refused("type"));
        }
        let claims = self.provider.verify_signature(token, &header).await?;
        let (of, said_at) = self.expected().logged_out(&claims).map_err(refused)?;
        // Ends no later logins, so that a replayed token does no harm. Tokens contain whole seconds.
        let begun_by = said_at + TimeDelta::seconds(1) + TimeDelta::from_std(self.tokens.rules().skew).unwrap_or_default();
        let ended = self.store.end_logins(&self.config.issuer, &of, begun_by).await.map_err(super::unavailable)?;
        tracing::info!(users = ended.len(), "the issuer ended logins");
        Ok(ended)
    }
}

fn redirect(address: &str, set: &[Option<HeaderValue>]) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return ApiError::internal(Arc::new(std::io::Error::other("the URL is not a valid header value")) as Arc<_>).into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, location);
    set.iter().for_each(|cookie| add_cookie(&mut response, cookie.clone()));
    response
}

fn add_cookie(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// Builds an error response. Browsers get an HTML page, because the user followed a link.
fn error_response(error: ApiError, headers: &HeaderMap) -> Response {
    let html = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("text/html"));
    let (message, code) = (error.message().to_owned(), error.code());
    let mut response = error.into_response();
    if html {
        // Both are constants of this program.
        let text = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Recall</title><h1>Not logged in</h1>\
             <p>{message}</p><p><a href=\"/\">Back to Recall</a> <small>{code}</small></p></html>"
        );
        *response.body_mut() = Body::from(text);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    }
    response
}
