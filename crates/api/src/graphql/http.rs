//! `/graphql` over HTTP (GraphQL over HTTP, draft of 2025).
//!
//! POST takes JSON with one operation. GET runs only queries. A browser that opens the address gets the playground instead.

use async_graphql::{Executor, Extensions, Request, Response as Outcome, Variables};
use axum::{
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    documents::{document_id, set_document_id},
    engine::Engine,
    response::error_response,
};
use crate::{auth::Authenticated, body, error::ApiError, web};

const RESPONSE_JSON: &str = "application/graphql-response+json";

/// The body of a POST request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostBody {
    #[serde(default)]
    query: String,
    operation_name: Option<String>,
    #[serde(default)]
    variables: Variables,
    #[serde(default)]
    extensions: Extensions,
    document_id: Option<String>,
}

impl From<PostBody> for Request {
    fn from(body: PostBody) -> Self {
        let mut request = Self::new(body.query).variables(body.variables);
        request.operation_name = body.operation_name;
        request.extensions = body.extensions;
        if let Some(id) = body.document_id {
            set_document_id(&mut request, id);
        }
        request
    }
}

/// `POST /graphql`: runs a query or a mutation.
pub(crate) async fn post(
    State(engine): State<Engine>,
    Authenticated(identity): Authenticated,
    headers: HeaderMap,
    bytes: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let request: Request = match body::json::<PostBody>(&headers, bytes) {
        Ok(body) => body.into(),
        Err(error) => return error.into_response(),
    };
    if request.query.is_empty() && document_id(&request).is_none() {
        let mut response = respond(&headers, &error_response(missing_query("The body")));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    }
    respond(&headers, &engine.for_caller(identity, 1).execute(request).await)
}

/// The parameters of a GET request. Variables and extensions are JSON texts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetParameters {
    #[serde(default)]
    query: String,
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
    document_id: Option<String>,
}

impl GetParameters {
    fn request(self) -> Result<Request, ApiError> {
        let mut request = Request::new(self.query);
        request.operation_name = self.operation_name;
        if let Some(map) = parse_object("variables", self.variables)? {
            request.variables = Variables::from_json(map);
        }
        if let Some(map) = parse_object("extensions", self.extensions)? {
            request.extensions = serde_json::from_value(map).map_err(|_| not_an_object("extensions"))?;
        }
        if let Some(id) = self.document_id {
            set_document_id(&mut request, id);
        }
        if request.query.is_empty() && document_id(&request).is_none() {
            return Err(missing_query("The address"));
        }
        Ok(request)
    }
}

/// Parses a parameter that contains a JSON object.
fn parse_object(parameter: &str, json: Option<String>) -> Result<Option<serde_json::Value>, ApiError> {
    let Some(json) = json.filter(|json| !json.is_empty()) else { return Ok(None) };
    let map = serde_json::from_str(&json).ok().filter(serde_json::Value::is_object);
    map.map(Some).ok_or_else(|| not_an_object(parameter))
}

fn not_an_object(parameter: &str) -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, "BAD_JSON", format!("`{parameter}` must be a JSON object."))
}

/// `GET /graphql`: runs a query; a browser gets the playground.
pub(crate) async fn get(
    State(engine): State<Engine>,
    caller: Result<Authenticated, ApiError>,
    headers: HeaderMap,
    uri: Uri,
    parameters: Result<Query<GetParameters>, QueryRejection>,
) -> Response {
    let html = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("text/html"));
    if html || uri.query().is_none() {
        return web::graphiql(&headers, &uri, html);
    }
    let request = match parameters {
        Ok(Query(parameters)) => parameters.request(),
        Err(_) => Err(ApiError::refused(
            StatusCode::BAD_REQUEST,
            "BAD_ADDRESS",
            "The parameters of the address cannot be read. Check their encoding.",
        )),
    };
    match (caller, request) {
        (Ok(Authenticated(identity)), Ok(request)) => match engine.for_caller(identity, 1).query(request).await {
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

fn missing_query(place: &str) -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, "QUERY_REQUIRED", format!("{place} has no `query`."))
}

/// Writes a response in the media type that the client accepts.
///
/// A refused request has the status 400 in GraphQL's own media type, and 200 in `application/json`. Neither has `data`, because
/// nothing was run.
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
