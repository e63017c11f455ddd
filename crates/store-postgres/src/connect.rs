//! Connections: what the URL and the configuration say, the limits in force on each, and how one is tested before use.

use std::{str::FromStr, sync::Arc, time::Duration};

use sqlx::{
    ConnectOptions, Connection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use tokio::sync::Notify;

use super::{failure::Failure, servers::Wanted};

/// A connection that rested longer than this is asked whether it is still there before a statement is given to it, and has as long
/// to answer.
const TRUSTED: Duration = Duration::from_secs(1);

/// How the database is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresConfig {
    /// Most connections of this process, besides the one that listens.
    pub connections: u32,
    /// How long a call may wait for a connection, and the start for the server.
    pub acquire_timeout: Duration,
    /// A statement that runs longer is ended by the server.
    pub statement_timeout: Duration,
    /// A statement that waits longer for a row that another transaction holds is ended by the server.
    pub lock_timeout: Duration,
    /// Whether missing migrations are applied; otherwise a database that lacks one is refused.
    pub migrate: bool,
    /// Whether a pooler such as PgBouncer stands before the server. It hands out a connection per transaction and takes no
    /// settings with it, so the timeouts are then those of the role or the database.
    pub pooler: bool,
    /// Whether a database in which row-level security does not hold is refused.
    pub require_row_security: bool,
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self {
            connections: 16,
            acquire_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(5),
            migrate: true,
            pooler: false,
            require_row_security: false,
        }
    }
}

/// Parses the URL of one server. Its query may hold `sslmode` (`verify-full` checks the certificate), `sslrootcert`, `sslcert`,
/// `sslkey`, `application_name` and `options`.
pub(super) fn options(url: &str) -> Result<PgConnectOptions, Failure> {
    // The parser's own error may quote the password.
    let options = PgConnectOptions::from_str(url).map_err(|_| Failure::Url("expected postgres://user:password@host:port/database"))?;
    let named = options.get_application_name().is_some();
    let options = if named { options } else { options.application_name("recall") };
    // Statements are not logged: their time is in the metrics of the use cases, and a slow one would be a warning per call.
    Ok(options.disable_statement_logging())
}

/// The pool of one server, which opens connections when they are needed. Where there are other servers, `choice` has what is
/// demanded of this one, and who is told when it does not meet that any more.
pub(super) fn pool(options: &PgConnectOptions, choice: Option<(Wanted, Arc<Notify>)>, config: &PostgresConfig) -> PgPool {
    let options = limited(options, config);
    let pool = PgPoolOptions::new()
        .max_connections(config.connections.max(1))
        .acquire_timeout(config.acquire_timeout)
        .idle_timeout(Duration::from_secs(600))
        .max_lifetime(Duration::from_secs(1_800))
        // Asking each time would double the round trips of every read.
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                // One that is silent is replaced; waiting for it would use up the time there is to find another.
                Ok(meta.idle_for < TRUSTED || matches!(tokio::time::timeout(TRUSTED, connection.ping()).await, Ok(Ok(()))))
            })
        });
    let Some((wanted, trouble)) = choice else { return pool.connect_lazy_with(options) };
    let checked = pool.after_connect(move |connection, _| {
        let trouble = trouble.clone();
        Box::pin(async move {
            match wanted.is_met(connection).await {
                Ok(true) => Ok(()),
                Ok(false) => {
                    trouble.notify_one();
                    Err(sqlx::Error::Io(std::io::Error::other("the server takes no writes")))
                }
                Err(e) => Err(e),
            }
        })
    });
    checked.connect_lazy_with(options)
}

/// With the limits. They travel in the first packet, so they cost no statement and hold from the beginning.
fn limited(options: &PgConnectOptions, config: &PostgresConfig) -> PgConnectOptions {
    if config.pooler {
        return options.clone().extra_float_digits(None);
    }
    let millis = |d: Duration| d.as_millis().to_string();
    options.clone().options([
        ("statement_timeout", millis(config.statement_timeout)),
        ("lock_timeout", millis(config.lock_timeout)),
        // A process that is stopped in a transaction must not hold its rows for ever.
        ("idle_in_transaction_session_timeout", millis(config.statement_timeout)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_url_is_refused_without_quoting_the_password() {
        for bad in ["postgres://u:geheim@[::1", "postgres://u:geheim@h:port/d", "postgres://u:geheim@h/d?sslmode=maybe"] {
            let Err(e) = options(bad) else { panic!("{bad} was taken") };
            assert!(!e.to_string().contains("geheim") && !format!("{e:?}").contains("geheim"), "{e:?}");
        }
    }
}
