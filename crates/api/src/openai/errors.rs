//! Errors in the shape of the OpenAI protocol, with the codes of this server.

use axum::{
    Json,
    extract::Request,
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::error::ApiError;
use recall_ports::ChatFailure;

/// Returns the error object of a response or of a stream.
pub(super) fn body(error: &ApiError) -> Value {
    let param = (!error.path().is_empty()).then(|| error.path().join("."));
    json!({ "error": { "message": error.message(), "type": kind(error.status()), "param": param, "code": error.code() } })
}

fn kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    }
}

/// Middleware: gives errors under `/v1/` the shape that clients of the protocol read.
pub(crate) async fn use_openai_errors(request: Request, next: Next) -> Response {
    let applies = request.uri().path().starts_with("/v1/");
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<ApiError>().filter(|_| applies) else { return response };
    let mut shaped = (response.status(), Json(body(&error))).into_response();
    for (name, value) in response.headers() {
        if !matches!(*name, header::CONTENT_TYPE | header::CONTENT_LENGTH) {
            shaped.headers_mut().insert(name, value.clone());
        }
    }
    shaped
}

/// The error for a model that does not exist.
pub(super) fn unknown_model(model: &str) -> ApiError {
    let shown: String = model.chars().filter(|c| !c.is_control()).take(100).collect();
    let message = format!("The model `{shown}` does not exist. Use one of `GET /v1/models`.");
    ApiError::refused(StatusCode::NOT_FOUND, "model_not_found", message).at("model")
}

impl From<ChatFailure> for ApiError {
    fn from(failure: ChatFailure) -> Self {
        let (status, code, message) = match failure {
            ChatFailure::Unreachable => (
                StatusCode::BAD_GATEWAY,
                "UPSTREAM_UNAVAILABLE",
                "The model server cannot be reached, or its reply broke off. Try again later.",
            ),
            ChatFailure::Timeout => {
                (StatusCode::GATEWAY_TIMEOUT, "UPSTREAM_TIMEOUT", "The model server did not answer in time. Try again later.")
            }
            ChatFailure::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, "UPSTREAM_BUSY", "Too many requests to the model server are open. Try again later.")
            }
            ChatFailure::OverBudget => (
                StatusCode::TOO_MANY_REQUESTS,
                "OVER_BUDGET",
                "The token budget of the day is used up. The model `recall` answers without tokens.",
            ),
        };
        ApiError::refused(status, code, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_has_the_shape_of_the_protocol() {
        let error = ApiError::invalid("BAD_MESSAGES", "Wrong.", "messages");
        let expected =
            json!({ "error": { "message": "Wrong.", "type": "invalid_request_error", "param": "messages", "code": "BAD_MESSAGES" } });
        assert_eq!(body(&error), expected);
        assert_eq!(body(&ApiError::from(ChatFailure::Timeout))["error"]["type"], "server_error");
        assert_eq!(unknown_model("x\n").status(), StatusCode::NOT_FOUND);
    }
}
