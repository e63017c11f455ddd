//! `/auth/visit` and `/auth/adopt`, for the pages of this server: going on without a login, ending that, and taking what was told
//! on a visit into an account.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::{Held, Visits, secret};
use crate::{
    address::{self, ClientAddress},
    audit::Auditor,
    auth::{
        AuthError, CSRF_HEADER, Identity, Writer, csrf_required,
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

/// What the routes work with.
#[derive(Clone)]
pub(crate) struct Visiting {
    pub(crate) visits: Visits,
    pub(crate) usecases: UseCases,
    pub(crate) auditor: Auditor,
    pub(crate) limits: Arc<CallerLimits>,
}

/// `POST /auth/visit`: begins a visit. Always with a new secret and a new user, so that nobody goes on with what somebody else may
/// have left in the browser; what it held before ends.
pub(crate) async fn begin(
    State(visiting): State<Visiting>,
    foreign: Option<Extension<ForeignPage>>,
    request: Request,
) -> Result<Response, ApiError> {
    if foreign.is_some() {
        return Err(ApiError::refused(
            StatusCode::FORBIDDEN,
            "FOREIGN_ORIGIN",
            "Only the pages of this server begin a visit. Open one of them.",
        ));
    }
    let Visiting { visits, usecases, .. } = &visiting;
    let (parts, _) = request.into_parts();
    if visits.is_logged_in(&parts).await? {
        return Err(ApiError::refused(StatusCode::CONFLICT, "ALREADY_LOGGED_IN", "You are logged in. Log out to continue as a visitor."));
    }
    let before = visits.held(&parts.headers, false).await?;
    let origin = parts.extensions.get::<ClientAddress>().map(|client| address::neighbourhood(client.0));
    let Some(held) = visits.begin(origin).await? else {
        let message = "There are too many visitors now. Log in, or try again later.";
        return Err(ApiError::refused(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_VISITS", message));
    };
    if let Some(before) = before {
        end(usecases, before).await?;
    }
    metrics::counter!("recall_visits_total").increment(1);
    let said = json!({ "user": user(&held), "csrfToken": held.secret.csrf(), "expiresAt": held.visit.over_at() });
    let mut response = (StatusCode::CREATED, Json(said)).into_response();
    add(&mut response, visits.cookie(&held.secret));
    // A login that has ended would keep the visit from counting.
    add(&mut response, cookies::set(cookies::LOGIN, "", SentFor::OwnPages, 0));
    Ok(response)
}

/// `DELETE /auth/visit`: ends a visit and deletes everything of the visitor's. Whoever has logged in meanwhile may do so as well.
pub(crate) async fn leave(
    State(visiting): State<Visiting>,
    foreign: Option<Extension<ForeignPage>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Visiting { visits, usecases, .. } = &visiting;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(held) = visits.held(&headers, foreign.is_some()).await? {
        let shown = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).unwrap_or_default();
        let login = cookies::read(&headers, cookies::LOGIN).and_then(Secret::parse);
        let good = |secret: &Secret| bool::from(shown.ct_eq(secret.csrf().as_bytes()));
        if !(good(&held.secret) || login.as_ref().is_some_and(good)) {
            return Err(csrf_required());
        }
        end(usecases, held).await?;
    }
    add(&mut response, gone());
    Ok(response)
}

/// `POST /auth/adopt`: gives what the visit of this browser has to whoever has logged in with it. Both have to be shown, and the
/// page has to ask for it: nothing comes into an account that its owner was not shown.
pub(crate) async fn adopt(
    State(visiting): State<Visiting>,
    Writer(identity): Writer,
    foreign: Option<Extension<ForeignPage>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if identity.caller.role() == ViewerRole::Anonymous {
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "Log in first: a visit cannot take over another."));
    }
    let mut taken = Value::Null;
    if let Some(secret) = secret(&headers, foreign.is_some()) {
        // Of its own, so that whoever hangs up in the middle gets nothing that is not counted and noted.
        let background_tasks = visiting.usecases.background_tasks().clone();
        taken = match background_tasks.run(take_over(visiting, identity, secret.digest())).await {
            Ok(Some(taken)) => taken?,
            Ok(None) => return Err(UseCaseError::Internal { cause: "the process stops".into() }.into()),
            Err(panicked) => return Err(UseCaseError::Internal { cause: panicked.into() }.into()),
        };
    }
    // Asked again, there is nothing left to take.
    let mut response = Json(json!({ "adopted": taken })).into_response();
    add(&mut response, gone());
    Ok(response)
}

/// Takes what a visit has into the account of an identity, and says what that was.
async fn take_over(visiting: Visiting, identity: Identity, visit: TokenDigest) -> Result<Value, ApiError> {
    let Visiting { usecases, auditor, limits, .. } = &visiting;
    let Some(adoption) = usecases.adopt(&identity.caller, visit).await? else { return Ok(Value::Null) };
    limits.messages_came(identity.caller, adoption.told).await;
    auditor.of_request(usecases.now(), &identity, AuditAction::VisitAdopted, Some(adoption.visitor.to_string())).await;
    usecases.settle_soon(&identity.caller).await;
    Ok(json!({ "sessions": adoption.sessions, "messages": adoption.messages, "facts": adoption.facts }))
}

impl Visits {
    /// What the page is told about a visit, and a cookie that lasts as long as the visit does from now on.
    pub(in crate::auth) async fn told(
        &self,
        headers: &HeaderMap,
        foreign: bool,
    ) -> Result<Option<(Value, Option<HeaderValue>)>, AuthError> {
        let Some(held) = self.held(headers, foreign).await? else { return Ok(None) };
        let said = json!({
            "user": user(&held), "csrfToken": held.secret.csrf(), "expiresAt": held.visit.over_at(),
            "messages": self.0.config.messages.saturating_sub(held.visit.messages_left),
        });
        Ok(Some((said, self.cookie(&held.secret))))
    }

    fn cookie(&self, secret: &Secret) -> Option<HeaderValue> {
        cookies::set(cookies::VISIT, secret.text(), SentFor::OwnPages, self.0.config.lasts.as_secs())
    }
}

/// Ends the visit that a browser holds which logs out: nobody who comes after finds anything.
pub(in crate::auth) async fn end_held(visiting: &Visiting, headers: &HeaderMap, response: &mut Response) {
    match visiting.visits.held(headers, false).await {
        Ok(Some(held)) => {
            if let Err(error) = end(&visiting.usecases, held).await {
                tracing::warn!(code = error.code(), "a visit could not be ended and will be when its time is over");
            }
            add(response, gone());
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "a visit could not be looked for"),
    }
}

async fn end(usecases: &UseCases, held: Held) -> Result<(), ApiError> {
    usecases.erase_everything(&held.caller).await?;
    Ok(())
}

fn user(held: &Held) -> Value {
    json!({ "id": held.caller.user().to_string(), "name": null, "role": "ANONYMOUS" })
}

fn gone() -> Option<HeaderValue> {
    cookies::set(cookies::VISIT, "", SentFor::OwnPages, 0)
}

fn add(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(axum::http::header::SET_COOKIE, cookie);
    }
}
