//! Reads documents of other servers over HTTP. Bounded in time and size; a redirect is not followed, since who may be
//! asked is decided by the configuration and not by the one who answers.

use std::time::Duration;

use async_trait::async_trait;

use recall_ports::{Fetch, FetchError, FormAnswer, PostForms};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Longest document.
const MAX_BYTES: usize = 256 * 1024;

/// An HTTP client for small documents.
#[derive(Clone, Debug)]
pub struct WebDocuments {
    client: openai_http::Client,
}

impl WebDocuments {
    /// A client.
    ///
    /// # Errors
    /// When TLS cannot be set up, as on a machine without certificates.
    pub fn new() -> Result<Self, openai_http::Error> {
        // Fails when a provider was installed already, which then serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = openai_http::Client::builder()
            .connect_timeout(CONNECT_WITHIN)
            .timeout(ANSWER_WITHIN)
            .redirect(openai_http::redirect::Policy::none())
            .user_agent(concat!("relevantic-recall/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client })
    }
}

impl WebDocuments {
    async fn read(&self, url: &str, request: openai_http::RequestBuilder) -> Result<Vec<u8>, FetchError> {
        let answer = send(url, request).await?;
        if answer.status() != openai_http::StatusCode::OK {
            return Err(FetchError::Status { url: url.to_owned(), status: answer.status().as_u16() });
        }
        document(url, answer).await
    }
}

async fn send(url: &str, request: openai_http::RequestBuilder) -> Result<openai_http::Response, FetchError> {
    request.header("accept", "application/json").send().await.map_err(|e| unreachable(url, e))
}

async fn document(url: &str, mut answer: openai_http::Response) -> Result<Vec<u8>, FetchError> {
    let mut document = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|e| unreachable(url, e))? {
        if document.len() + chunk.len() > MAX_BYTES {
            return Err(FetchError::TooLong(url.to_owned()));
        }
        document.extend_from_slice(&chunk);
    }
    Ok(document)
}

fn unreachable(url: &str, error: openai_http::Error) -> FetchError {
    FetchError::Unreachable(url.to_owned(), Box::new(error.without_url()))
}

/// Name and secret are encoded before they are joined, so that a colon in the name does no harm.
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[async_trait]
impl Fetch for WebDocuments {
    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        self.read(url, self.client.get(url)).await
    }

    async fn post_form(&self, url: &str, (name, secret): (&str, &str), form: &[(&str, &str)]) -> Result<Vec<u8>, FetchError> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.client.post(url).basic_auth(encoded(name), Some(encoded(secret)));
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
        let answer = send(url, request).await?;
        let status = answer.status().as_u16();
        let content_type = answer.headers().get("content-type").and_then(|v| v.to_str().ok()).map(str::to_owned);
        Ok(FormAnswer { status, content_type, body: document(url, answer).await? })
    }
}
