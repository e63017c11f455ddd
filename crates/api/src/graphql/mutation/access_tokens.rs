//! Making and revoking personal access tokens; revoking tokens of issuers.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    auth::{
        personal::{self, NewAccessToken},
        token::blocklist,
    },
    error::ApiError,
    graphql::{
        engine::Issuers,
        model::{AccessTokenNode, UserError, settle},
        page::CHANGE,
        scope::{Needs, note, read_id, scope},
    },
};
use recall_domain::{AccessTokenId, AuditAction, Timestamp};

/// A new personal access token.
#[derive(InputObject)]
pub(crate) struct CreateAccessTokenInput {
    /// What it is for, in 1 to 100 characters.
    name: String,
    /// What it allows: `recall.read`, `recall.write`, and no more than the login it is made with.
    scopes: Vec<String>,
    /// How long it lives, 1 to 366 days; 90 when nothing is said.
    expires_in_days: Option<i32>,
}

/// What came of `createAccessToken`.
#[derive(SimpleObject)]
pub(crate) struct CreateAccessTokenPayload {
    /// The new token.
    access_token: Option<AccessTokenNode>,
    /// What is sent as `Authorization: Bearer …`. It is shown this once and kept nowhere.
    secret: Option<String>,
    /// Why there is none.
    errors: Vec<UserError>,
}

/// The access token to be revoked.
#[derive(InputObject)]
pub(crate) struct RevokeAccessTokenInput {
    /// Which one.
    id: ID,
}

/// What came of `revokeAccessToken`.
#[derive(SimpleObject)]
pub(crate) struct RevokeAccessTokenPayload {
    /// The id of the token that is accepted no more.
    revoked_id: Option<ID>,
    /// Why it was not revoked.
    errors: Vec<UserError>,
}

/// The token of an issuer to be revoked.
#[derive(InputObject)]
pub(crate) struct RevokeTokenInput {
    /// The issuer, exactly as it stands in the token's `iss`.
    issuer: String,
    /// What the issuer calls the token: its `jti`.
    token_id: String,
    /// When the token expires by itself (`exp`); what is noted of it is forgotten then. Without it, it is kept for good.
    expires_at: Option<Timestamp>,
}

/// What came of `revokeToken`.
#[derive(SimpleObject)]
pub(crate) struct RevokeTokenPayload {
    /// Whether the token is believed no more.
    revoked: bool,
    /// Why it was not revoked.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct AccessTokenMutations;

#[Object(guard = "Needs::Write")]
impl AccessTokenMutations {
    /// Makes a personal access token for a script or an agent. It may read and write, but not administer, and needs a login
    /// to be made: no access token makes others.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn create_access_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new token.")] input: CreateAccessTokenInput,
    ) -> async_graphql::Result<CreateAccessTokenPayload> {
        let s = scope(ctx)?;
        let wanted = NewAccessToken { name: input.name, scopes: input.scopes, days: input.expires_in_days };
        let (created, errors) = settle(personal::create(&**s.store(), s.identity(), wanted, s.now).await)?;
        if let Some((token, _)) = &created {
            note(ctx, AuditAction::AccessTokenMade, token.id.to_string()).await?;
        }
        let (access_token, secret) = created.map(|(token, secret)| (AccessTokenNode::from(token), secret)).unzip();
        Ok(CreateAccessTokenPayload { access_token, secret, errors })
    }

    /// Revokes a personal access token: the next request with it is refused, and a stream that was opened with it ends within
    /// ten seconds.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn revoke_access_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The token.")] input: RevokeAccessTokenInput,
    ) -> async_graphql::Result<RevokeAccessTokenPayload> {
        let s = scope(ctx)?;
        let revoke = async {
            personal::require_token_management(s.identity())?;
            let id: AccessTokenId = read_id(&input.id, "input.id")?;
            let revoked = s.store().revoke_access_token(&s.caller, id).await;
            revoked.map_err(|e| ApiError::from(e).at("input.id"))?;
            Ok(ID::from(id))
        };
        let (revoked_id, errors) = settle(revoke.await)?;
        if let Some(id) = &revoked_id {
            note(ctx, AuditAction::AccessTokenRevoked, id.to_string()).await?;
        }
        Ok(RevokeAccessTokenPayload { revoked_id, errors })
    }

    /// Revokes an access token that an issuer gave out, such as one that was stolen, although it has not expired: requests with
    /// it are refused within five seconds, and streams that were opened with it end within ten. For administrators.
    #[graphql(complexity = "CHANGE + child_complexity", guard = "Needs::Admin")]
    async fn revoke_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The token.")] input: RevokeTokenInput,
    ) -> async_graphql::Result<RevokeTokenPayload> {
        let s = scope(ctx)?;
        let issuers = &ctx.data::<Issuers>()?.0;
        let revoke = async {
            if !issuers.contains(&input.issuer) {
                return Err(ApiError::invalid(
                    "UNKNOWN_ISSUER",
                    "This server accepts no tokens of that issuer. Name one of those that it does.",
                    "input.issuer",
                ));
            }
            if input.token_id.is_empty() {
                return Err(ApiError::invalid(
                    "INVALID_TOKEN_ID",
                    "The token's id is empty. Take it from the claim `jti`.",
                    "input.tokenId",
                ));
            }
            let token = blocklist::digest_of(&input.issuer, &input.token_id);
            s.store().revoke_token(&s.caller, token, input.expires_at).await?;
            Ok(token)
        };
        let (revoked, errors) = settle(revoke.await)?;
        if let Some(token) = &revoked {
            let digest = token.0.iter().map(|byte| format!("{byte:02x}")).collect();
            note(ctx, AuditAction::TokenTakenBack, digest).await?;
        }
        Ok(RevokeTokenPayload { revoked: revoked.is_some(), errors })
    }
}
