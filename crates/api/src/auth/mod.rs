//! Authentication and authorization of requests.
//!
//! This is the only module of the API that creates a `Caller`. Its middleware calls the [`Authenticator`] and puts the identity
//! into the request. A handler without an identity cannot run.

mod authenticator;
mod cors;
mod csrf;
mod extract;
pub mod frontend;
mod identity;
mod local;
pub mod login;
mod metadata;
mod middleware;
pub mod origin;
pub(crate) mod personal;
pub mod token;
pub mod visit;

pub use authenticator::{AuthError, Authenticator};
pub(crate) use csrf::{CSRF_FIELD, has_csrf_token};
pub(crate) use extract::{Administrator, Authenticated, Reader, Writer};
pub(crate) use identity::Lease;
pub use identity::{Identity, Permission, Permissions, Program, Proof};
pub use local::{LocalUser, NotLoopback};
pub use metadata::ProtectedResource;
pub(crate) use metadata::{MCP_METADATA_PATH, METADATA_PATH, mcp_metadata, metadata};
pub(crate) use middleware::{add_metadata_link, authenticate, authenticate_optionally};
