//! STUN and TURN servers for clients that open a stream over WebRTC.
//!
//! A TURN server relays traffic, so clients need credentials that expire soon. This server derives them from a secret that only
//! it and the TURN server know, by the convention of the TURN REST API (coturn: `use-auth-secret`). They contain a random number
//! instead of a user name, so the TURN server's log names no user.

use std::{fmt, sync::Arc, time::Duration};

use axum::http::HeaderValue;
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};

use recall_domain::Timestamp;
use recall_ports::Clock;

/// A STUN or TURN server.
#[derive(Clone, PartialEq, Eq)]
pub struct IceServer {
    /// URL of the server, such as `stun:stun.example.org:3478`.
    pub url: String,
    /// User name and password, for TURN.
    pub credentials: Option<(String, String)>,
}

/// Omits the credentials, so that a reader of the log cannot use the relay.
impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// TURN servers and the secret that they share with this server.
#[derive(Clone)]
pub struct TurnConfig {
    /// URLs of the servers, such as `turns:turn.example.org:5349?transport=tcp`.
    pub urls: Vec<String>,
    /// The shared secret.
    pub secret: String,
    /// Lifetime of credentials.
    pub lasts: Duration,
}

/// The STUN and TURN servers that clients get.
#[derive(Clone, Default)]
pub struct IceServers(Option<Arc<Inner>>);

struct Inner {
    stun: Vec<String>,
    turn: Option<TurnConfig>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for IceServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<ICE servers>")
    }
}

impl IceServers {
    /// Creates the list from URLs of STUN servers and the TURN configuration.
    pub fn new(stun: Vec<String>, turn: Option<TurnConfig>, clock: Arc<dyn Clock>) -> Self {
        Self(Some(Arc::new(Inner { stun, turn, clock })))
    }

    /// Returns the servers for one client, with new credentials. Only authenticated callers get them.
    pub(crate) fn now(&self) -> Vec<IceServer> {
        let Some(inner) = &self.0 else { return Vec::new() };
        let mut servers: Vec<_> = inner.stun.iter().map(|url| IceServer { url: url.clone(), credentials: None }).collect();
        let mut nonce = [0; 12];
        // Without random numbers there are no credentials. The client may still connect without a relay.
        if let Some(turn) = inner.turn.as_ref().filter(|_| SystemRandom::new().fill(&mut nonce).is_ok()) {
            let credentials = turn.credentials(inner.clock.now(), &nonce);
            servers.extend(turn.urls.iter().map(|url| IceServer { url: url.clone(), credentials: Some(credentials.clone()) }));
        }
        servers
    }

    /// Returns the servers as `Link` headers (RFC 9725, section 4.6).
    pub(crate) fn links(&self) -> Vec<HeaderValue> {
        self.now().iter().filter_map(link).collect()
    }
}

impl TurnConfig {
    /// Returns a user name and a password.
    ///
    /// The name is the expiry and a random number; the password is its HMAC with the shared secret. The convention requires SHA-1,
    /// which is still secure in an HMAC.
    fn credentials(&self, now: Timestamp, nonce: &[u8]) -> (String, String) {
        let ends = now.timestamp().saturating_add(i64::try_from(self.lasts.as_secs()).unwrap_or(i64::MAX));
        let random: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{ends}:{random}");
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, self.secret.as_bytes());
        let password = STANDARD.encode(hmac::sign(&key, name.as_bytes()));
        (name, password)
    }
}

fn link(server: &IceServer) -> Option<HeaderValue> {
    let mut value = format!("<{}>; rel=\"ice-server\"", server.url);
    if let Some((name, secret)) = &server.credentials {
        value.push_str(&format!("; username=\"{name}\"; credential=\"{secret}\"; credential-type=\"password\""));
    }
    let mut header = HeaderValue::from_str(&value).ok()?;
    header.set_sensitive(server.credentials.is_some());
    Some(header)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    struct FixedClock;

    impl Clock for FixedClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_timestamp(1_700_000_000, 0).unwrap()
        }
    }

    fn servers() -> IceServers {
        let turn = TurnConfig {
            urls: vec!["turn:turn.example.org:3478".into(), "turns:turn.example.org:5349?transport=tcp".into()],
            secret: "north".into(),
            lasts: Duration::from_secs(600),
        };
        IceServers::new(vec!["stun:stun.example.org".into()], Some(turn), Arc::new(FixedClock))
    }

    #[test]
    fn turn_credentials_expire_and_contain_no_user_name() {
        let turn = TurnConfig { urls: vec![], secret: "north".into(), lasts: Duration::from_secs(600) };
        let (name, password) = turn.credentials(FixedClock.now(), &[0xab; 12]);
        assert_eq!(name, "1700000600:abababababababababababab");
        // Output of `printf %s NAME | openssl dgst -sha1 -hmac north -binary | base64`.
        assert_eq!(password, "x2fCSQgMIw9O8p2FKbM0/57zPQQ=");
        let now = servers().now();
        assert_eq!(now.len(), 3);
        assert_eq!(now[0].credentials, None, "STUN needs no credentials");
        assert_eq!(now[1].credentials, now[2].credentials);
        assert_ne!(now[1].credentials, servers().now()[1].credentials, "each client gets its own credentials");
    }

    #[test]
    fn credentials_are_in_the_header_but_not_in_debug_output() {
        let links = servers().links();
        let text = |h: &HeaderValue| h.to_str().unwrap().to_owned();
        assert_eq!(text(&links[0]), "<stun:stun.example.org>; rel=\"ice-server\"");
        let turn = text(&links[2]);
        assert!(turn.starts_with("<turns:turn.example.org:5349?transport=tcp>; rel=\"ice-server\"; username=\"1700000600:"), "{turn}");
        assert!(turn.ends_with("; credential-type=\"password\""), "{turn}");
        let now = servers().now();
        let shown = format!("{now:?} {:?} {:?}", servers(), links);
        let (name, password) = now[1].credentials.clone().unwrap();
        assert!(!shown.contains(&name) && !shown.contains(&password) && !shown.contains("credential="), "{shown}");
        assert!(IceServers::default().now().is_empty());
    }
}
