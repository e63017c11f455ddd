//! Reading small documents of other servers, such as what a login provider says about itself or about a token.

use async_trait::async_trait;

/// Reads documents over HTTP. An implementation bounds time and size, and follows no redirect.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// The bytes of a document.
    ///
    /// # Errors
    /// When it cannot be had now, whatever the reason.
    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError>;

    /// The answer to a form, sent under a name with a secret (RFC 6749, section 2.3.1).
    ///
    /// # Errors
    /// As [`Self::get`].
    async fn post_form(&self, url: &str, client: (&str, &str), form: &[(&str, &str)]) -> Result<Vec<u8>, FetchError>;
}

/// What was answered to a form.
#[derive(Debug)]
pub struct FormAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The media type, if one was given.
    pub content_type: Option<String>,
    /// The document.
    pub body: Vec<u8>,
}

/// Sends forms, for those who read refusals as well. Bounded as [`Fetch`] is.
#[async_trait]
pub trait PostForms: Send + Sync {
    /// The answer to a form, whatever its status.
    ///
    /// # Errors
    /// When there is none.
    async fn post(&self, url: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Result<FormAnswer, FetchError>;
}

/// A document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nobody answered, or not in time.
    #[error("{0} cannot be reached")]
    Unreachable(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer was another than the document.
    #[error("{url} answered with status {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The document is longer than any of its kind.
    #[error("{0} is too long")]
    TooLong(String),
}
