//! STUN and TURN servers, which clients are told when they open a stream over WebRTC. A TURN server lends its bandwidth, so who may
//! use it is said by credentials that soon end: this server makes them from a secret that it shares with the TURN server and nobody
//! else, by the convention of its REST API (coturn: `use-auth-secret`). The TURN server's log tells them apart by a random number and
//! learns no user's name.

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
    /// Its address, such as `stun:stun.example.org:3478`.
    pub url: String,
    /// Name and secret to sign in with, for TURN.
    pub credentials: Option<(String, String)>,
}

/// Without the credentials: whoever reads a log must not relay.
impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Servers of TURN and the secret that they share with this one.
#[derive(Clone)]
pub struct TurnConfig {
    /// Their addresses, such as `turns:turn.example.org:5349?transport=tcp`.
    pub urls: Vec<String>,
    /// The shared secret.
    pub secret: String,
    /// How long credentials are good.
    pub lasts: Duration,
}

/// What clients are told.
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
    /// These addresses of STUN servers, and these TURN servers.
    pub fn new(stun: Vec<String>, turn: Option<TurnConfig>, clock: Arc<dyn Clock>) -> Self {
        Self(Some(Arc::new(Inner { stun, turn, clock })))
    }

    /// What one client is told now. Only callers who were named get here.
    pub(crate) fn now(&self) -> Vec<IceServer> {
        let Some(inner) = &self.0 else { return Vec::new() };
        let mut servers: Vec<_> = inner.stun.iter().map(|url| IceServer { url: url.clone(), credentials: None }).collect();
        let mut nonce = [0; 12];
        // Without random numbers there are no credentials, and a client may still do without a relay.
        if let Some(turn) = inner.turn.as_ref().filter(|_| SystemRandom::new().fill(&mut nonce).is_ok()) {
            let credentials = turn.credentials(inner.clock.now(), &nonce);
            servers.extend(turn.urls.iter().map(|url| IceServer { url: url.clone(), credentials: Some(credentials.clone()) }));
        }
        servers
    }

    /// The same as `Link` headers (RFC 9725, section 4.6).
    pub(crate) fn links(&self) -> Vec<HeaderValue> {
        self.now().iter().filter_map(link).collect()
    }
}

impl TurnConfig {
    /// When they end and a random number; and the proof that whoever knows the secret said so. The convention wants SHA-1, which as
    /// a keyed hash is still good.
    fn credentials(&self, now: Timestamp, nonce: &[u8]) -> (String, String) {
        let ends = now.timestamp().saturating_add(i64::try_from(self.lasts.as_secs()).unwrap_or(i64::MAX));
        let random: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{ends}:{random}");
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, self.secret.as_bytes());
        let proof = STANDARD.encode(hmac::sign(&key, name.as_bytes()));
        (name, proof)
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

    struct Noon;

    impl Clock for Noon {
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
        IceServers::new(vec!["stun:stun.example.org".into()], Some(turn), Arc::new(Noon))
    }

    #[test]
    fn turn_credentials_end_soon_and_name_nobody() {
        let turn = TurnConfig { urls: vec![], secret: "north".into(), lasts: Duration::from_secs(600) };
        let (name, proof) = turn.credentials(Noon.now(), &[0xab; 12]);
        assert_eq!(name, "1700000600:abababababababababababab");
        // As `printf %s NAME | openssl dgst -sha1 -hmac north -binary | base64` says.
        assert_eq!(proof, "x2fCSQgMIw9O8p2FKbM0/57zPQQ=");
        let now = servers().now();
        assert_eq!(now.len(), 3);
        assert_eq!(now[0].credentials, None, "STUN needs none");
        assert_eq!(now[1].credentials, now[2].credentials);
        assert_ne!(now[1].credentials, servers().now()[1].credentials, "each client has its own");
    }

    #[test]
    fn credentials_are_in_the_header_and_in_no_log() {
        let links = servers().links();
        let text = |h: &HeaderValue| h.to_str().unwrap().to_owned();
        assert_eq!(text(&links[0]), "<stun:stun.example.org>; rel=\"ice-server\"");
        let turn = text(&links[2]);
        assert!(turn.starts_with("<turns:turn.example.org:5349?transport=tcp>; rel=\"ice-server\"; username=\"1700000600:"), "{turn}");
        assert!(turn.ends_with("; credential-type=\"password\""), "{turn}");
        let now = servers().now();
        let shown = format!("{now:?} {:?} {:?}", servers(), links);
        let (name, proof) = now[1].credentials.clone().unwrap();
        assert!(!shown.contains(&name) && !shown.contains(&proof) && !shown.contains("credential="), "{shown}");
        assert!(IceServers::default().now().is_empty());
    }
}
