//! Stores logins: begins, finds, renews and ends them.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, Word},
    failure::Failure,
    row_security::{self, RowAccess},
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Login, ProviderToken, Renewal, Timestamp, TokenDigest, UserId, UserText};
use recall_ports::{LoggedOut, LoginStore, Renewed, StoreError};
use recall_store::UserStatements;

/// A row of `logins`.
struct LoginRow {
    user_id: Uuid,
    issuer: String,
    provider_session: Option<String>,
    name: Option<String>,
    role: String,
    scopes: String,
    refresh_token: Option<String>,
    renew_at: Option<Timestamp>,
    created_at: Timestamp,
    idle_until: Timestamp,
    expires_at: Timestamp,
}

#[async_trait]
impl LoginStore for PostgresStore {
    async fn begin_login(&self, caller: &Caller, login: &Login) -> Result<(), StoreError> {
        let input = (*caller, login);
        let begun = self.write(caller, &input, |c, &(caller, login)| {
            Box::pin(async move {
                WriteTransaction(c).ensure_user(caller.user()).await?;
                let (token, renew_at) = login.renewal.as_ref().map(|r| (codec::text(&r.token.0), codec::time(r.at))).unzip();
                let provider_session = codec::opt_text(login.provider_session.as_deref());
                let name = codec::opt_text(login.name.as_ref().map(UserText::as_str));
                let insert = sqlx::query!(
                    "INSERT INTO logins (user_id, digest, issuer, provider_session, name, role, scopes, refresh_token, renew_at,
                                         created_at, idle_until, expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
                    caller.user().0,
                    login.digest.0.as_slice(),
                    &*codec::text(&login.issuer),
                    provider_session.as_deref(),
                    name.as_deref(),
                    caller.role().word(),
                    &*codec::text(&login.scopes),
                    token.as_deref(),
                    renew_at,
                    codec::time(login.created_at),
                    codec::time(login.idle_until.min(login.expires_at)),
                    codec::time(login.expires_at),
                );
                insert.execute(c).await?;
                Ok(())
            })
        });
        Ok(begun.await?)
    }

    async fn login(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Login)>, StoreError> {
        let found = sqlx::query_as!(
            LoginRow,
            "SELECT user_id, issuer, provider_session, name, role, scopes, refresh_token, renew_at, created_at, idle_until, expires_at
             FROM logins WHERE digest = $1 AND idle_until > $2",
            digest.0.as_slice(),
            codec::time(now),
        );
        let found = found.fetch_optional(self.pool.reading(RowAccess::Login)).await.map_err(Failure::from)?;
        Ok(found.map(|row| login(row, digest)).transpose()?)
    }

    async fn use_login(&self, digest: TokenDigest, idle_until: Timestamp) -> Result<(), StoreError> {
        let Some(user) = owner_of(self, digest).await? else { return Ok(()) };
        // This update does not wait for the disk.
        let used = sqlx::query!(
            "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
             UPDATE logins SET idle_until = greatest(idle_until, least($1, expires_at)) FROM loosely WHERE user_id = $2 AND digest = $3",
            codec::time(idle_until),
            user.0,
            digest.0.as_slice(),
        );
        used.execute(self.pool.writing(user)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn claim_renewal(&self, digest: TokenDigest, now: Timestamp, until: Timestamp) -> Result<Option<ProviderToken>, StoreError> {
        let Some(user) = owner_of(self, digest).await? else { return Ok(None) };
        // If two servers claim at once, the second waits for the row and then finds it claimed.
        let claimed = sqlx::query_scalar!(
            r#"UPDATE logins SET renewing_until = $1
             WHERE user_id = $3 AND digest = $4 AND renew_at <= $2 AND (renewing_until IS NULL OR renewing_until <= $2)
             RETURNING refresh_token AS "token!""#,
            codec::time(until),
            codec::time(now),
            user.0,
            digest.0.as_slice(),
        );
        let token = claimed.fetch_optional(self.pool.writing(user)).await.map_err(Failure::from)?;
        Ok(token.map(|token| Column("logins", "refresh_token").text(token)).transpose()?.map(ProviderToken))
    }

    async fn renew_login(&self, digest: TokenDigest, claimed_until: Timestamp, renewed: &Renewed) -> Result<bool, StoreError> {
        let Some(user) = owner_of(self, digest).await? else { return Ok(false) };
        // Stores the result of a renewal, if its claim is still current.
        let kept = sqlx::query!(
            "UPDATE logins SET role = $1, scopes = $2, refresh_token = $3, renew_at = $4, renewing_until = NULL
             WHERE renewing_until = $5 AND user_id = $6 AND digest = $7",
            renewed.role.word(),
            &*codec::text(&renewed.scopes),
            &*codec::text(&renewed.renewal.token.0),
            codec::time(renewed.renewal.at),
            codec::time(claimed_until),
            user.0,
            digest.0.as_slice(),
        );
        Ok(kept.execute(self.pool.writing(user)).await.map_err(Failure::from)?.rows_affected() > 0)
    }

    async fn end_login(&self, digest: TokenDigest) -> Result<bool, StoreError> {
        let Some(user) = owner_of(self, digest).await? else { return Ok(false) };
        let ended = sqlx::query!("DELETE FROM logins WHERE user_id = $1 AND digest = $2", user.0, digest.0.as_slice());
        Ok(ended.execute(self.pool.writing(user)).await.map_err(Failure::from)?.rows_affected() > 0)
    }

    async fn end_logins(&self, issuer: &str, of: &LoggedOut, begun_by: Timestamp) -> Result<Vec<UserId>, StoreError> {
        let (users, session) = match of {
            LoggedOut::User(user) => (vec![user.0], None),
            LoggedOut::Session(session) => {
                let found = sqlx::query_scalar!(
                    "SELECT DISTINCT user_id FROM logins WHERE provider_session = $1 AND issuer = $2",
                    &*codec::text(session),
                    &*codec::text(issuer),
                );
                (found.fetch_all(self.pool.reading(RowAccess::Login)).await.map_err(Failure::from)?, Some(codec::text(session)))
            }
        };
        let input = (users, session, issuer, codec::time(begun_by));
        let ended = self.write(RowAccess::Login, &input, |c, (users, session, issuer, begun_by)| {
            Box::pin(async move {
                let mut ended = Vec::new();
                for user in users {
                    row_security::switch_to_user(c, *user).await?;
                    let of_user = sqlx::query!(
                        "DELETE FROM logins
                         WHERE user_id = $1 AND issuer = $2 AND created_at <= $3 AND ($4::text IS NULL OR provider_session = $4)",
                        user,
                        &*codec::text(issuer),
                        begun_by,
                        session.as_deref(),
                    );
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
        // The users are listed first and then changed one by one: no statement changes rows of several users.
        let users = sqlx::query_scalar!("SELECT DISTINCT user_id FROM logins WHERE idle_until <= $1", codec::time(now));
        let users = users.fetch_all(self.pool.reading(RowAccess::Login)).await.map_err(Failure::from)?;
        let mut forgotten = 0;
        for user in users {
            let of_user = sqlx::query!("DELETE FROM logins WHERE user_id = $1 AND idle_until <= $2", user, codec::time(now));
            forgotten += of_user.execute(self.pool.writing(UserId(user))).await.map_err(Failure::from)?.rows_affected();
        }
        Ok(forgotten)
    }
}

/// The owner of a login. The caller's next statements run for that user.
async fn owner_of(store: &PostgresStore, digest: TokenDigest) -> Result<Option<UserId>, Failure> {
    let found = sqlx::query_scalar!("SELECT user_id FROM logins WHERE digest = $1", digest.0.as_slice());
    Ok(found.fetch_optional(store.pool.reading(RowAccess::Login)).await?.map(UserId))
}

fn login(row: LoginRow, digest: TokenDigest) -> Result<(Caller, Login), Failure> {
    let of = |column| Column("logins", column);
    let caller = Caller::verified(UserId(row.user_id), of("role").word(&row.role)?);
    let token = of("refresh_token").opt_text(row.refresh_token)?;
    let login = Login {
        digest,
        issuer: of("issuer").text(row.issuer)?,
        provider_session: of("provider_session").opt_text(row.provider_session)?,
        name: of("name").opt_text(row.name)?.map(UserText::from),
        scopes: of("scopes").text(row.scopes)?,
        renewal: token.zip(row.renew_at).map(|(token, at)| Renewal { token: ProviderToken(token), at }),
        created_at: row.created_at,
        idle_until: row.idle_until,
        expires_at: row.expires_at,
    };
    Ok((caller, login))
}
