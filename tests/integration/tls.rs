//! The built binary with TLS.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest, http::HeaderValue};

use crate::server::{TIMEOUT, recall};

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes a new certificate for localhost and its key.
    fn write(&self, folder: &Path) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        std::fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
        std::fs::write(folder.join("tls.crt"), certificate.pem()).unwrap();
        certificate.der().clone()
    }
}

struct Server {
    child: Child,
    address: String,
    connector: TlsConnector,
    folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(authority: &Authority, folder: TempDir) -> Self {
        let mut child = recall()
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data"])
            .arg(folder.path().join("data"))
            .env("RECALL_TLS_CERTIFICATE", folder.path().join("tls.crt"))
            .env("RECALL_TLS_KEY", folder.path().join("tls.key"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("https://").unwrap_or_else(|| panic!("no address in {line:?}")).1.to_owned();
        let mut roots = RootCertStore::empty();
        roots.add(authority.0.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { child, address, connector: TlsConnector::from(Arc::new(config)), folder }
    }

    async fn open(&self) -> TlsStream<TcpStream> {
        let socket = TcpStream::connect(&self.address).await.unwrap();
        self.connector.connect(ServerName::try_from("localhost").unwrap(), socket).await.unwrap()
    }

    /// Returns the certificate that a new connection receives.
    async fn shown(&self) -> CertificateDer<'static> {
        self.open().await.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
    }

    async fn get(&self, path: &str) -> String {
        let mut connection = self.open().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn health(&self) -> std::process::Output {
        recall()
            .args(["health", "--listen", &self.address])
            .env("RECALL_TLS_CERTIFICATE", self.folder.path().join("tls.crt"))
            .env("RECALL_TLS_KEY", self.folder.path().join("tls.key"))
            .output()
            .unwrap()
    }
}

/// Opens a WebSocket that answers pings.
async fn subscribe(server: &Server) -> tokio_tungstenite::WebSocketStream<TlsStream<TcpStream>> {
    let mut request = format!("wss://{}/graphql/ws", server.address).into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("graphql-transport-ws"));
    let origin = format!("https://{}", server.address);
    request.headers_mut().insert("origin", HeaderValue::from_str(&origin).unwrap());
    let (mut socket, _) = tokio_tungstenite::client_async(request, server.open().await).await.unwrap();
    socket.send(Message::text(json!({ "type": "connection_init" }).to_string())).await.unwrap();
    assert!(socket.next().await.unwrap().unwrap().to_text().unwrap().contains("connection_ack"));
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn renewed_certificate_is_served_and_open_streams_survive() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let first = authority.write(folder.path());
    let server = Server::start(&authority, folder);
    assert_eq!(server.shown().await, first);
    assert!(server.get("/healthz").await.starts_with("HTTP/1.1 200"));
    let mut socket = subscribe(&server).await;

    // After half of a renewal the server keeps the old certificate.
    let other = KeyPair::generate().unwrap();
    std::fs::write(server.folder.path().join("tls.key"), other.serialize_pem()).unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(server.shown().await, first);

    let second = authority.write(server.folder.path());
    let started = Instant::now();
    while server.shown().await != second {
        assert!(started.elapsed() < TIMEOUT, "the renewed certificate is not served");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    socket.send(Message::text(json!({ "type": "ping" }).to_string())).await.unwrap();
    let answer = tokio::time::timeout(TIMEOUT, socket.next()).await.unwrap().unwrap().unwrap();
    assert!(answer.to_text().unwrap().contains("pong"), "{answer}");
    let health = server.health();
    assert!(health.status.success(), "{}", String::from_utf8_lossy(&health.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_tls_handshake_gets_nothing_and_blocks_nobody() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    authority.write(folder.path());
    let server = Server::start(&authority, folder);
    let mut silent = Vec::new();
    for _ in 0..64 {
        silent.push(TcpStream::connect(&server.address).await.unwrap());
    }
    let mut plain = TcpStream::connect(&server.address).await.unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
    assert!(server.get("/healthz").await.starts_with("HTTP/1.1 200"));
    // A silent client is disconnected in the end.
    let mut nothing = Vec::new();
    let first = silent.first_mut().unwrap();
    let ended = tokio::time::timeout(TIMEOUT, first.read_to_end(&mut nothing)).await.expect("a connection without a handshake stays open");
    assert!(ended.is_err() || nothing.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_origin_of_same_host_is_refused() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    authority.write(folder.path());
    let server = Server::start(&authority, folder);
    for (scheme, status) in [("https", "200"), ("http", "403")] {
        let mut connection = server.open().await;
        let body = r#"{"query":"{ viewer { id } }"}"#;
        let request = format!(
            "POST /graphql HTTP/1.1\r\nHost: {0}\r\nOrigin: {scheme}://{0}\r\nContent-Type: application/json\r\nContent-Length: {1}\r\nConnection: close\r\n\r\n{body}",
            server.address,
            body.len()
        );
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{scheme}: {answer}");
    }
}

#[test]
fn unusable_certificate_is_refused_at_start() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    authority.write(folder.path());
    let (chain, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let other = folder.path().join("other.key");
    std::fs::write(&other, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let nothing = folder.path().join("empty");
    std::fs::write(&nothing, "").unwrap();
    for (chain, key, expected) in [
        (&chain, &other, "do not go together"),
        (&nothing, &key, "holds no certificate"),
        (&chain, &nothing, "holds no private key"),
        (&chain, &folder.path().join("absent"), "cannot be read"),
    ] {
        let mut command = recall();
        command.args(["check", "--data"]).arg(folder.path()).env("RECALL_TLS_CERTIFICATE", chain).env("RECALL_TLS_KEY", key);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("tls_") && said.contains(expected), "{expected}: {said}");
    }
}
