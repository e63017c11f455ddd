//! Opens connections: parses the URL, applies the limits, and tests a connection before use.

use std::{str::FromStr, sync::Arc, time::Duration};

use sqlx::{
    ConnectOptions, Connection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use tokio::sync::Notify;

use super::{failure::Failure, servers::TargetSession};

/// How long an idle connection is trusted. After that, it must answer a ping within the same time before it gets a statement.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);

/// Options for using the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresConfig {
    /// Most connections of this process, in addition to the one that listens for notifications.
    pub connections: u32,
    /// How long a call may wait for a connection, and how long the start may wait for the server.
    pub acquire_timeout: Duration,
    /// The server cancels a statement that runs longer.
    pub statement_timeout: Duration,
    /// The server cancels a statement that waits longer for a row lock.
    pub lock_timeout: Duration,
    /// Whether to apply missing migrations. If false, a database that lacks one is refused.
    pub migrate: bool,
    /// Whether a pooler such as PgBouncer is in front of the server.
    ///
    /// A pooler assigns a connection per transaction and keeps no settings, so the timeouts must be set on the role or the
    /// database.
    pub pooler: bool,
    /// Whether to refuse a database in which row-level security does not hold.
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

/// Parses the URL of one server.
///
/// Its query may hold `sslmode` (`verify-full` checks the certificate), `sslrootcert`, `sslcert`, `sslkey`, `application_name` and
/// `options`.
pub(super) fn options(url: &str) -> Result<PgConnectOptions, Failure> {
    // The parser's own error may quote the password.
    let options = PgConnectOptions::from_str(url).map_err(|_| Failure::Url("expected postgres://user:password@host:port/database"))?;
    let named = options.get_application_name().is_some();
    let options = if named { options } else { options.application_name("recall") };
    // Statements are not logged: the use cases measure their time, and each slow one would log a warning.
    Ok(options.disable_statement_logging())
}

/// Makes the pool of one server, which opens connections on demand.
///
/// With several servers, `choice` holds the condition that this server must meet, and the signal for when it no longer does.
pub(super) fn pool(options: &PgConnectOptions, choice: Option<(TargetSession, Arc<Notify>)>, config: &PostgresConfig) -> PgPool {
    let options = with_timeouts(options, config);
    let pool = PgPoolOptions::new()
        .max_connections(config.connections.max(1))
        .acquire_timeout(config.acquire_timeout)
        .idle_timeout(Duration::from_secs(600))
        .max_lifetime(Duration::from_secs(1_800))
        // A ping before each use would double the round trips of every read.
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                // A silent connection is replaced. Waiting for it would use up the time for finding another server.
                Ok(meta.idle_for < TRUSTED_IDLE || matches!(tokio::time::timeout(TRUSTED_IDLE, connection.ping()).await, Ok(Ok(()))))
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

/// Adds the timeouts. They travel in the startup packet, so they cost no statement and apply from the start.
fn with_timeouts(options: &PgConnectOptions, config: &PostgresConfig) -> PgConnectOptions {
    if config.pooler {
        return options.clone().extra_float_digits(None);
    }
    let millis = |d: Duration| d.as_millis().to_string();
    options.clone().options([
        ("statement_timeout", millis(config.statement_timeout)),
        ("lock_timeout", millis(config.lock_timeout)),
        // A process that is suspended in a transaction must not hold its row locks permanently.
        ("idle_in_transaction_session_timeout", millis(config.statement_timeout)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_url_is_refused_without_quoting_the_password() {
        for bad in ["postgres://u:geheim@[::1", "postgres://u:geheim@h:port/d", "postgres://u:geheim@h/d?sslmode=maybe"] {
            let Err(e) = options(bad) else { panic!("{bad} was accepted") };
            assert!(!e.to_string().contains("geheim") && !format!("{e:?}").contains("geheim"), "{e:?}");
        }
    }
}
