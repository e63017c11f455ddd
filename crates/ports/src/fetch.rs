//! Reads small documents of other servers, such as a login provider's metadata.

use async_trait::async_trait;

/// Reads documents over HTTP. Implementations limit time and size, and follow no redirects.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Returns the bytes of a document.
    ///
    /// # Errors
    /// Fails if the document cannot be read.
    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError>;

    /// Sends a form with client credentials (RFC 6749, section 2.3.1) and returns the reply.
    ///
    /// # Errors
    /// See [`Self::get`].
    async fn post_form(&self, url: &str, client: (&str, &str), form: &[(&str, &str)]) -> Result<Vec<u8>, FetchError>;
}

/// The reply to a form.
#[derive(Debug)]
pub struct FormAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The media type, if one was given.
    pub content_type: Option<String>,
    /// The document.
    pub body: Vec<u8>,
}

/// Sends forms and returns error replies too. Limited as [`Fetch`] is.
#[async_trait]
pub trait PostForms: Send + Sync {
    /// Returns the reply to a form, whatever its status.
    ///
    /// # Errors
    /// Fails if there is no reply.
    async fn post(&self, url: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Result<FormAnswer, FetchError>;
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server did not answer in time.
    #[error("{0} cannot be reached")]
    Unreachable(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The reply has another status than success.
    #[error("{url} answered with status {status}")]
    Status {
        /// The requested URL.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The document exceeds the size limit.
    #[error("{0} is too long")]
    TooLong(String),
}
