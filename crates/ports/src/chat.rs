//! Forwards chat requests to a model server, without reading them.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use recall_domain::{Caller, MessageId, TokenCount};

/// The endpoint of the OpenAI protocol at which a chat continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatEndpoint {
    /// `/chat/completions`.
    Completions,
    /// `/responses`.
    Responses,
}

/// A request of the OpenAI protocol, as the client sent it.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The endpoint that it is for.
    pub endpoint: ChatEndpoint,
    /// The JSON body.
    pub body: Bytes,
    /// Whether the reply is streamed.
    pub is_streamed: bool,
}

/// The reply of the model server.
pub struct ChatReply {
    /// The HTTP status.
    pub status: u16,
    /// The headers that a client may use.
    pub headers: Vec<(String, String)>,
    /// The body as it arrives. Dropping it ends the request.
    pub body: BoxStream<'static, Result<Bytes, ChatFailure>>,
}

/// A model server that answers forwarded requests. A request is sent once.
#[async_trait]
pub trait ChatUpstream: Send + Sync {
    /// Returns the name of the configured model.
    fn model(&self) -> &str;
    /// Forwards a chat request.
    ///
    /// # Errors
    /// Fails if there is no reply, or if the caller may use no more tokens. A refusal of the server is a reply.
    async fn chat(&self, caller: &Caller, request: ChatRequest) -> Result<ChatReply, ChatFailure>;
    /// Returns the server's list of models.
    ///
    /// # Errors
    /// Fails if there is no reply.
    async fn models(&self) -> Result<ChatReply, ChatFailure>;
    /// Counts the tokens of a forwarded request for its caller and the message that it answers.
    async fn spend(&self, caller: &Caller, tokens: TokenCount, message: Option<MessageId>);
}

/// Why there is no reply, or no more of it. It never quotes a request or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ChatFailure {
    /// No connection, or the connection broke.
    #[error("the model server is not reachable")]
    Unreachable,
    /// The server was silent for too long, or its reply took too long.
    #[error("the model server did not answer in time")]
    Timeout,
    /// Too many forwarded requests are open.
    #[error("too many requests to the model server are open")]
    Busy,
    /// The token budget of the day is used up.
    #[error("the token budget of the day is used up")]
    OverBudget,
}
