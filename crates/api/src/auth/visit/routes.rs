//! `/auth/visit` and `/auth/adopt`: start and end a visit, and adopt its data into an account.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::{ActiveVisit, Visits, read_visit_secret};
use crate::{
    address::{self, ClientAddress},
    audit::Auditor,
    auth::{
        authenticator::AuthError,
        csrf::{CSRF_HEADER, csrf_required},
        extract::Writer,
        identity::Identity,
        login::{
            attempt::Secret,
            cookies::{self, SentFor},
        },
        origin::ForeignPage,
    },
    error::ApiError,
    rate::CallerLimits,
};
use recall_domain::{AuditAction, TokenDigest, ViewerRole};
use recall_usecases::{UseCaseError, UseCases};

/// State of the routes.
#[derive(Clone)]
pub(crate) struct VisitState {
    pub(crate) visits: Visits,
    pub(crate) usecases: UseCases,
    pub(crate) auditor: Auditor,
    pub(crate) limits: Arc<CallerLimits>,
}

/// `POST /auth/visit`: starts a visit and ends the browser's previous one.
///
/// Each visit has a new secret and a new user, so that nobody continues a visit that another person left in the browser.
pub(crate) async fn begin(
    State(visit_state): State<VisitState>,
    foreign: Option<Extension<ForeignPage>>,
    request: Request,
) -> Result<Response, ApiError> {
    if foreign.is_some() {
        return Err(ApiError::refused(
            StatusCode::FORBIDDEN,
            "FOREIGN_ORIGIN",
            "Only pages of this server can start a visit. Open one of them.",
        ));
    }
    let VisitState { visits, usecases, .. } = &visit_state;
    let (parts, _) = request.into_parts();
    if visits.is_logged_in(&parts).await? {
        return Err(ApiError::refused(StatusCode::CONFLICT, "ALREADY_LOGGED_IN", "You are logged in. Log out to continue as a visitor."));
    }
    let before = visits.find(&parts.headers, false).await?;
    let origin = parts.extensions.get::<ClientAddress>().map(|client| address::network_of(client.0));
    let Some(active) = visits.begin(origin).await? else {
        let message = "There are too many visitors at the moment. Log in, or try again later.";
        return Err(ApiError::refused(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_VISITS", message));
    };
    if let Some(before) = before {
        delete_visit(usecases, before).await?;
    }
    metrics::counter!("recall_visits_total").increment(1);
    let said = json!({ "user": user_json(&active), "csrfToken": active.secret.csrf(), "expiresAt": active.visit.over_at() });
    let mut response = (StatusCode::CREATED, Json(said)).into_response();
    add_cookie(&mut response, visits.cookie(&active.secret));
    // An expired login cookie would hide the visit.
    add_cookie(&mut response, cookies::set(cookies::LOGIN, "", SentFor::OwnPages, 0));
    Ok(response)
}

/// `DELETE /auth/visit`: ends a visit and deletes its data. A user who has logged in meanwhile may use the login's CSRF token.
pub(crate) async fn leave(
    State(visit_state): State<VisitState>,
    foreign: Option<Extension<ForeignPage>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let VisitState { visits, usecases, .. } = &visit_state;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(active) = visits.find(&headers, foreign.is_some()).await? {
        let shown = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).unwrap_or_default();
        let login = cookies::read(&headers, cookies::LOGIN).and_then(Secret::parse);
        let good = |secret: &Secret| bool::from(shown.ct_eq(secret.csrf().as_bytes()));
        if !(good(&active.secret) || login.as_ref().is_some_and(good)) {
            return Err(csrf_required());
        }
        delete_visit(usecases, active).await?;
    }
    add_cookie(&mut response, expired_cookie());
    Ok(response)
}

/// `POST /auth/adopt`: moves the data of this browser's visit into the account that is logged in.
///
/// The request needs both cookies. The page asks the user first, so that no unseen data gets into an account.
pub(crate) async fn adopt(
    State(visit_state): State<VisitState>,
    Writer(identity): Writer,
    foreign: Option<Extension<ForeignPage>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if identity.caller.role() == ViewerRole::Anonymous {
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "A visit cannot adopt another visit. Log in first."));
    }
    let mut adopted = Value::Null;
    if let Some(secret) = read_visit_secret(&headers, foreign.is_some()) {
        // A background task: if the client disconnects, the adoption must still be counted and audited.
        let background_tasks = visit_state.usecases.background_tasks().clone();
        adopted = match background_tasks.run(adopt_visit(visit_state, identity, secret.digest())).await {
            Ok(Some(result)) => result?,
            Ok(None) => return Err(UseCaseError::Internal { cause: "the process is stopping".into() }.into()),
            Err(panicked) => return Err(UseCaseError::Internal { cause: panicked.into() }.into()),
        };
    }
    // A repeated request finds nothing to adopt.
    let mut response = Json(json!({ "adopted": adopted })).into_response();
    add_cookie(&mut response, expired_cookie());
    Ok(response)
}

/// Adopts a visit into the account of an identity and returns what was adopted.
async fn adopt_visit(visit_state: VisitState, identity: Identity, visit: TokenDigest) -> Result<Value, ApiError> {
    let VisitState { usecases, auditor, limits, .. } = &visit_state;
    let Some(adoption) = usecases.adopt(&identity.caller, visit).await? else { return Ok(Value::Null) };
    limits.charge_adopted_messages(identity.caller, adoption.told).await;
    auditor.note_request(usecases.now(), &identity, AuditAction::VisitAdopted, Some(adoption.visitor.to_string())).await;
    usecases.settle_soon(&identity.caller).await;
    Ok(json!({ "sessions": adoption.sessions, "messages": adoption.messages, "facts": adoption.facts }))
}

impl Visits {
    /// Describes the browser's visit for the page. Also returns a cookie with the current lifetime of the visit.
    pub(in crate::auth) async fn session_view(
        &self,
        headers: &HeaderMap,
        foreign: bool,
    ) -> Result<Option<(Value, Option<HeaderValue>)>, AuthError> {
        let Some(active) = self.find(headers, foreign).await? else { return Ok(None) };
        let said = json!({
            "user": user_json(&active), "csrfToken": active.secret.csrf(), "expiresAt": active.visit.over_at(),
            "messages": self.0.config.messages.saturating_sub(active.visit.messages_left),
        });
        Ok(Some((said, self.cookie(&active.secret))))
    }

    fn cookie(&self, secret: &Secret) -> Option<HeaderValue> {
        cookies::set(cookies::VISIT, secret.text(), SentFor::OwnPages, self.0.config.lasts.as_secs())
    }
}

/// Ends the visit of a browser at logout, so that the next person finds no data.
pub(in crate::auth) async fn end_browser_visit(visit_state: &VisitState, headers: &HeaderMap, response: &mut Response) {
    match visit_state.visits.find(headers, false).await {
        Ok(Some(active)) => {
            if let Err(error) = delete_visit(&visit_state.usecases, active).await {
                tracing::warn!(code = error.code(), "cannot end a visit; it ends when it expires");
            }
            add_cookie(response, expired_cookie());
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "cannot look up a visit"),
    }
}

async fn delete_visit(usecases: &UseCases, active: ActiveVisit) -> Result<(), ApiError> {
    usecases.erase_everything(&active.caller).await?;
    Ok(())
}

fn user_json(active: &ActiveVisit) -> Value {
    json!({ "id": active.caller.user().to_string(), "name": null, "role": "ANONYMOUS" })
}

fn expired_cookie() -> Option<HeaderValue> {
    cookies::set(cookies::VISIT, "", SentFor::OwnPages, 0)
}

fn add_cookie(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(axum::http::header::SET_COOKIE, cookie);
    }
}
