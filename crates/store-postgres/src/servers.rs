//! The database servers in the URL, and the choice of one among them.
//!
//! As in libpq, hosts are tried in the order of the URL, and `target_session_attrs` says which are suitable. The driver supports
//! one host, so each server has its own pool. The [`pool`](super::pool) switches when this file chooses another server.

use std::time::Duration;

use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};
use tokio::time::{Instant, timeout};

use super::{connect, failure::Failure};

/// Longest time for one server to answer if there are others to try.
const MAX_TRY: Duration = Duration::from_secs(3);
const MIN_TRY: Duration = Duration::from_millis(500);

/// Which servers are suitable: `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetSession {
    /// Any server that answers.
    Any,
    /// A server that takes writes.
    ReadWrite,
    /// A server that is not a standby.
    Primary,
}

impl TargetSession {
    fn parse(word: &str) -> Result<Self, Failure> {
        match word {
            "any" => Ok(Self::Any),
            "read-write" => Ok(Self::ReadWrite),
            "primary" => Ok(Self::Primary),
            "read-only" | "standby" | "prefer-standby" => {
                Err(Failure::Url("target_session_attrs must be read-write, primary or any, because this program writes"))
            }
            _ => Err(Failure::Url("target_session_attrs is read-write, primary or any")),
        }
    }

    /// Whether the connection's server is suitable.
    ///
    /// # Errors
    /// If the server does not answer.
    pub(super) async fn is_met(self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        match self {
            Self::Any => Ok(true),
            // Not a prepared statement, because a pooler may send the next statement to another connection.
            Self::ReadWrite => is(connection, "SELECT current_setting('transaction_read_only') = 'off' AND NOT pg_is_in_recovery()").await,
            Self::Primary => is(connection, "SELECT NOT pg_is_in_recovery()").await,
        }
    }
}

async fn is(connection: &mut PgConnection, question: &'static str) -> Result<bool, sqlx::Error> {
    use sqlx::{Executor, Row};
    connection.fetch_one(sqlx::raw_sql(question)).await?.try_get(0)
}

/// The servers of a URL.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    all: Vec<PgConnectOptions>,
    pub(super) wanted: TargetSession,
}

impl Servers {
    /// Parses `postgres://user:password@host:port,host:port/database?target_session_attrs=read-write`.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let (url, wanted) = split_target(url)?;
        let all = urls_by_host(&url)?.iter().map(|url| connect::options(url)).collect::<Result<Vec<_>, _>>()?;
        // Of several servers, usually only one takes writes.
        let wanted = wanted.unwrap_or(if all.len() > 1 { TargetSession::ReadWrite } else { TargetSession::Any });
        Ok(Self { all, wanted })
    }

    /// Whether there are several servers to choose from.
    pub(super) fn has_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Options for connecting to one of them.
    pub(super) fn options(&self, server: usize) -> Option<&PgConnectOptions> {
        self.all.get(server)
    }

    /// Connects to a suitable server: `current` if it is suitable, else the first one in order.
    pub(super) async fn choose(&self, current: usize, time_limit: Duration) -> Result<(usize, PgConnection), Failure> {
        let within = match self.has_several() {
            true => (time_limit / u32::try_from(self.all.len()).unwrap_or(u32::MAX)).clamp(MIN_TRY, MAX_TRY),
            false => time_limit,
        };
        let order = std::iter::once(current).chain((0..self.all.len()).filter(|server| *server != current));
        let mut failures = Vec::new();
        for server in order {
            let Some(options) = self.options(server) else { continue };
            match self.connect(options, within).await {
                Ok(connection) => return Ok((server, connection)),
                Err(e) => failures.push((address(options), e)),
            }
        }
        // The failure of a single server is returned unchanged, so that the caller can tell whether it is temporary.
        match failures.pop() {
            Some((_, e)) if failures.is_empty() && !is_temporary(&e) => Err(e),
            last => {
                let all = failures.into_iter().chain(last);
                Err(Failure::NoServer(all.map(|(address, e)| format!("{address}: {e}")).collect::<Vec<_>>().join("; ")))
            }
        }
    }

    async fn connect(&self, options: &PgConnectOptions, within: Duration) -> Result<PgConnection, Failure> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(options).await?;
            match self.wanted.is_met(&mut connection).await? {
                true => Ok(connection),
                false => {
                    let _ = connection.close().await;
                    Err(Failure::ReadOnly)
                }
            }
        };
        timeout(within, connecting).await.map_err(|_| Failure::NoAnswer(within))?
    }

    /// Makes the first connection, and retries: at start the servers may be starting too.
    pub(super) async fn connect_first(&self, time_limit: Duration) -> Result<(usize, PgConnection), Failure> {
        let until = Instant::now() + time_limit;
        let mut pause = Duration::from_millis(50);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.choose(0, left).await {
                Err(e) if is_temporary(&e) && pause < until.saturating_duration_since(Instant::now()) => {
                    tracing::debug!(error = %e, "the database is not reachable yet");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
                done => return done,
            }
        }
    }
}

/// Whether a server that failed may be usable soon.
fn is_temporary(e: &Failure) -> bool {
    match e {
        Failure::Sql(sqlx::Error::Io(_)) | Failure::NoAnswer(_) | Failure::NoServer(_) | Failure::ReadOnly => true,
        Failure::Rejected { code, .. } => code == "57P03",
        _ => false,
    }
}

/// Host and port, for people.
pub(super) fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

/// Removes `target_session_attrs` from the URL, because the driver does not support it.
fn split_target(url: &str) -> Result<(String, Option<TargetSession>), Failure> {
    let Some((base, query)) = url.split_once('?') else { return Ok((url.to_owned(), None)) };
    let mut wanted = None;
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.strip_prefix("target_session_attrs=") {
            Some(word) => wanted = Some(TargetSession::parse(word)?),
            None => rest.push(pair),
        }
    }
    let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    Ok((url, wanted))
}

/// Makes one URL per host.
fn urls_by_host(url: &str) -> Result<Vec<String>, Failure> {
    const EXPECTED: Failure = Failure::Url("expected postgres://user:password@host:port,host:port/database");
    let (scheme, rest) = url.split_once("://").ok_or(EXPECTED)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    if hosts.contains(',') && hosts.split(',').any(str::is_empty) {
        return Err(EXPECTED);
    }
    let at = if authority.contains('@') { "@" } else { "" };
    Ok(hosts.split(',').map(|host| format!("{scheme}://{user}{at}{host}{path}")).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn addresses(url: &str) -> (Vec<String>, TargetSession) {
        let servers = Servers::parse(url).unwrap();
        (servers.all.iter().map(address).collect(), servers.wanted)
    }

    #[test]
    fn hosts_are_parsed_in_url_order() {
        for (url, hosts, wanted) in [
            ("postgres://u:p@a/d", &["a:5432"][..], TargetSession::Any),
            ("postgres://u:p@a,b:5433/d", &["a:5432", "b:5433"], TargetSession::ReadWrite),
            ("postgres://a:1,[::1]:2/d?target_session_attrs=any", &["a:1", "[::1]:2"], TargetSession::Any),
            (
                "postgres://u:p%2C%40@a,b,c/d?sslmode=disable&target_session_attrs=primary&application_name=x",
                &["a:5432", "b:5432", "c:5432"],
                TargetSession::Primary,
            ),
            ("postgres://a/d?target_session_attrs=read-write", &["a:5432"], TargetSession::ReadWrite),
        ] {
            assert_eq!(addresses(url), (hosts.iter().map(|h| (*h).to_owned()).collect(), wanted), "{url}");
        }
        let servers = Servers::parse("postgres://u:p%2C%40@a,b/d?application_name=x").unwrap();
        assert!(
            servers.all.iter().all(|o| o.get_username() == "u" && o.get_database() == Some("d") && o.get_application_name() == Some("x"))
        );
    }

    #[test]
    fn invalid_urls_are_refused_without_quoting_the_password() {
        for bad in [
            "postgres://u:geheim@a,,b/d",
            "postgres://u:geheim@a,b:x/d",
            "postgres://u:geheim@a/d?target_session_attrs=standby",
            "postgres://u:geheim@a/d?target_session_attrs=geheim",
        ] {
            let Err(e) = Servers::parse(bad) else { panic!("{bad} was accepted") };
            assert!(!e.to_string().contains("geheim") && !format!("{e:?}").contains("geheim"), "{e:?}");
        }
    }

    #[tokio::test]
    async fn unreachable_servers_are_reported_with_their_addresses() {
        // Closed again at once, so nothing listens on it.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for url in [format!("postgres://u@127.0.0.1:{port}/d"), format!("postgres://u@127.0.0.1:{port},localhost:{port}/d")] {
            let Err(e) = Servers::parse(&url).unwrap().connect_first(Duration::from_millis(200)).await else { panic!("connected") };
            assert!(e.to_string().contains(&format!("127.0.0.1:{port}: ")) && e.to_string().contains("refused"), "{e}");
        }
    }
}
