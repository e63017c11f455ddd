//! `/graphql` over HTTP (GraphQL over HTTP, draft of 2025). POST takes JSON, one operation a request. GET runs queries only, and
//! none for a browser that follows a link: that gets the page to try them on.

use async_graphql::{Executor, Request, Response as Outcome, Variables};
use axum::{
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::engine::{Engine, refusal};
use crate::api::{auth::Authenticated, body, error::ApiError, web};

const RESPONSE_JSON: &str = "application/graphql-response+json";

/// Runs a query or a mutation.
pub(crate) async fn post(
    State(engine): State<Engine>,
    Authenticated(identity): Authenticated,
    headers: HeaderMap,
    bytes: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let request: Request = match body::json(&headers, bytes) {
        Ok(request) => request,
        Err(error) => return error.into_response(),
    };
    if request.query.is_empty() {
        let mut response = respond(&headers, &refusal(no_query("The body")));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    }
    respond(&headers, &engine.on_behalf_of(identity, 1).execute(request).await)
}

/// The parameters of a GET. The two maps are JSON within the address.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Parameters {
    #[serde(default)]
    query: String,
    operation_name: Option<String>,
    variables: Option<String>,
}

impl Parameters {
    fn request(self) -> Result<Request, ApiError> {
        if self.query.is_empty() {
            return Err(no_query("The address"));
        }
        let mut request = Request::new(self.query);
        request.operation_name = self.operation_name;
        if let Some(json) = self.variables.filter(|v| !v.is_empty()) {
            let map = serde_json::from_str(&json).ok().filter(serde_json::Value::is_object);
            let message = "`variables` must be a JSON object.";
            request.variables = Variables::from_json(map.ok_or_else(|| ApiError::refused(StatusCode::BAD_REQUEST, "BAD_JSON", message))?);
        }
        Ok(request)
    }
}

/// Runs a query of a program; a browser gets the page.
pub(crate) async fn get(
    State(engine): State<Engine>,
    caller: Result<Authenticated, ApiError>,
    headers: HeaderMap,
    uri: Uri,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Response {
    let html = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("text/html"));
    if html || uri.query().is_none() {
        return web::graphiql(&headers, &uri, html);
    }
    let request = match parameters {
        Ok(Query(parameters)) => parameters.request(),
        Err(_) => Err(ApiError::refused(StatusCode::BAD_REQUEST, "BAD_ADDRESS", "The parameters of the address cannot be read.")),
    };
    match (caller, request) {
        (Ok(Authenticated(identity)), Ok(request)) => match engine.on_behalf_of(identity, 1).query(request).await {
            Ok(outcome) => respond(&headers, &outcome),
            Err(error) => {
                let mut refusal = error.into_response();
                refusal.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
                refusal
            }
        },
        (Err(error), _) | (_, Err(error)) => error.into_response(),
    }
}

fn no_query(place: &str) -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, "QUERY_REQUIRED", format!("{place} has no `query`."))
}

/// With its own media type a request that was refused has a status of its own; `application/json` is always 200. Either way it
/// has no `data`: nothing was run.
fn respond(headers: &HeaderMap, outcome: &Outcome) -> Response {
    let own_type = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains(RESPONSE_JSON));
    let refused = outcome.is_err() && outcome.data == async_graphql::Value::Null && outcome.errors.iter().all(|e| e.path.is_empty());
    let json = match refused {
        true => serde_json::to_vec(&serde_json::json!({ "errors": outcome.errors })),
        false => serde_json::to_vec(outcome),
    };
    let Ok(json) = json else {
        return ApiError::internal(std::sync::Arc::new(std::io::Error::other("a response cannot be written as JSON")) as std::sync::Arc<_>)
            .into_response();
    };
    let mut answer = Response::new(Body::from(json));
    if refused && own_type {
        *answer.status_mut() = StatusCode::BAD_REQUEST;
    }
    let media = HeaderValue::from_static(if own_type { RESPONSE_JSON } else { "application/json" });
    answer.headers_mut().insert(header::CONTENT_TYPE, media);
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
