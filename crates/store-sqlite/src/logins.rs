//! Stores logins: begins, finds, renews and ends them.

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;

use super::{
    SqliteStore,
    codec::{Word, bytes, millis},
    failure::Failure,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Login, ProviderToken, Renewal, Timestamp, TokenDigest, UserId, UserText};
use recall_ports::{LoggedOut, LoginStore, Renewed, StoreError};
use recall_store::UserStatements;

#[async_trait]
impl LoginStore for SqliteStore {
    async fn begin_login(&self, caller: &Caller, login: &Login) -> Result<(), StoreError> {
        let (user, role, login) = (caller.user(), caller.role(), login.clone());
        let begun = self.write(move |c| {
            Box::pin(async move {
                WriteTransaction(c).ensure_user(user).await?;
                let (token, renew_at) = login.renewal.map(|r| (r.token.0, millis(r.at))).unzip();
                sqlx::query(
                    "INSERT INTO logins (user_id, digest, issuer, provider_session, name, role, scopes, refresh_token, renew_at,
                                         created_at, idle_until, expires_at)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )
                .bind(bytes(&user.0))
                .bind(login.digest.0.as_slice())
                .bind(login.issuer)
                .bind(login.provider_session)
                .bind(login.name.map(UserText::into_string))
                .bind(role.word())
                .bind(login.scopes)
                .bind(token)
                .bind(renew_at)
                .bind(millis(login.created_at))
                .bind(millis(login.idle_until.min(login.expires_at)))
                .bind(millis(login.expires_at))
                .execute(c)
                .await?;
                Ok(())
            })
        });
        Ok(begun.await?)
    }

    async fn login(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Login)>, StoreError> {
        let found = sqlx::query("SELECT * FROM logins WHERE digest = ? AND idle_until > ?")
            .bind(digest.0.as_slice())
            .bind(millis(now))
            .fetch_optional(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        Ok(found.map(|row| login(&row, digest)).transpose()?)
    }

    async fn use_login(&self, digest: TokenDigest, idle_until: Timestamp) -> Result<(), StoreError> {
        let used = self.write_relaxed(move |c| {
            Box::pin(async move {
                let query = sqlx::query("UPDATE logins SET idle_until = max(idle_until, min(?, expires_at)) WHERE digest = ?");
                query.bind(millis(idle_until)).bind(digest.0.as_slice()).execute(c).await?;
                Ok(())
            })
        });
        Ok(used.await?)
    }

    async fn claim_renewal(&self, digest: TokenDigest, now: Timestamp, until: Timestamp) -> Result<Option<ProviderToken>, StoreError> {
        let claimed = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query_scalar(
                    "UPDATE logins SET renewing_until = ?1
                     WHERE digest = ?2 AND renew_at <= ?3 AND (renewing_until IS NULL OR renewing_until <= ?3) RETURNING refresh_token",
                );
                Ok(query.bind(millis(until)).bind(digest.0.as_slice()).bind(millis(now)).fetch_optional(c).await?)
            })
        });
        Ok(claimed.await?.map(ProviderToken))
    }

    async fn renew_login(&self, digest: TokenDigest, claimed_until: Timestamp, renewed: &Renewed) -> Result<bool, StoreError> {
        let renewed = renewed.clone();
        let kept = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query(
                    "UPDATE logins SET role = ?, scopes = ?, refresh_token = ?, renew_at = ?, renewing_until = NULL
                     WHERE digest = ? AND renewing_until = ?",
                );
                let query = query.bind(renewed.role.word()).bind(renewed.scopes).bind(renewed.renewal.token.0);
                let query = query.bind(millis(renewed.renewal.at)).bind(digest.0.as_slice()).bind(millis(claimed_until));
                Ok(query.execute(c).await?.rows_affected())
            })
        });
        Ok(kept.await? > 0)
    }

    async fn end_login(&self, digest: TokenDigest) -> Result<bool, StoreError> {
        let ended = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query("DELETE FROM logins WHERE digest = ?").bind(digest.0.as_slice());
                Ok(query.execute(c).await?.rows_affected())
            })
        });
        Ok(ended.await? > 0)
    }

    async fn end_logins(&self, issuer: &str, of: &LoggedOut, begun_by: Timestamp) -> Result<Vec<UserId>, StoreError> {
        let (issuer, of) = (issuer.to_owned(), of.clone());
        let ended = self.write(move |c| {
            Box::pin(async move {
                let query = match &of {
                    LoggedOut::Session(session) => {
                        sqlx::query("DELETE FROM logins WHERE provider_session = ? AND issuer = ? AND created_at <= ? RETURNING user_id")
                            .bind(session)
                    }
                    LoggedOut::User(user) => {
                        sqlx::query("DELETE FROM logins WHERE user_id = ? AND issuer = ? AND created_at <= ? RETURNING user_id")
                            .bind(bytes(&user.0))
                    }
                };
                let ended = query.bind(issuer).bind(millis(begun_by)).fetch_all(c).await?;
                ended.iter().map(|row| Ok(UserId(Columns::of(row, "logins").id("user_id")?))).collect::<Result<Vec<_>, _>>()
            })
        });
        let mut users = ended.await?;
        users.sort_unstable();
        users.dedup();
        Ok(users)
    }

    async fn forget_logins(&self, now: Timestamp) -> Result<u64, StoreError> {
        let forgotten = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query("DELETE FROM logins WHERE idle_until <= ?").bind(millis(now));
                Ok(query.execute(c).await?.rows_affected())
            })
        });
        Ok(forgotten.await?)
    }
}

fn login(row: &SqliteRow, digest: TokenDigest) -> Result<(Caller, Login), Failure> {
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
