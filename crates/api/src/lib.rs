//! HTTP layer: GraphQL, REST, signaling, event streams, static pages, probes and metrics.
//!
//! It turns requests into calls of use cases, and their results into responses. It must not decide anything about the memory, and
//! must not name a database engine.

mod account_deletion;
mod address;
mod audit;
pub mod auth;
mod body;
mod callers;
mod config;
mod error;
mod event_line;
pub mod event_log;
mod event_stream;
mod export;
mod front_ends;
mod graphql;
mod hourly_warning;
mod ice;
mod layers;
mod limits;
mod mcp;
pub mod openai;
mod openapi;
mod operations;
mod rate;
mod refused_body;
mod rest;
mod router;
mod sampler;
mod server;
mod tls;
mod web;
mod whip;

pub use audit::Auditor;
pub use auth::{
    Authenticator, Identity, LocalUser, Permission, Permissions, ProtectedResource,
    frontend::{FrontendConfig, Frontends},
    login::{LoginConfig, Logins},
    origin::Origin,
    token::{Introspection, TokenConfig, Tokens},
    visit::{VisitConfig, Visits},
};
pub use config::{ApiConfig, ApiState};
pub use error::ApiError;
pub use event_log::{Signaling, events_schema};
pub use graphql::{
    documents::{Admission, Documents},
    schema::sdl,
    throttle::WEBSOCKET_FRAMES,
};
pub use ice::{IceServer, IceServers, TurnConfig};
pub use layers::describe_metrics;
pub use limits::{DocumentLimits, Limits, RateLimit, ResponseLimits};
pub use openai::{Citations, OpenAi, OpenAiSettings};
pub use openapi::openapi;
pub use operations::{Check, Problem};
pub use router::router;
pub use server::{Listener, ServerConfig, serve};
pub use tls::{Tls, TlsError};
