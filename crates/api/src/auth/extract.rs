//! Extractors: a handler names the permission that it needs as a parameter, and cannot run without it.

use axum::{extract::FromRequestParts, http::request::Parts};

use super::{
    authenticator::AuthError,
    identity::{Identity, Permission},
};
use crate::error::ApiError;

/// Extractor: the verified identity of a request.
#[derive(Clone, Debug)]
pub(crate) struct Authenticated(pub(crate) Identity);

impl<S: Send + Sync> FromRequestParts<S> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| AuthError::Missing.into())
    }
}

macro_rules! extractors {
    ($($(#[$doc:meta])+ $name:ident: $permission:ident),+ $(,)?) => {$(
        $(#[$doc])+
        #[derive(Clone, Debug)]
        pub(crate) struct $name(pub(crate) Identity);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
                let Authenticated(identity) = Authenticated::from_request_parts(parts, state).await?;
                identity.require(Permission::$permission)?;
                Ok(Self(identity))
            }
        }
    )+};
}

extractors! {
    /// Extractor: a caller who may read.
    Reader: Read,
    /// Extractor: a caller who may write.
    Writer: Write,
}

/// Extractor: requires that the caller is an administrator.
pub(crate) struct Administrator;

impl<S: Send + Sync> FromRequestParts<S> for Administrator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Authenticated(identity) = Authenticated::from_request_parts(parts, state).await?;
        identity.require(Permission::Admin)?;
        Ok(Self)
    }
}
