//! Errors of model servers.
//!
//! An error never quotes a request or a response: servers repeat the request in their error messages, and the request
//! contains text of users.

use std::time::Duration;

use async_openai::error::OpenAIError;
use openai_http::{Response, StatusCode, header::RETRY_AFTER};
use serde::Deserialize;

/// Most bytes of an error response that are read.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// Longest error message, in bytes, that is searched for the name of a field.
const MAX_MESSAGE_BYTES: usize = 300;

/// Why a request to a model server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ModelError {
    /// The settings of the client are invalid.
    #[error("{0}")]
    Setup(&'static str),
    /// No connection, no answer in time, or an answer of status 5xx.
    #[error("{0}")]
    Unreachable(String),
    /// The server asks for a later retry.
    #[error("the server is busy")]
    Busy {
        /// How long to wait, if the server says so.
        retry_after: Option<Duration>,
    },
    /// The server rejects the request.
    #[error("the server refused the request: status {status}, code {code}")]
    Rejected {
        /// HTTP status.
        status: u16,
        /// Error code of the server, if it is a plain word.
        code: String,
        /// The field that the error names.
        about: RejectedField,
    },
    /// The response does not follow the protocol.
    #[error("the server's answer is not of the protocol: {0}")]
    Malformed(&'static str),
    /// The model refused to reply.
    #[error("the model declined")]
    Declined,
    /// The reply reached its token limit.
    #[error("the model's output was cut at its limit")]
    Truncated,
    /// The token budget of the day is used up.
    #[error("the budget of the day is used up")]
    OverBudget,
}

/// The field of a request that a server rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectedField {
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// `temperature`.
    Temperature,
    /// `stream_options`.
    StreamOptions,
    /// `response_format`.
    Format,
    /// Anything else.
    Other,
}

impl ModelError {
    /// Whether the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Busy { .. })
    }

    /// Returns the label for metrics.
    pub fn label(&self) -> &'static str {
        self.into()
    }

    /// Makes the error of a timeout.
    pub(super) fn silent() -> Self {
        Self::Unreachable("the server did not answer in time".to_owned())
    }

    /// Makes the error of a request without a response.
    pub(super) fn of_transport(e: &openai_http::Error) -> Self {
        let what = if e.is_timeout() {
            "the server did not answer in time"
        } else if e.is_connect() {
            "the server cannot be connected to"
        } else if e.is_decode() || e.is_body() {
            "the answer broke off"
        } else {
            "the request failed"
        };
        Self::Unreachable(what.to_owned())
    }

    /// Makes the error of a response without a success status.
    pub(super) async fn of_response(mut response: Response) -> Self {
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(seconds);
        if status == StatusCode::TOO_MANY_REQUESTS || (status == StatusCode::SERVICE_UNAVAILABLE && retry_after.is_some()) {
            return Self::Busy { retry_after };
        }
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return Self::Unreachable(format!("the server failed with status {}", status.as_u16()));
        }
        let mut body = Vec::new();
        while let Ok(Some(part)) = response.chunk().await {
            body.extend_from_slice(&part);
            if body.len() > MAX_ERROR_BODY {
                break;
            }
        }
        let detail = serde_json::from_slice::<Envelope>(&body).map(|e| e.error.unwrap_or(e.bare)).unwrap_or_default();
        Self::Rejected { status: status.as_u16(), code: detail.word(), about: detail.about() }
    }
}

impl From<OpenAIError> for ModelError {
    fn from(e: OpenAIError) -> Self {
        match e {
            OpenAIError::Boxed(inner) => {
                inner.downcast::<Self>().map_or_else(|_| Self::Unreachable("the request failed".to_owned()), |known| *known)
            }
            OpenAIError::Reqwest(e) => Self::of_transport(&e),
            OpenAIError::StreamError(_) => Self::Unreachable("the stream broke off".to_owned()),
            OpenAIError::JSONDeserialize(..) => Self::Malformed("not the expected JSON"),
            _ => Self::Malformed("the request could not be made"),
        }
    }
}

/// Parses the seconds of a `Retry-After`. A date is ignored, because it depends on the server's clock.
fn seconds(value: &str) -> Option<Duration> {
    let n: f64 = value.trim().parse().ok()?;
    (n.is_finite() && (0.0..=86_400.0).contains(&n)).then(|| Duration::from_secs_f64(n))
}

fn about(text: &str) -> RejectedField {
    let text = text.to_lowercase();
    [
        ("max_completion_tokens", RejectedField::MaxCompletionTokens),
        ("temperature", RejectedField::Temperature),
        ("stream_options", RejectedField::StreamOptions),
        ("response_format", RejectedField::Format),
        ("json_schema", RejectedField::Format),
        ("json_object", RejectedField::Format),
    ]
    .into_iter()
    .find(|(word, _)| text.contains(word))
    .map_or(RejectedField::Other, |(_, about)| about)
}

#[derive(Default, Deserialize)]
struct Envelope {
    #[serde(default)]
    error: Option<ErrorDetail>,
    /// Some servers send the error without an envelope.
    #[serde(flatten)]
    bare: ErrorDetail,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorDetail {
    code: serde_json::Value,
    #[serde(rename = "type")]
    kind: serde_json::Value,
    param: serde_json::Value,
    #[serde(alias = "detail")]
    message: serde_json::Value,
}

impl ErrorDetail {
    /// Returns the field in `param`, or else in the message.
    ///
    /// A long message may quote the request, which contains every field, so it is not searched.
    fn about(&self) -> RejectedField {
        let text = |v: &serde_json::Value| v.as_str().filter(|t| t.len() <= MAX_MESSAGE_BYTES).map_or(RejectedField::Other, about);
        match text(&self.param) {
            RejectedField::Other => text(&self.message),
            named => named,
        }
    }

    /// Returns code or type if it is a plain word. A sentence could quote the request.
    fn word(&self) -> String {
        let plain = |v: &serde_json::Value| {
            let word = v.as_str()?;
            (!word.is_empty() && word.len() <= 48 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')).then(|| word.to_owned())
        };
        plain(&self.code).or_else(|| plain(&self.kind)).unwrap_or_else(|| "none".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_of_an_error_are_kept() {
        let word = |json: &str| serde_json::from_str::<Envelope>(json).map(|e| e.error.unwrap_or(e.bare)).unwrap().word();
        assert_eq!(word(r#"{"error":{"code":"context_length_exceeded","message":"my secret"}}"#), "context_length_exceeded");
        assert_eq!(word(r#"{"error":{"code":404,"type":"invalid_request_error"}}"#), "invalid_request_error");
        assert_eq!(word(r#"{"error":{"code":"You said: my secret"}}"#), "none");
        assert_eq!(word(r#"{"detail":"my secret"}"#), "none");
    }

    #[test]
    fn rejected_field_is_found_in_the_error() {
        let about = |json: &str| serde_json::from_str::<Envelope>(json).map(|e| e.error.unwrap_or(e.bare)).unwrap().about();
        assert_eq!(about(r#"{"error":{"param":"temperature","message":"response_format is fine"}}"#), RejectedField::Temperature);
        assert_eq!(about(r#"{"error":{"message":"Unsupported: 'max_completion_tokens'"}}"#), RejectedField::MaxCompletionTokens);
        assert_eq!(about(r#"{"object":"error","message":"json_schema is not known","param":null}"#), RejectedField::Format);
        assert_eq!(about(r#"{"detail":[{"loc":["body","stream_options"]}]}"#), RejectedField::Other);
        let quoted = format!("{{\"error\":{{\"message\":\"cannot do {} temperature\"}}}}", "x".repeat(MAX_MESSAGE_BYTES));
        assert_eq!(about(&quoted), RejectedField::Other);
    }

    #[test]
    fn retry_after_is_parsed_as_seconds() {
        assert_eq!(seconds(" 2 "), Some(Duration::from_secs(2)));
        assert_eq!(seconds("0.25"), Some(Duration::from_millis(250)));
        for odd in ["-1", "NaN", "inf", "1e99", "Wed, 21 Oct 2015 07:28:00 GMT", ""] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }
}
