//! Stores personal access tokens, the front ends of users, and the revoked tokens of identity providers.

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::millis,
    failure::Failure,
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use recall_domain::{AccessToken, AccessTokenId, Caller, FrontEnd, Timestamp, TokenDigest, UsedFrontEnd, UserId, UserText, Word};
use recall_ports::{AccessTokenStore, FrontEndStore, MAX_FRONT_ENDS, RevocationStore, StoreError};
use recall_store::{AccessStatements, is_last_use_outdated, token_caller};

/// The stored form of "never expires".
const NEVER: i64 = i64::MAX;

#[async_trait]
impl AccessTokenStore for SqliteStore {
    async fn create_access_token(&self, caller: &Caller, token: &AccessToken, digest: TokenDigest) -> Result<(), StoreError> {
        let (user, token) = (caller.user(), token.clone());
        Ok(self.write(move |tx| run(recall_store::create_access_token(tx, user, &token, digest))).await?)
    }

    async fn access_tokens(&self, caller: &Caller) -> Result<Vec<AccessToken>, StoreError> {
        let user = caller.user();
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM access_tokens WHERE user_id = ? ORDER BY created_at DESC, id DESC";
            db.rows("access_tokens", sql, (user.0,), token)
        });
        Ok(found.await?)
    }

    async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), StoreError> {
        let user = caller.user();
        let revoked = self.write(move |tx| tx.0.execute("DELETE FROM access_tokens WHERE user_id = ? AND id = ?", (user.0, id.0)));
        if revoked.await? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
    }

    async fn use_access_token(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, AccessToken)>, StoreError> {
        let found = self.readers.for_server(move |db| {
            let sql = "SELECT * FROM access_tokens WHERE digest = ? AND expires_at > ?";
            db.row("access_tokens", sql, (digest.0, millis(now)), |c| Ok((UserId(c.id("user_id")?), token(c)?)))
        });
        let Some((user, token)) = found.await? else { return Ok(None) };
        if is_last_use_outdated(&token, now) {
            let id = token.id;
            let noted = self.write_relaxed(move |tx| {
                let sql = "UPDATE access_tokens SET last_used_at = ? WHERE user_id = ? AND id = ?";
                tx.0.execute(sql, (millis(now), user.0, id.0))
            });
            noted.await?;
        }
        Ok(Some((token_caller(user), token)))
    }
}

#[async_trait]
impl FrontEndStore for SqliteStore {
    async fn note_front_end(&self, caller: &Caller, front_end: &FrontEnd, now: Timestamp) -> Result<bool, StoreError> {
        let (user, kind, name) = (caller.user(), front_end.kind.word(), front_end.name.clone());
        let noted = self.write_relaxed(move |tx| {
            let noted = tx.0.execute(
                "INSERT INTO front_ends (user_id, kind, name, first_used_at, last_used_at)
                 SELECT id, ?2, ?3, ?4, ?4 FROM users WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?1)
                 ON CONFLICT (user_id, kind, name) DO UPDATE SET last_used_at = max(last_used_at, excluded.last_used_at)",
                (user.0, kind, &name, millis(now)),
            )?;
            tx.0.execute(
                "DELETE FROM front_ends WHERE user_id = ?1 AND (kind, name) NOT IN (
                     SELECT kind, name FROM front_ends WHERE user_id = ?1 ORDER BY last_used_at DESC, kind, name LIMIT ?2)",
                (user.0, i64::from(MAX_FRONT_ENDS)),
            )?;
            Ok(noted > 0)
        });
        Ok(noted.await?)
    }

    async fn front_ends(&self, caller: &Caller) -> Result<Vec<UsedFrontEnd>, StoreError> {
        let user = caller.user();
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM front_ends WHERE user_id = ? ORDER BY last_used_at DESC, kind, name";
            db.rows("front_ends", sql, (user.0,), |c| {
                Ok(UsedFrontEnd {
                    front_end: FrontEnd { kind: c.word("kind")?, name: c.text("name")? },
                    first_used_at: c.time("first_used_at")?,
                    last_used_at: c.time("last_used_at")?,
                })
            })
        });
        Ok(found.await?)
    }
}

#[async_trait]
impl RevocationStore for SqliteStore {
    async fn revoke_token(&self, _caller: &Caller, token: TokenDigest, until: Option<Timestamp>) -> Result<(), StoreError> {
        let until = until.map_or(NEVER, millis);
        let revoked = self.write(move |tx| {
            tx.0.execute(
                "INSERT INTO revoked_tokens (digest, expires_at) VALUES (?, ?)
                 ON CONFLICT (digest) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)",
                (token.0, until),
            )
        });
        revoked.await?;
        Ok(())
    }

    async fn is_revoked(&self, token: TokenDigest) -> Result<bool, StoreError> {
        Ok(self.readers.for_server(move |db| db.exists("SELECT 1 FROM revoked_tokens WHERE digest = ?", (token.0,))).await?)
    }

    async fn forget_revoked(&self, now: Timestamp) -> Result<u64, StoreError> {
        Ok(self.write(move |tx| tx.0.execute("DELETE FROM revoked_tokens WHERE expires_at <= ?", (millis(now),))).await?)
    }
}

#[async_trait]
impl AccessStatements for WriteTransaction<'_> {
    async fn insert_access_token(&mut self, user: UserId, token: &AccessToken, digest: TokenDigest) -> Result<(), Failure> {
        self.0.execute(
            "INSERT INTO access_tokens (user_id, id, digest, name, scopes, created_at, expires_at, last_used_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                user.0,
                token.id.0,
                digest.0,
                token.name.as_str(),
                &token.scopes,
                millis(token.created_at),
                millis(token.expires_at),
                token.last_used_at.map(millis),
            ),
        )?;
        Ok(())
    }
}

fn token(c: &Columns<'_, '_>) -> Result<AccessToken, Failure> {
    Ok(AccessToken {
        id: AccessTokenId(c.id("id")?),
        name: UserText::from(c.text("name")?),
        scopes: c.text("scopes")?,
        created_at: c.time("created_at")?,
        expires_at: c.time("expires_at")?,
        last_used_at: c.opt_time("last_used_at")?,
    })
}
