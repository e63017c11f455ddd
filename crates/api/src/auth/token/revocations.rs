//! Revokes unexpired tokens of issuers, such as stolen ones.

use std::sync::Arc;

use super::blocklist::digest_of;
use crate::error::ApiError;
use recall_domain::{Caller, Timestamp, TokenDigest};
use recall_ports::RevocationStore;

/// Revokes tokens of the issuers that the server accepts.
pub(crate) struct Revocations {
    /// The issuers, exactly as in their tokens.
    pub(crate) issuers: Vec<String>,
    /// Store of the revoked tokens.
    pub(crate) store: Arc<dyn RevocationStore>,
}

impl Revocations {
    /// Revokes a token until it expires, and returns its digest. The caller's permission is checked before.
    ///
    /// # Errors
    /// When the issuer is unknown, or the id is empty.
    pub(crate) async fn revoke(
        &self,
        caller: &Caller,
        issuer: &str,
        token_id: &str,
        expires_at: Option<Timestamp>,
    ) -> Result<TokenDigest, ApiError> {
        if !self.issuers.iter().any(|known| known == issuer) {
            let message = "This server accepts no tokens of that issuer. Give an issuer that it accepts.";
            return Err(ApiError::invalid("UNKNOWN_ISSUER", message, "issuer"));
        }
        if token_id.is_empty() {
            let message = "The token's id is empty. Take it from the claim `jti`.";
            return Err(ApiError::invalid("INVALID_TOKEN_ID", message, "tokenId"));
        }
        let token = digest_of(issuer, token_id);
        self.store.revoke_token(caller, token, expires_at).await?;
        Ok(token)
    }
}
