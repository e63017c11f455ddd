//! Why a model server gave nothing usable. An error never quotes what was sent or what came back: servers repeat the
//! request in their complaints, and the request is what people wrote.

use std::time::Duration;

use async_openai::error::OpenAIError;
use openai_http::{Response, StatusCode, header::RETRY_AFTER};
use serde::Deserialize;

/// Longest complaint of a server that is read.
const MAX_COMPLAINT: usize = 64 * 1024;
/// Longest sentence of a complaint that is taken to speak of one field.
const LONGEST_SENTENCE: usize = 300;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The client cannot be made.
    #[error("{0}")]
    Setup(&'static str),
    /// No connection, no answer in time, or an answer of status 5xx.
    #[error("{0}")]
    Unreachable(String),
    /// The server asks to come back later.
    #[error("the server is busy")]
    Busy {
        /// When to try again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The server does not accept the request.
    #[error("the server refused the request: status {status}, code {code}")]
    Rejected {
        /// HTTP status.
        status: u16,
        /// Its code for the reason, when it is a plain word.
        code: String,
        /// What the complaint is about.
        about: About,
    },
    /// The answer is not what the protocol says.
    #[error("the server's answer is not of the protocol: {0}")]
    Malformed(&'static str),
    /// The model declined.
    #[error("the model declined")]
    Declined,
    /// The model reached its limit of tokens.
    #[error("the model's output was cut at its limit")]
    Truncated,
    /// The tokens of the day are used up.
    #[error("the budget of the day is used up")]
    OverBudget,
}

/// Which part of a request a server complains of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
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

    /// A short name for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Unreachable(_) => "unreachable",
            Self::Busy { .. } => "busy",
            Self::Rejected { .. } => "rejected",
            Self::Malformed(_) => "malformed",
            Self::Declined => "declined",
            Self::Truncated => "truncated",
            Self::OverBudget => "over_budget",
        }
    }

    /// A silence that took too long.
    pub(super) fn silent() -> Self {
        Self::Unreachable("the server did not answer in time".to_owned())
    }

    /// Of a request that did not get as far as an answer.
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

    /// Of an answer that is not a success.
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
            if body.len() > MAX_COMPLAINT {
                break;
            }
        }
        let complaint = serde_json::from_slice::<Envelope>(&body).map(|e| e.error.unwrap_or(e.bare)).unwrap_or_default();
        Self::Rejected { status: status.as_u16(), code: complaint.word(), about: complaint.about() }
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

/// Seconds of a `Retry-After`. The other form, a date, would need the server's clock.
fn seconds(value: &str) -> Option<Duration> {
    let n: f64 = value.trim().parse().ok()?;
    (n.is_finite() && (0.0..=86_400.0).contains(&n)).then(|| Duration::from_secs_f64(n))
}

fn about(text: &str) -> About {
    let text = text.to_lowercase();
    [
        ("max_completion_tokens", About::MaxCompletionTokens),
        ("temperature", About::Temperature),
        ("stream_options", About::StreamOptions),
        ("response_format", About::Format),
        ("json_schema", About::Format),
        ("json_object", About::Format),
    ]
    .into_iter()
    .find(|(word, _)| text.contains(word))
    .map_or(About::Other, |(_, about)| about)
}

#[derive(Default, Deserialize)]
struct Envelope {
    #[serde(default)]
    error: Option<Complaint>,
    /// Some servers leave the envelope out.
    #[serde(flatten)]
    bare: Complaint,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Complaint {
    code: serde_json::Value,
    #[serde(rename = "type")]
    kind: serde_json::Value,
    param: serde_json::Value,
    #[serde(alias = "detail")]
    message: serde_json::Value,
}

impl Complaint {
    /// The field it names, or the one that its sentence speaks of. A long sentence may be the request quoted, in which every
    /// field occurs.
    fn about(&self) -> About {
        let text = |v: &serde_json::Value| v.as_str().filter(|t| t.len() <= LONGEST_SENTENCE).map_or(About::Other, about);
        match text(&self.param) {
            About::Other => text(&self.message),
            named => named,
        }
    }

    /// Code or type, if it is a word of a program and not a sentence, which could quote the request.
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
    fn only_plain_words_of_a_complaint_are_kept() {
        let word = |json: &str| serde_json::from_str::<Envelope>(json).map(|e| e.error.unwrap_or(e.bare)).unwrap().word();
        assert_eq!(word(r#"{"error":{"code":"context_length_exceeded","message":"my secret"}}"#), "context_length_exceeded");
        assert_eq!(word(r#"{"error":{"code":404,"type":"invalid_request_error"}}"#), "invalid_request_error");
        assert_eq!(word(r#"{"error":{"code":"You said: my secret"}}"#), "none");
        assert_eq!(word(r#"{"detail":"my secret"}"#), "none");
    }

    #[test]
    fn a_complaint_is_about_the_field_it_names() {
        let about = |json: &str| serde_json::from_str::<Envelope>(json).map(|e| e.error.unwrap_or(e.bare)).unwrap().about();
        assert_eq!(about(r#"{"error":{"param":"temperature","message":"response_format is fine"}}"#), About::Temperature);
        assert_eq!(about(r#"{"error":{"message":"Unsupported: 'max_completion_tokens'"}}"#), About::MaxCompletionTokens);
        assert_eq!(about(r#"{"object":"error","message":"json_schema is not known","param":null}"#), About::Format);
        assert_eq!(about(r#"{"detail":[{"loc":["body","stream_options"]}]}"#), About::Other);
        let quoted = format!("{{\"error\":{{\"message\":\"cannot do {} temperature\"}}}}", "x".repeat(LONGEST_SENTENCE));
        assert_eq!(about(&quoted), About::Other);
    }

    #[test]
    fn a_wait_is_read_in_seconds() {
        assert_eq!(seconds(" 2 "), Some(Duration::from_secs(2)));
        assert_eq!(seconds("0.25"), Some(Duration::from_millis(250)));
        for odd in ["-1", "NaN", "inf", "1e99", "Wed, 21 Oct 2015 07:28:00 GMT", ""] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }
}
