//! `/auth/…`: for the pages of this server and their browsers, and for the issuer that ends logins.

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
    flow::Returned,
    secret,
};
use crate::{
    address::ClientAddress,
    audit::Auditor,
    auth::{
        AuthError, CSRF_HEADER, csrf_required,
        origin::ForeignPage,
        token::refused,
        visit::{self, Visits, routes::Visiting},
    },
    error::ApiError,
};
use recall_domain::{AuditAction, Caller, Login, TokenDigest, UserId, UserText, ViewerRole};

/// Where the issuer sends the browser back to.
pub(crate) const CALLBACK: &str = "/auth/callback";

/// Ways in that a server knows.
#[derive(Clone)]
pub(crate) struct LoginMethods {
    /// With a browser, by way of an issuer.
    pub(crate) logins: Option<Logins>,
    /// Without a login.
    pub(crate) visits: Option<Visits>,
    /// With a token.
    pub(crate) tokens: bool,
}

/// `GET /auth/session`: how one may log in here, and who has. Open, because it is asked first.
pub(crate) async fn session(
    State(ways): State<LoginMethods>,
    foreign: Option<axum::Extension<ForeignPage>>,
    headers: HeaderMap,
) -> Response {
    let (oidc, visit) = (ways.logins.iter().map(|_| "oidc"), ways.visits.iter().map(|_| "visit"));
    let methods: Vec<&str> = oidc.chain(visit).chain(ways.tokens.then_some("token")).collect();
    let mut said = json!({ "methods": methods, "user": null, "csrfToken": null, "expiresAt": null });
    let mut cookie = None;
    if let Some((logins, secret)) = ways.logins.as_ref().zip(secret(&headers, foreign.is_some())) {
        match logins.0.find(secret.digest()).await {
            Ok(Some((caller, login))) => {
                said["user"] = user(&caller, &login);
                said["csrfToken"] = json!(secret.csrf());
                said["expiresAt"] = json!(login.expires_at);
            }
            Ok(None) | Err(AuthError::Missing | AuthError::Invalid) => {}
            Err(error) => return ApiError::from(error).into_response(),
        }
    }
    if let Some(visits) = &ways.visits {
        said["visit"] = Value::Null;
        match visits.told(&headers, foreign.is_some()).await {
            Ok(Some((visit, again))) => {
                // Beside a login it is what may be taken into the account; without one it is who the browser's requests are by.
                if !cookies::is_there(&headers, cookies::LOGIN) {
                    for field in ["user", "csrfToken", "expiresAt"] {
                        said[field] = visit[field].clone();
                    }
                }
                said["visit"] = json!({ "messages": visit["messages"], "expiresAt": visit["expiresAt"] });
                cookie = again;
            }
            Ok(None) => {}
            Err(error) => return ApiError::from(error).into_response(),
        }
    }
    let mut response = Json(said).into_response();
    add(&mut response, cookie);
    response
}

fn user(caller: &Caller, login: &Login) -> Value {
    let role = match caller.role() {
        ViewerRole::Admin => "ADMIN",
        ViewerRole::User => "USER",
        ViewerRole::Anonymous => "ANONYMOUS",
    };
    json!({ "id": caller.user().to_string(), "name": login.name.as_ref().map(UserText::as_str), "role": role })
}

#[derive(Deserialize)]
pub(crate) struct Destination {
    #[serde(default)]
    return_to: String,
}

/// `GET /auth/login`: sends the browser to the issuer.
pub(crate) async fn login(State(logins): State<Logins>, Query(wanted): Query<Destination>, headers: HeaderMap) -> Response {
    let inner = &logins.0;
    let return_to = local_path(&wanted.return_to).unwrap_or("/");
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    if !inner.origin.is_at(host) {
        // The issuer knows one address of this server, and a cookie that is set at another would not be there.
        let again: String = form_urlencoded::byte_serialize(return_to.as_bytes()).collect();
        return redirect(&format!("{}/auth/login?return_to={again}", inner.config.address), &[]);
    }
    match inner.begin(return_to).await {
        Ok((address, attempt)) => {
            redirect(&address, &[cookies::set(cookies::ATTEMPT, &attempt.cookie(), SentFor::Links, attempt::SECONDS.unsigned_abs())])
        }
        Err(error) => page(error, &headers),
    }
}

/// `GET /auth/callback`: the browser comes back from the issuer.
pub(crate) async fn callback(
    State(logins): State<Logins>,
    headers: HeaderMap,
    auditor: Option<Extension<Auditor>>,
    address: Option<Extension<ClientAddress>>,
    returned: Result<Query<Returned>, QueryRejection>,
) -> Response {
    let inner = &logins.0;
    let begun = cookies::read(&headers, cookies::ATTEMPT).and_then(|cookie| Attempt::parse(cookie, inner.clock.now()));
    let (Some(attempt), Ok(Query(returned))) = (begun, returned) else {
        let message = "This login was begun in another browser, or more than ten minutes ago. Log in again.";
        return page(ApiError::refused(StatusCode::BAD_REQUEST, "LOGIN_NOT_BEGUN", message), &headers);
    };
    match inner.finish(&attempt, returned).await {
        Ok(fresh) => {
            // What the browser held before is not needed any more, and nobody shall go on with it.
            if let Some(before) = secret(&headers, false) {
                inner.end(&before).await;
            }
            inner.note(fresh.digest(), auditor, address, AuditAction::SignedIn).await;
            let lifetime = inner.config.lifetime.as_secs();
            let login = cookies::set(cookies::LOGIN, fresh.text(), SentFor::OwnPages, lifetime);
            redirect(attempt.return_to(), &[login, cookies::set(cookies::ATTEMPT, "", SentFor::Links, 0)])
        }
        Err(error) => page(error, &headers),
    }
}

/// `POST /auth/logout`: ends the login. Says where the browser can log out of the issuer as well.
pub(crate) async fn logout(
    State(logins): State<Logins>,
    foreign: Option<Extension<ForeignPage>>,
    auditor: Option<Extension<Auditor>>,
    came_from: Option<Extension<ClientAddress>>,
    visiting: Option<Extension<Visiting>>,
    headers: HeaderMap,
) -> Response {
    let inner = &logins.0;
    let mut ended = false;
    let mut address = Value::Null;
    if let Some(secret) = secret(&headers, foreign.is_some()) {
        let shown = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).unwrap_or_default();
        if !bool::from(shown.ct_eq(secret.csrf().as_bytes())) {
            return csrf_required().into_response();
        }
        inner.note(secret.digest(), auditor, came_from, AuditAction::SignedOut).await;
        inner.end(&secret).await;
        ended = true;
        address = inner.logout_address().await.map_or(Value::Null, Value::String);
    }
    let mut response = Json(json!({ "logoutUrl": address })).into_response();
    add(&mut response, cookies::set(cookies::LOGIN, "", SentFor::OwnPages, 0));
    if let Some(Extension(visiting)) = visiting.filter(|_| ended) {
        visit::routes::end_held(&visiting, &headers, &mut response).await;
    }
    response
}

#[derive(Deserialize)]
struct LogoutForm {
    logout_token: String,
}

/// `POST /auth/backchannel-logout`: the issuer says that somebody has logged out there (OpenID Connect Back-Channel Logout).
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
    /// Notes what the person did whose login this is.
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

    /// Ends a login here, and tells the issuer that its refresh token is not needed any more. What cannot be done now ends by
    /// itself, so it keeps nobody from going.
    async fn end(self: &Arc<Self>, secret: &Secret) {
        let (digest, now) = (secret.digest(), self.clock.now());
        let found = self.store.login(digest, now).await.ok().flatten();
        if let Err(error) = self.store.end_login(digest).await {
            tracing::error!(%error, "a login could not be ended");
        }
        let Some(token) = found.and_then(|(_, login)| login.renewal).map(|r| r.token) else { return };
        let inner = self.clone();
        self.background_tasks.run(async move {
            if let Ok(metadata) = inner.provider.metadata().await {
                inner.client.revoke(&metadata, &token).await;
            }
        });
    }

    /// Where the browser ends its session with the issuer (OpenID Connect RP-Initiated Logout). Without the ID token, which
    /// would have to pass through the browser, the issuer asks the person first.
    async fn logout_address(&self) -> Option<String> {
        let metadata = self.provider.metadata().await.ok()?;
        let endpoint = metadata.end_session_endpoint.as_deref()?;
        let back = format!("{}/", self.config.address);
        let parameters = form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", self.client.id())
            .append_pair("post_logout_redirect_uri", &back)
            .finish();
        Some(format!("{endpoint}{}{parameters}", if endpoint.contains('?') { '&' } else { '?' }))
    }

    /// Ends logins as a logout token says; whose they were.
    async fn logged_out(&self, token: &str) -> Result<Vec<UserId>, AuthError> {
        let header = self.tokens.header(token)?;
        // Issuers of before the type had a name call it `JWT`, or nothing.
        if header
            .typ
            .as_deref()
            .is_some_and(|t| !["logout+jwt", "application/logout+jwt", "jwt"].contains(&t.to_ascii_lowercase().as_str()))
        {
            return Err(refused("type"));
        }
        let claims = self.provider.signed(token, &header).await?;
        let (of, said_at) = self.expected().logged_out(&claims).map_err(refused)?;
        // Not those that began later: so a token that is sent again does no harm. Tokens tell the time in whole seconds.
        let begun_by = said_at + TimeDelta::seconds(1) + TimeDelta::from_std(self.tokens.rules().skew).unwrap_or_default();
        let ended = self.store.end_logins(&self.config.issuer, &of, begun_by).await.map_err(super::unavailable)?;
        tracing::info!(users = ended.len(), "the issuer ended logins");
        Ok(ended)
    }
}

fn redirect(address: &str, set: &[Option<HeaderValue>]) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return ApiError::internal(Arc::new(std::io::Error::other("an address cannot stand in a header")) as Arc<_>).into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, location);
    set.iter().for_each(|cookie| add(&mut response, cookie.clone()));
    response
}

fn add(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// An error for whoever asked: people get a page, as they came here by a link.
fn page(error: ApiError, headers: &HeaderMap) -> Response {
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
