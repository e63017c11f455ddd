//! Stores personal access tokens, and the revoked tokens of identity providers.

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;

use super::{
    SqliteStore,
    codec::{bytes, millis},
    failure::Failure,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{AccessToken, AccessTokenId, Caller, Timestamp, TokenDigest, UserId, UserText};
use recall_ports::{AccessTokenStore, RevocationStore, StoreError};
use recall_store::{AccessStatements, is_last_use_outdated, token_caller};

/// The stored form of "never expires".
const NEVER: i64 = i64::MAX;

#[async_trait]
impl AccessTokenStore for SqliteStore {
    async fn create_access_token(&self, caller: &Caller, token: &AccessToken, digest: TokenDigest) -> Result<(), StoreError> {
        let (user, token) = (caller.user(), token.clone());
        let created = self.write(move |c| {
            Box::pin(async move { recall_store::create_access_token(&mut WriteTransaction(c), user, &token, digest).await })
        });
        Ok(created.await?)
    }

    async fn access_tokens(&self, caller: &Caller) -> Result<Vec<AccessToken>, StoreError> {
        let found = sqlx::query("SELECT * FROM access_tokens WHERE user_id = ? ORDER BY created_at DESC, id DESC")
            .bind(bytes(&caller.user().0))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().map(token).collect::<Result<_, _>>()?)
    }

    async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), StoreError> {
        let user = caller.user().0;
        let revoked = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query("DELETE FROM access_tokens WHERE user_id = ? AND id = ?");
                Ok(query.bind(bytes(&user)).bind(bytes(&id.0)).execute(c).await?.rows_affected())
            })
        });
        if revoked.await? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
    }

    async fn use_access_token(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, AccessToken)>, StoreError> {
        let found = sqlx::query("SELECT * FROM access_tokens WHERE digest = ? AND expires_at > ?")
            .bind(digest.0.as_slice())
            .bind(millis(now))
            .fetch_optional(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        let Some(row) = found else { return Ok(None) };
        let user = Columns::of(&row, "access_tokens").id("user_id")?;
        let token = token(&row)?;
        if is_last_use_outdated(&token, now) {
            let id = token.id.0;
            let noted = self.write_relaxed(move |c| {
                Box::pin(async move {
                    let query = sqlx::query("UPDATE access_tokens SET last_used_at = ? WHERE user_id = ? AND id = ?");
                    query.bind(millis(now)).bind(bytes(&user)).bind(bytes(&id)).execute(c).await?;
                    Ok(())
                })
            });
            noted.await?;
        }
        Ok(Some((token_caller(UserId(user)), token)))
    }
}

#[async_trait]
impl RevocationStore for SqliteStore {
    async fn revoke_token(&self, _caller: &Caller, token: TokenDigest, until: Option<Timestamp>) -> Result<(), StoreError> {
        let until = until.map_or(NEVER, millis);
        let revoked = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query(
                    "INSERT INTO revoked_tokens (digest, expires_at) VALUES (?, ?)
                     ON CONFLICT (digest) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)",
                );
                query.bind(token.0.as_slice()).bind(until).execute(c).await?;
                Ok(())
            })
        });
        Ok(revoked.await?)
    }

    async fn is_revoked(&self, token: TokenDigest) -> Result<bool, StoreError> {
        let found = sqlx::query("SELECT 1 FROM revoked_tokens WHERE digest = ?").bind(token.0.as_slice());
        Ok(found.fetch_optional(self.readers.for_server()).await.map_err(Failure::from)?.is_some())
    }

    async fn forget_revoked(&self, now: Timestamp) -> Result<u64, StoreError> {
        let forgotten = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query("DELETE FROM revoked_tokens WHERE expires_at <= ?").bind(millis(now));
                Ok(query.execute(c).await?.rows_affected())
            })
        });
        Ok(forgotten.await?)
    }
}

#[async_trait]
impl AccessStatements for WriteTransaction<'_> {
    async fn insert_access_token(&mut self, user: UserId, token: &AccessToken, digest: TokenDigest) -> Result<(), Failure> {
        sqlx::query(
            "INSERT INTO access_tokens (user_id, id, digest, name, scopes, created_at, expires_at, last_used_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(bytes(&user.0))
        .bind(bytes(&token.id.0))
        .bind(digest.0.as_slice())
        .bind(token.name.as_str())
        .bind(token.scopes.as_str())
        .bind(millis(token.created_at))
        .bind(millis(token.expires_at))
        .bind(token.last_used_at.map(millis))
        .execute(&mut *self.0)
        .await?;
        Ok(())
    }
}

fn token(row: &SqliteRow) -> Result<AccessToken, Failure> {
    let c = Columns::of(row, "access_tokens");
    Ok(AccessToken {
        id: AccessTokenId(c.id("id")?),
        name: UserText::from(c.text("name")?),
        scopes: c.text("scopes")?,
        created_at: c.time("created_at")?,
        expires_at: c.time("expires_at")?,
        last_used_at: c.opt_time("last_used_at")?,
    })
}
