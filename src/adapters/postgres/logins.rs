//! Logins: begun, found, used, renewed, ended.

use async_trait::async_trait;
use sqlx::postgres::PgRow;

use super::{
    PostgresStore,
    codec::{self, Word},
    failure::Failure,
    rows::Columns,
};
use crate::{
    domain::{Caller, Login, ProviderToken, Renewal, Timestamp, TokenDigest, UserId, UserText},
    ports::{LoggedOut, LoginStore, Renewed, StoreError},
};

/// Notes a use; need not wait for the disk. `$1` the end, `$2` which login.
const USE: &str = "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE logins SET idle_until = greatest(idle_until, least($1, expires_at)) FROM loosely WHERE digest = $2";

#[async_trait]
impl LoginStore for PostgresStore {
    async fn begin_login(&self, caller: &Caller, login: &Login) -> Result<(), StoreError> {
        let input = (*caller, login);
        let begun = self.write(&input, |c, &(caller, login)| {
            Box::pin(async move {
                let user = caller.user().0;
                sqlx::query("INSERT INTO users (id) VALUES ($1) ON CONFLICT DO NOTHING").bind(user).execute(&mut *c).await?;
                let (token, renew_at) = login.renewal.as_ref().map(|r| (codec::text(&r.token.0), codec::time(r.at))).unzip();
                sqlx::query(
                    "INSERT INTO logins (user_id, digest, issuer, provider_session, name, role, scopes, refresh_token, renew_at,
                                         created_at, idle_until, expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
                )
                .bind(user)
                .bind(login.digest.0.as_slice())
                .bind(codec::text(&login.issuer))
                .bind(codec::opt_text(login.provider_session.as_deref()))
                .bind(codec::opt_text(login.name.as_ref().map(UserText::as_str)))
                .bind(caller.role().word())
                .bind(codec::text(&login.scopes))
                .bind(token)
                .bind(renew_at)
                .bind(codec::time(login.created_at))
                .bind(codec::time(login.idle_until.min(login.expires_at)))
                .bind(codec::time(login.expires_at))
                .execute(c)
                .await?;
                Ok(())
            })
        });
        Ok(begun.await?)
    }

    async fn login(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Login)>, StoreError> {
        let found = sqlx::query("SELECT * FROM logins WHERE digest = $1 AND idle_until > $2")
            .bind(digest.0.as_slice())
            .bind(codec::time(now))
            .fetch_optional(&self.pool)
            .await
            .map_err(Failure::from)?;
        Ok(found.map(|row| login(&row, digest)).transpose()?)
    }

    async fn use_login(&self, digest: TokenDigest, idle_until: Timestamp) -> Result<(), StoreError> {
        let used = sqlx::query(USE).bind(codec::time(idle_until)).bind(digest.0.as_slice());
        used.execute(&self.pool).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn claim_renewal(&self, digest: TokenDigest, now: Timestamp, until: Timestamp) -> Result<Option<ProviderToken>, StoreError> {
        // Of two servers that come at once the second waits for the row, and then finds it claimed.
        let claimed = sqlx::query(
            "UPDATE logins SET renewing_until = $1
             WHERE digest = $2 AND renew_at <= $3 AND (renewing_until IS NULL OR renewing_until <= $3) RETURNING refresh_token",
        );
        let claimed = claimed.bind(codec::time(until)).bind(digest.0.as_slice()).bind(codec::time(now));
        let row = claimed.fetch_optional(&self.pool).await.map_err(Failure::from)?;
        Ok(row.map(|row| Columns::of(&row, "logins").text("refresh_token")).transpose()?.map(ProviderToken))
    }

    async fn renew_login(&self, digest: TokenDigest, claimed_until: Timestamp, renewed: &Renewed) -> Result<bool, StoreError> {
        let kept = sqlx::query(
            "UPDATE logins SET role = $1, scopes = $2, refresh_token = $3, renew_at = $4, renewing_until = NULL
             WHERE digest = $5 AND renewing_until = $6",
        );
        let kept = kept.bind(renewed.role.word()).bind(codec::text(&renewed.scopes)).bind(codec::text(&renewed.renewal.token.0));
        let kept = kept.bind(codec::time(renewed.renewal.at)).bind(digest.0.as_slice()).bind(codec::time(claimed_until));
        Ok(kept.execute(&self.pool).await.map_err(Failure::from)?.rows_affected() > 0)
    }

    async fn end_login(&self, digest: TokenDigest) -> Result<bool, StoreError> {
        let ended = sqlx::query("DELETE FROM logins WHERE digest = $1").bind(digest.0.as_slice());
        Ok(ended.execute(&self.pool).await.map_err(Failure::from)?.rows_affected() > 0)
    }

    async fn end_logins(&self, issuer: &str, of: &LoggedOut, begun_by: Timestamp) -> Result<u64, StoreError> {
        let ended = match of {
            LoggedOut::Session(session) => {
                sqlx::query("DELETE FROM logins WHERE provider_session = $1 AND issuer = $2 AND created_at <= $3")
                    .bind(codec::text(session))
            }
            LoggedOut::User(user) => sqlx::query("DELETE FROM logins WHERE user_id = $1 AND issuer = $2 AND created_at <= $3").bind(user.0),
        };
        let ended = ended.bind(codec::text(issuer)).bind(codec::time(begun_by));
        Ok(ended.execute(&self.pool).await.map_err(Failure::from)?.rows_affected())
    }

    async fn forget_logins(&self, now: Timestamp) -> Result<u64, StoreError> {
        let forgotten = sqlx::query("DELETE FROM logins WHERE idle_until <= $1").bind(codec::time(now));
        Ok(forgotten.execute(&self.pool).await.map_err(Failure::from)?.rows_affected())
    }
}

fn login(row: &PgRow, digest: TokenDigest) -> Result<(Caller, Login), Failure> {
    let c = Columns::of(row, "logins");
    let caller = Caller::verified(UserId(c.id("user_id")?), c.word("role")?);
    let login = Login {
        digest,
        issuer: c.text("issuer")?,
        provider_session: c.opt_text("provider_session")?,
        name: c.opt_text("name")?.map(UserText::from),
        scopes: c.text("scopes")?,
        renewal: c.opt_text("refresh_token")?.zip(c.opt_time("renew_at")?).map(|(token, at)| Renewal { token: ProviderToken(token), at }),
        created_at: c.time("created_at")?,
        idle_until: c.time("idle_until")?,
        expires_at: c.time("expires_at")?,
    };
    Ok((caller, login))
}
