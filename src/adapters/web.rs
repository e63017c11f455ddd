//! Reads documents of other servers over HTTP. Bounded in time and size; a redirect is not followed, since who may be
//! asked is decided by the configuration and not by the one who answers.

use std::time::Duration;

use async_trait::async_trait;

use crate::ports::{Fetch, FetchError};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Longest document.
const MAX_BYTES: usize = 256 * 1024;

/// An HTTP client for small documents.
#[derive(Clone, Debug)]
pub struct WebDocuments {
    client: reqwest::Client,
}

impl WebDocuments {
    /// A client.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new() -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_WITHIN)
            .timeout(ANSWER_WITHIN)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("relevantic-recall/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client })
    }
}

#[async_trait]
impl Fetch for WebDocuments {
    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let unreachable = |e: reqwest::Error| FetchError::Unreachable(url.to_owned(), Box::new(e.without_url()));
        let mut answer = self.client.get(url).header("accept", "application/json").send().await.map_err(unreachable)?;
        if answer.status() != reqwest::StatusCode::OK {
            return Err(FetchError::Status { url: url.to_owned(), status: answer.status().as_u16() });
        }
        let mut document = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
            if document.len() + chunk.len() > MAX_BYTES {
                return Err(FetchError::TooLong(url.to_owned()));
            }
            document.extend_from_slice(&chunk);
        }
        Ok(document)
    }
}
