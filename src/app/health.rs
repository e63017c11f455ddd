//! `recall health`: asks the server of this configuration whether it is ready. For containers, which hold no other program that
//! could ask.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::output::say;
use crate::config::Config;

/// Longest wait for all of it.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer that is read; a problem document is far shorter.
const LONGEST: u64 = 16 * 1024;

/// Succeeds when the server of this configuration is ready.
pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    let address = reachable(config.server.listen);
    let answer = tokio::time::timeout(TIMEOUT, ask(address, config.http.tls_certificate.is_some()));
    let answer = answer.await.context("the server does not answer")??;
    let (head, body) = answer.split_once("\r\n\r\n").context("not an HTTP answer")?;
    let status = head.split_ascii_whitespace().nth(1).context("not an HTTP answer")?;
    if status != "200" {
        bail!("not ready ({status}): {}", body.trim());
    }
    say!("ready")?;
    Ok(())
}

async fn ask(address: SocketAddr, is_tls: bool) -> anyhow::Result<String> {
    let connection = TcpStream::connect(address).await.with_context(|| format!("nothing answers on {address}"))?;
    if !is_tls {
        return talk(connection, address).await;
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    let connection = TlsConnector::from(Arc::new(config)).connect(ServerName::from(address.ip()), connection).await;
    talk(connection.context("the handshake failed")?, address).await
}

async fn talk(mut connection: impl AsyncRead + AsyncWrite + Unpin, address: SocketAddr) -> anyhow::Result<String> {
    let request = format!("GET /readyz?exclude=optional HTTP/1.0\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    connection.take(LONGEST).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Believes every certificate: the server is on this machine, its certificate is for another name, and nothing that it is told is
/// a secret.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Who listens everywhere is asked on the loopback address.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_here() {
        for (listen, asked) in [("0.0.0.0:8080", "127.0.0.1:8080"), ("[::]:80", "[::1]:80"), ("10.0.0.1:80", "10.0.0.1:80")] {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), asked);
        }
    }
}
