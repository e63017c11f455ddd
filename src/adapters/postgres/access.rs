//! Personal access tokens: made, listed, used, revoked. Tokens of issuers that were revoked.

use async_trait::async_trait;
use chrono::TimeDelta;
use sqlx::postgres::PgRow;

use super::{PostgresStore, codec, erase, failure::Failure, rows::Columns};
use crate::{
    domain::{AccessToken, AccessTokenId, Caller, Timestamp, TokenDigest, UserId, UserText, ViewerRole},
    ports::{AccessTokenStore, RevocationStore, StoreError},
};

/// How old the note of the last use may be. Without it every request would write.
const NOTED_FOR: TimeDelta = TimeDelta::minutes(1);

/// Notes a use, if no other server has meanwhile; need not wait for the disk. `$1` now, `$2` user, `$3` token, `$4` a minute ago.
const NOTE: &str = "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE access_tokens SET last_used_at = $1 FROM loosely
    WHERE user_id = $2 AND id = $3 AND (last_used_at IS NULL OR last_used_at <= $4)";

#[async_trait]
impl AccessTokenStore for PostgresStore {
    async fn create_access_token(&self, caller: &Caller, token: &AccessToken, digest: TokenDigest) -> Result<(), StoreError> {
        let input = (caller.user().0, token, digest);
        let created = self.write(&input, |c, &(user, token, digest)| {
            Box::pin(async move {
                sqlx::query("INSERT INTO users (id) VALUES ($1) ON CONFLICT DO NOTHING").bind(user).execute(&mut *c).await?;
                erase::refuse_while_erasing(c, user).await?;
                sqlx::query(
                    "INSERT INTO access_tokens (user_id, id, digest, name, scopes, created_at, expires_at, last_used_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                )
                .bind(user)
                .bind(token.id.0)
                .bind(digest.0.as_slice())
                .bind(codec::text(token.name.as_str()))
                .bind(&token.scopes)
                .bind(codec::time(token.created_at))
                .bind(codec::time(token.expires_at))
                .bind(token.last_used_at.map(codec::time))
                .execute(c)
                .await?;
                Ok(())
            })
        });
        Ok(created.await?)
    }

    async fn access_tokens(&self, caller: &Caller) -> Result<Vec<AccessToken>, StoreError> {
        let found = sqlx::query("SELECT * FROM access_tokens WHERE user_id = $1 ORDER BY created_at DESC, id DESC")
            .bind(caller.user().0)
            .fetch_all(&self.pool)
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().map(token).collect::<Result<_, _>>()?)
    }

    async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM access_tokens WHERE user_id = $1 AND id = $2").bind(caller.user().0).bind(id.0);
        match query.execute(&self.pool).await.map_err(Failure::from)?.rows_affected() {
            0 => Err(StoreError::NotFound),
            _ => Ok(()),
        }
    }

    async fn use_access_token(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, AccessToken)>, StoreError> {
        let found = sqlx::query("SELECT * FROM access_tokens WHERE digest = $1 AND expires_at > $2")
            .bind(digest.0.as_slice())
            .bind(codec::time(now))
            .fetch_optional(&self.pool)
            .await
            .map_err(Failure::from)?;
        let Some(row) = found else { return Ok(None) };
        let user = Columns::of(&row, "access_tokens").id("user_id")?;
        let token = token(&row)?;
        if token.last_used_at.is_none_or(|at| now - at >= NOTED_FOR) {
            let noted = sqlx::query(NOTE).bind(codec::time(now)).bind(user).bind(token.id.0).bind(codec::time(now - NOTED_FOR));
            noted.execute(&self.pool).await.map_err(Failure::from)?;
        }
        // Less than its owner may be: a script that is taken over is no administrator.
        Ok(Some((Caller::verified(UserId(user), ViewerRole::User), token)))
    }
}

#[async_trait]
impl RevocationStore for PostgresStore {
    async fn revoke_token(&self, _caller: &Caller, token: TokenDigest, until: Option<Timestamp>) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO revoked_tokens (digest, expires_at) VALUES ($1, coalesce($2, 'infinity'))
             ON CONFLICT (digest) DO UPDATE SET expires_at = greatest(revoked_tokens.expires_at, excluded.expires_at)",
        );
        query.bind(token.0.as_slice()).bind(until.map(codec::time)).execute(&self.pool).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn is_revoked(&self, token: TokenDigest) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM revoked_tokens WHERE digest = $1)").bind(token.0.as_slice());
        Ok(found.fetch_one(&self.pool).await.map_err(Failure::from)?)
    }

    async fn forget_revoked(&self, now: Timestamp) -> Result<u64, StoreError> {
        let query = sqlx::query("DELETE FROM revoked_tokens WHERE expires_at <= $1").bind(codec::time(now));
        Ok(query.execute(&self.pool).await.map_err(Failure::from)?.rows_affected())
    }
}

fn token(row: &PgRow) -> Result<AccessToken, Failure> {
    let c = Columns::of(row, "access_tokens");
    Ok(AccessToken {
        id: AccessTokenId(c.id("id")?),
        name: UserText::from(c.text("name")?),
        scopes: c.name("scopes")?,
        created_at: c.time("created_at")?,
        expires_at: c.time("expires_at")?,
        last_used_at: c.opt_time("last_used_at")?,
    })
}
