//! Stores personal access tokens, the front ends of users, and the revoked tokens of identity providers.

use async_trait::async_trait;
use uuid::Uuid;

use super::{PostgresStore, codec, failure::Failure, row_security::RowAccess, rows::Column, transaction::WriteTransaction};
use recall_domain::{AccessToken, AccessTokenId, Caller, FrontEnd, Timestamp, TokenDigest, UsedFrontEnd, UserId, UserText, Word};
use recall_ports::{AccessTokenStore, FrontEndStore, MAX_FRONT_ENDS, RevocationStore, StoreError};
use recall_store::{AccessStatements, LAST_USE_PRECISION, is_last_use_outdated, token_caller};

/// A row of `access_tokens`.
struct TokenRow {
    user_id: Uuid,
    id: Uuid,
    name: String,
    scopes: String,
    created_at: Timestamp,
    expires_at: Timestamp,
    last_used_at: Option<Timestamp>,
}

#[async_trait]
impl AccessTokenStore for PostgresStore {
    async fn create_access_token(&self, caller: &Caller, token: &AccessToken, digest: TokenDigest) -> Result<(), StoreError> {
        let input = (caller.user(), token, digest);
        let created = self.write(caller, &input, |c, &(user, token, digest)| {
            Box::pin(async move { recall_store::create_access_token(&mut WriteTransaction(c), user, token, digest).await })
        });
        Ok(created.await?)
    }

    async fn access_tokens(&self, caller: &Caller) -> Result<Vec<AccessToken>, StoreError> {
        let found = sqlx::query_as!(
            TokenRow,
            "SELECT user_id, id, name, scopes, created_at, expires_at, last_used_at FROM access_tokens
             WHERE user_id = $1 ORDER BY created_at DESC, id DESC",
            caller.user().0
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(token).collect::<Result<_, _>>()?)
    }

    async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), StoreError> {
        let query = sqlx::query!("DELETE FROM access_tokens WHERE user_id = $1 AND id = $2", caller.user().0, id.0);
        match query.execute(self.pool.writing(caller)).await.map_err(Failure::from)?.rows_affected() {
            0 => Err(StoreError::NotFound),
            _ => Ok(()),
        }
    }

    async fn use_access_token(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, AccessToken)>, StoreError> {
        let found = sqlx::query_as!(
            TokenRow,
            "SELECT user_id, id, name, scopes, created_at, expires_at, last_used_at FROM access_tokens
             WHERE digest = $1 AND expires_at > $2",
            digest.0.as_slice(),
            codec::time(now),
        );
        let Some(row) = found.fetch_optional(self.pool.reading(RowAccess::Token)).await.map_err(Failure::from)? else { return Ok(None) };
        let user = row.user_id;
        let token = token(row)?;
        if is_last_use_outdated(&token, now) {
            // The condition skips the update if another server has made it meanwhile. This update does not wait for the disk.
            let noted = sqlx::query!(
                "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
                 UPDATE access_tokens SET last_used_at = $1 FROM loosely
                 WHERE user_id = $2 AND id = $3 AND (last_used_at IS NULL OR last_used_at <= $4)",
                codec::time(now),
                user,
                token.id.0,
                codec::time(now - LAST_USE_PRECISION),
            );
            noted.execute(self.pool.writing(UserId(user))).await.map_err(Failure::from)?;
        }
        Ok(Some((token_caller(UserId(user)), token)))
    }
}

#[async_trait]
impl FrontEndStore for PostgresStore {
    async fn note_front_end(&self, caller: &Caller, front_end: &FrontEnd, now: Timestamp) -> Result<bool, StoreError> {
        // This insert does not wait for the disk.
        let noted = sqlx::query!(
            "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
             INSERT INTO front_ends AS f (user_id, kind, name, first_used_at, last_used_at)
             SELECT id, $2, $3, $4, $4 FROM users, loosely
             WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = $1)
             ON CONFLICT (user_id, kind, name) DO UPDATE SET last_used_at = greatest(f.last_used_at, excluded.last_used_at)",
            caller.user().0,
            front_end.kind.word(),
            &*codec::text(&front_end.name),
            codec::time(now),
        );
        let noted = noted.execute(self.pool.writing(caller)).await.map_err(Failure::from)?.rows_affected() > 0;
        let surplus = sqlx::query!(
            "DELETE FROM front_ends WHERE user_id = $1 AND (kind, name) IN (
                 SELECT kind, name FROM front_ends WHERE user_id = $1 ORDER BY last_used_at DESC, kind, name OFFSET $2)",
            caller.user().0,
            i64::from(MAX_FRONT_ENDS),
        );
        surplus.execute(self.pool.writing(caller)).await.map_err(Failure::from)?;
        Ok(noted)
    }

    async fn front_ends(&self, caller: &Caller) -> Result<Vec<UsedFrontEnd>, StoreError> {
        let found = sqlx::query!(
            "SELECT kind, name, first_used_at, last_used_at FROM front_ends WHERE user_id = $1 ORDER BY last_used_at DESC, kind, name",
            caller.user().0
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?.into_iter();
        let used = found.map(|row| {
            let front_end =
                FrontEnd { kind: Column("front_ends", "kind").word(&row.kind)?, name: Column("front_ends", "name").text(row.name)? };
            Ok(UsedFrontEnd { front_end, first_used_at: row.first_used_at, last_used_at: row.last_used_at })
        });
        Ok(used.collect::<Result<_, Failure>>()?)
    }
}

#[async_trait]
impl RevocationStore for PostgresStore {
    async fn revoke_token(&self, _caller: &Caller, token: TokenDigest, until: Option<Timestamp>) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO revoked_tokens (digest, expires_at) VALUES ($1, coalesce($2::timestamptz, 'infinity'))
             ON CONFLICT (digest) DO UPDATE SET expires_at = greatest(revoked_tokens.expires_at, excluded.expires_at)",
            token.0.as_slice(),
            until.map(codec::time),
        );
        query.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn is_revoked(&self, token: TokenDigest) -> Result<bool, StoreError> {
        let found =
            sqlx::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM revoked_tokens WHERE digest = $1) AS "found!""#, token.0.as_slice());
        Ok(found.fetch_one(self.pool.reading(RowAccess::Nobody)).await.map_err(Failure::from)?)
    }

    async fn forget_revoked(&self, now: Timestamp) -> Result<u64, StoreError> {
        let query = sqlx::query!("DELETE FROM revoked_tokens WHERE expires_at <= $1", codec::time(now));
        Ok(query.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?.rows_affected())
    }
}

#[async_trait]
impl AccessStatements for WriteTransaction<'_> {
    async fn insert_access_token(&mut self, user: UserId, token: &AccessToken, digest: TokenDigest) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO access_tokens (user_id, id, digest, name, scopes, created_at, expires_at, last_used_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            user.0,
            token.id.0,
            digest.0.as_slice(),
            &*codec::text(token.name.as_str()),
            token.scopes,
            codec::time(token.created_at),
            codec::time(token.expires_at),
            token.last_used_at.map(codec::time),
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }
}

fn token(row: TokenRow) -> Result<AccessToken, Failure> {
    Ok(AccessToken {
        id: AccessTokenId(row.id),
        name: UserText::from(Column("access_tokens", "name").text(row.name)?),
        scopes: row.scopes,
        created_at: row.created_at,
        expires_at: row.expires_at,
        last_used_at: row.last_used_at,
    })
}
