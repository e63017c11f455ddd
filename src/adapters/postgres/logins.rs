//! Logins: begun, found, used, renewed, ended.

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, Word},
    failure::Failure,
    rows::Columns,
    walls::{self, Scope},
};
use crate::{
    domain::{Caller, Login, ProviderToken, Renewal, Timestamp, TokenDigest, UserId, UserText},
    ports::{LoggedOut, LoginStore, Renewed, StoreError},
};

/// Notes a use; need not wait for the disk. `$1` the end, `$2` whose, `$3` which login.
const USE: &str = "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE logins SET idle_until = greatest(idle_until, least($1, expires_at)) FROM loosely WHERE user_id = $2 AND digest = $3";

/// Takes the refresh token. Of two servers that come at once the second waits for the row, and then finds it claimed. `$1` until
/// when, `$2` now, `$3` whose, `$4` which login.
const CLAIM: &str = "UPDATE logins SET renewing_until = $1
    WHERE user_id = $3 AND digest = $4 AND renew_at <= $2 AND (renewing_until IS NULL OR renewing_until <= $2) RETURNING refresh_token";

/// Keeps what a claim brought, if it is still that one.
const RENEW: &str = "UPDATE logins SET role = $1, scopes = $2, refresh_token = $3, renew_at = $4, renewing_until = NULL
    WHERE renewing_until = $5 AND user_id = $6 AND digest = $7";

#[async_trait]
impl LoginStore for PostgresStore {
    async fn begin_login(&self, caller: &Caller, login: &Login) -> Result<(), StoreError> {
        let input = (*caller, login);
        let begun = self.write(caller, &input, |c, &(caller, login)| {
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
            .fetch_optional(self.pool.reading(Scope::Login))
            .await
            .map_err(Failure::from)?;
        Ok(found.map(|row| login(&row, digest)).transpose()?)
    }

    async fn use_login(&self, digest: TokenDigest, idle_until: Timestamp) -> Result<(), StoreError> {
        let Some(user) = whose(self, digest).await? else { return Ok(()) };
        let used = sqlx::query(USE).bind(codec::time(idle_until)).bind(user.0).bind(digest.0.as_slice());
        used.execute(self.pool.writing(user)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn claim_renewal(&self, digest: TokenDigest, now: Timestamp, until: Timestamp) -> Result<Option<ProviderToken>, StoreError> {
        let Some(user) = whose(self, digest).await? else { return Ok(None) };
        let claimed = sqlx::query(CLAIM).bind(codec::time(until)).bind(codec::time(now)).bind(user.0).bind(digest.0.as_slice());
        let row = claimed.fetch_optional(self.pool.writing(user)).await.map_err(Failure::from)?;
        Ok(row.map(|row| Columns::of(&row, "logins").text("refresh_token")).transpose()?.map(ProviderToken))
    }

    async fn renew_login(&self, digest: TokenDigest, claimed_until: Timestamp, renewed: &Renewed) -> Result<bool, StoreError> {
        let Some(user) = whose(self, digest).await? else { return Ok(false) };
        let kept = sqlx::query(RENEW)
            .bind(renewed.role.word())
            .bind(codec::text(&renewed.scopes))
            .bind(codec::text(&renewed.renewal.token.0))
            .bind(codec::time(renewed.renewal.at))
            .bind(codec::time(claimed_until))
            .bind(user.0)
            .bind(digest.0.as_slice());
        Ok(kept.execute(self.pool.writing(user)).await.map_err(Failure::from)?.rows_affected() > 0)
    }

    async fn end_login(&self, digest: TokenDigest) -> Result<bool, StoreError> {
        let Some(user) = whose(self, digest).await? else { return Ok(false) };
        let ended = sqlx::query("DELETE FROM logins WHERE user_id = $1 AND digest = $2").bind(user.0).bind(digest.0.as_slice());
        Ok(ended.execute(self.pool.writing(user)).await.map_err(Failure::from)?.rows_affected() > 0)
    }

    async fn end_logins(&self, issuer: &str, of: &LoggedOut, begun_by: Timestamp) -> Result<Vec<UserId>, StoreError> {
        let (users, session) = match of {
            LoggedOut::User(user) => (vec![user.0], None),
            LoggedOut::Session(session) => {
                let found = sqlx::query_scalar("SELECT DISTINCT user_id FROM logins WHERE provider_session = $1 AND issuer = $2")
                    .bind(codec::text(session))
                    .bind(codec::text(issuer));
                (found.fetch_all(self.pool.reading(Scope::Login)).await.map_err(Failure::from)?, Some(codec::text(session)))
            }
        };
        let input = (users, session, issuer, codec::time(begun_by));
        let ended = self.write(Scope::Login, &input, |c, (users, session, issuer, begun_by)| {
            Box::pin(async move {
                let mut ended = Vec::new();
                for user in users {
                    walls::go_on_for(c, *user).await?;
                    let of_user = sqlx::query(
                        "DELETE FROM logins
                         WHERE user_id = $1 AND issuer = $2 AND created_at <= $3 AND ($4::text IS NULL OR provider_session = $4)",
                    );
                    let of_user = of_user.bind(*user).bind(codec::text(issuer)).bind(*begun_by).bind(session.as_deref());
                    if of_user.execute(&mut *c).await?.rows_affected() > 0 {
                        ended.push(UserId(*user));
                    }
                }
                Ok(ended)
            })
        });
        Ok(ended.await?)
    }

    async fn forget_logins(&self, now: Timestamp) -> Result<u64, StoreError> {
        // Which users, and then one by one: no statement changes rows of several.
        let users: Vec<Uuid> = sqlx::query_scalar("SELECT DISTINCT user_id FROM logins WHERE idle_until <= $1")
            .bind(codec::time(now))
            .fetch_all(self.pool.reading(Scope::Login))
            .await
            .map_err(Failure::from)?;
        let mut forgotten = 0;
        for user in users {
            let of_user = sqlx::query("DELETE FROM logins WHERE user_id = $1 AND idle_until <= $2").bind(user).bind(codec::time(now));
            forgotten += of_user.execute(self.pool.writing(UserId(user))).await.map_err(Failure::from)?.rows_affected();
        }
        Ok(forgotten)
    }
}

/// Whose login it is: what follows is done for that user.
async fn whose(store: &PostgresStore, digest: TokenDigest) -> Result<Option<UserId>, Failure> {
    let found = sqlx::query_scalar("SELECT user_id FROM logins WHERE digest = $1").bind(digest.0.as_slice());
    Ok(found.fetch_optional(store.pool.reading(Scope::Login)).await?.map(UserId))
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
