//! Stores logins: begins, finds, renews and ends them.

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{Word, millis},
    failure::Failure,
    rows::Columns,
    transaction::run,
};
use recall_domain::{Caller, Login, ProviderToken, Renewal, Timestamp, TokenDigest, UserId, UserText};
use recall_ports::{LoggedOut, LoginStore, Renewed, StoreError};
use recall_store::UserStatements;

#[async_trait]
impl LoginStore for SqliteStore {
    async fn begin_login(&self, caller: &Caller, login: &Login) -> Result<(), StoreError> {
        let (user, role, login) = (caller.user(), caller.role(), login.clone());
        let begun = self.write(move |tx| {
            run(tx.ensure_user(user))?;
            let (token, renew_at) = login.renewal.map(|r| (r.token.0, millis(r.at))).unzip();
            tx.0.execute(
                "INSERT INTO logins (user_id, digest, issuer, provider_session, name, role, scopes, refresh_token, renew_at,
                                     created_at, idle_until, expires_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    user.0,
                    login.digest.0,
                    login.issuer,
                    login.provider_session,
                    login.name.map(UserText::into_string),
                    role.word(),
                    login.scopes,
                    token,
                    renew_at,
                    millis(login.created_at),
                    millis(login.idle_until.min(login.expires_at)),
                    millis(login.expires_at),
                ),
            )?;
            Ok(())
        });
        Ok(begun.await?)
    }

    async fn login(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Login)>, StoreError> {
        let found = self.readers.for_server(move |db| {
            let sql = "SELECT * FROM logins WHERE digest = ? AND idle_until > ?";
            db.row("logins", sql, (digest.0, millis(now)), |c| login(c, digest))
        });
        Ok(found.await?)
    }

    async fn use_login(&self, digest: TokenDigest, idle_until: Timestamp) -> Result<(), StoreError> {
        let used = self.write_relaxed(move |tx| {
            let sql = "UPDATE logins SET idle_until = max(idle_until, min(?, expires_at)) WHERE digest = ?";
            tx.0.execute(sql, (millis(idle_until), digest.0))
        });
        used.await?;
        Ok(())
    }

    async fn claim_renewal(&self, digest: TokenDigest, now: Timestamp, until: Timestamp) -> Result<Option<ProviderToken>, StoreError> {
        let claimed = self.write(move |tx| {
            let sql = "UPDATE logins SET renewing_until = ?1
                 WHERE digest = ?2 AND renew_at <= ?3 AND (renewing_until IS NULL OR renewing_until <= ?3) RETURNING refresh_token";
            tx.0.row("logins", sql, (millis(until), digest.0, millis(now)), |c| c.text("refresh_token"))
        });
        Ok(claimed.await?.map(ProviderToken))
    }

    async fn renew_login(&self, digest: TokenDigest, claimed_until: Timestamp, renewed: &Renewed) -> Result<bool, StoreError> {
        let Renewed { role, scopes, renewal } = renewed.clone();
        let kept = self.write(move |tx| {
            tx.0.execute(
                "UPDATE logins SET role = ?, scopes = ?, refresh_token = ?, renew_at = ?, renewing_until = NULL
                 WHERE digest = ? AND renewing_until = ?",
                (role.word(), scopes, renewal.token.0, millis(renewal.at), digest.0, millis(claimed_until)),
            )
        });
        Ok(kept.await? > 0)
    }

    async fn end_login(&self, digest: TokenDigest) -> Result<bool, StoreError> {
        Ok(self.write(move |tx| tx.0.execute("DELETE FROM logins WHERE digest = ?", (digest.0,))).await? > 0)
    }

    async fn end_logins(&self, issuer: &str, of: &LoggedOut, begun_by: Timestamp) -> Result<Vec<UserId>, StoreError> {
        let (issuer, of) = (issuer.to_owned(), of.clone());
        let ended = self.write(move |tx| match of {
            LoggedOut::Session(session) => {
                let sql = "DELETE FROM logins WHERE provider_session = ? AND issuer = ? AND created_at <= ? RETURNING user_id";
                tx.0.rows("logins", sql, (session, issuer, millis(begun_by)), owner)
            }
            LoggedOut::User(user) => {
                let sql = "DELETE FROM logins WHERE user_id = ? AND issuer = ? AND created_at <= ? RETURNING user_id";
                tx.0.rows("logins", sql, (user.0, issuer, millis(begun_by)), owner)
            }
        });
        let mut users = ended.await?;
        users.sort_unstable();
        users.dedup();
        Ok(users)
    }

    async fn forget_logins(&self, now: Timestamp) -> Result<u64, StoreError> {
        Ok(self.write(move |tx| tx.0.execute("DELETE FROM logins WHERE idle_until <= ?", (millis(now),))).await?)
    }
}

fn owner(c: &Columns<'_, '_>) -> Result<UserId, Failure> {
    Ok(UserId(c.id("user_id")?))
}

fn login(c: &Columns<'_, '_>, digest: TokenDigest) -> Result<(Caller, Login), Failure> {
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
