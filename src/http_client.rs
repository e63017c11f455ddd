//! Reads documents of identity providers over HTTP, with limits on time and size.
//!
//! The client follows no redirects: the configuration decides which servers it may contact.

use std::time::Duration;

use async_trait::async_trait;

use recall_ports::{Fetch, FetchError, FormAnswer, PostForms};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of a document in bytes.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// An HTTP client for small documents.
#[derive(Clone, Debug)]
pub struct WebDocuments {
    client: openai_http::Client,
}

impl WebDocuments {
    /// Builds a client with the certificates of this machine.
    ///
    /// # Errors
    /// If TLS cannot be set up, for example on a machine without CA certificates.
    pub fn new() -> Result<Self, openai_http::Error> {
        // Fails if a provider is already installed; then that provider is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = openai_http::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .redirect(openai_http::redirect::Policy::none())
            .user_agent(concat!("relevantic-recall/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client })
    }
}

impl WebDocuments {
    async fn read(&self, url: &str, request: openai_http::RequestBuilder) -> Result<Vec<u8>, FetchError> {
        let response = send(url, request).await?;
        if response.status() != openai_http::StatusCode::OK {
            return Err(FetchError::Status { url: url.to_owned(), status: response.status().as_u16() });
        }
        read_body(url, response).await
    }
}

async fn send(url: &str, request: openai_http::RequestBuilder) -> Result<openai_http::Response, FetchError> {
    request.header("accept", "application/json").send().await.map_err(|e| unreachable(url, e))
}

async fn read_body(url: &str, mut response: openai_http::Response) -> Result<Vec<u8>, FetchError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|e| unreachable(url, e))? {
        if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
            return Err(FetchError::TooLong(url.to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn unreachable(url: &str, error: openai_http::Error) -> FetchError {
    FetchError::Unreachable(url.to_owned(), Box::new(error.without_url()))
}

/// Encodes a client id or secret for basic authentication, so that a colon in the client id is harmless.
fn form_encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[async_trait]
impl Fetch for WebDocuments {
    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        self.read(url, self.client.get(url)).await
    }

    async fn post_form(&self, url: &str, (name, secret): (&str, &str), form: &[(&str, &str)]) -> Result<Vec<u8>, FetchError> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.client.post(url).basic_auth(form_encode(name), Some(form_encode(secret)));
        self.read(url, request.header("content-type", "application/x-www-form-urlencoded").body(body)).await
    }
}

#[async_trait]
impl PostForms for WebDocuments {
    async fn post(&self, url: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Result<FormAnswer, FetchError> {
        let mut request = self.client.post(url).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = send(url, request).await?;
        let status = response.status().as_u16();
        let content_type = response.headers().get("content-type").and_then(|v| v.to_str().ok()).map(str::to_owned);
        Ok(FormAnswer { status, content_type, body: read_body(url, response).await? })
    }
}
