//! Mutations that create and revoke personal access tokens, and that revoke tokens of identity providers.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    auth::{
        personal::{AccessTokens, NewAccessToken},
        token::revocations::Revocations,
    },
    graphql::{
        model::{AccessTokenNode, UserError, split_user_errors},
        page::CHANGE,
        scope::{Needs, audit, read_id, scope, service},
        time_input::{TimeInput, read_time},
    },
};
use recall_domain::{AccessTokenId, AuditAction};

/// A new personal access token.
#[derive(InputObject)]
pub(crate) struct CreateAccessTokenInput {
    /// The name, 1 to 100 characters.
    name: String,
    /// The scopes: `recall.read`, `recall.write`. They cannot exceed those of the login that creates the token.
    scopes: Vec<String>,
    /// The lifetime in days, 1 to 366. Default: 90.
    expires_in_days: Option<i32>,
}

/// The result of `createAccessToken`.
#[derive(SimpleObject)]
pub(crate) struct CreateAccessTokenPayload {
    /// The new token.
    access_token: Option<AccessTokenNode>,
    /// The secret to send as `Authorization: Bearer …`. The server returns it only once and does not store it.
    secret: Option<String>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The personal access token to revoke.
#[derive(InputObject)]
pub(crate) struct RevokeAccessTokenInput {
    /// The id of the token.
    id: ID,
}

/// The result of `revokeAccessToken`.
#[derive(SimpleObject)]
pub(crate) struct RevokeAccessTokenPayload {
    /// The id of the revoked token.
    revoked_id: Option<ID>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The token of an identity provider to revoke.
#[derive(InputObject)]
pub(crate) struct RevokeTokenInput {
    /// The issuer, exactly as in the token's claim `iss`.
    issuer: String,
    /// The id of the token, from its claim `jti`.
    token_id: String,
    /// When the token expires (`exp`). The server forgets the revocation then. Default: the revocation is kept forever.
    expires_at: Option<TimeInput>,
}

/// The result of `revokeToken`.
#[derive(SimpleObject)]
pub(crate) struct RevokeTokenPayload {
    /// Whether the token was revoked.
    revoked: bool,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct AccessTokenMutations;

#[Object(guard = "Needs::Write")]
impl AccessTokenMutations {
    /// Creates a personal access token for a script or an agent. It can read and write, but not administer. Requires a login; a
    /// personal access token cannot create tokens.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn create_access_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new token.")] input: CreateAccessTokenInput,
    ) -> async_graphql::Result<CreateAccessTokenPayload> {
        let s = scope(ctx)?;
        let wanted = NewAccessToken { name: input.name, scopes: input.scopes, days: input.expires_in_days };
        let create = async { service::<AccessTokens>(ctx)?.managed_by(s.identity())?.create(wanted, s.now).await };
        let (created, errors) = split_user_errors(create.await)?;
        if let Some((token, _)) = &created {
            audit(ctx, AuditAction::AccessTokenMade, token.id.to_string()).await?;
        }
        let (access_token, secret) = created.map(|(token, secret)| (AccessTokenNode::from(token), secret)).unzip();
        Ok(CreateAccessTokenPayload { access_token, secret, errors })
    }

    /// Revokes a personal access token. Later requests with it are refused, and its open streams end within ten seconds.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn revoke_access_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The token.")] input: RevokeAccessTokenInput,
    ) -> async_graphql::Result<RevokeAccessTokenPayload> {
        let s = scope(ctx)?;
        let revoke = async {
            let tokens = service::<AccessTokens>(ctx)?.managed_by(s.identity())?;
            let id: AccessTokenId = read_id(&input.id, "input.id")?;
            tokens.revoke(id).await.map_err(|e| e.at("input.id"))?;
            Ok(ID::from(id))
        };
        let (revoked_id, errors) = split_user_errors(revoke.await)?;
        if let Some(id) = &revoked_id {
            audit(ctx, AuditAction::AccessTokenRevoked, id.to_string()).await?;
        }
        Ok(RevokeAccessTokenPayload { revoked_id, errors })
    }

    /// Revokes an unexpired token of an identity provider, such as a stolen one. Requests with it are refused within five seconds,
    /// and its open streams end within ten. Requires the role `ADMIN`.
    #[graphql(complexity = "CHANGE + child_complexity", guard = "Needs::Admin")]
    async fn revoke_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The token.")] input: RevokeTokenInput,
    ) -> async_graphql::Result<RevokeTokenPayload> {
        let s = scope(ctx)?;
        let revoke = async {
            let (revocations, expires_at) = (service::<Revocations>(ctx)?, read_time(input.expires_at, "input.expiresAt")?);
            revocations.revoke(&s.caller, &input.issuer, &input.token_id, expires_at).await.map_err(|e| e.within("input"))
        };
        let (revoked, errors) = split_user_errors(revoke.await)?;
        if let Some(token) = &revoked {
            let digest = token.0.iter().map(|byte| format!("{byte:02x}")).collect();
            audit(ctx, AuditAction::TokenTakenBack, digest).await?;
        }
        Ok(RevokeTokenPayload { revoked: revoked.is_some(), errors })
    }
}
