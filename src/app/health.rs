//! `recall health`: asks the running server whether it is ready. Containers use it, because they contain no other HTTP client.

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

/// Timeout of the whole check.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes read of the response; a problem document is far shorter.
const MAX_RESPONSE_BYTES: u64 = 16 * 1024;

/// Succeeds if the server of this configuration is ready.
pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    let address = local_address(config.server.listen);
    let response = tokio::time::timeout(TIMEOUT, request_readiness(address, config.http.tls_certificate.is_some()));
    let response = response.await.context("the server does not answer")??;
    let (head, body) = response.split_once("\r\n\r\n").context("the response is not HTTP")?;
    let status = head.split_ascii_whitespace().nth(1).context("the response is not HTTP")?;
    if status != "200" {
        bail!("not ready ({status}): {}", body.trim());
    }
    say!("ready")?;
    Ok(())
}

async fn request_readiness(address: SocketAddr, is_tls: bool) -> anyhow::Result<String> {
    let connection = TcpStream::connect(address).await.with_context(|| format!("nothing answers on {address}"))?;
    if !is_tls {
        return exchange(connection, address).await;
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider)))
        .with_no_client_auth();
    let connection = TlsConnector::from(Arc::new(config)).connect(ServerName::from(address.ip()), connection).await;
    exchange(connection.context("the TLS handshake failed")?, address).await
}

async fn exchange(mut connection: impl AsyncRead + AsyncWrite + Unpin, address: SocketAddr) -> anyhow::Result<String> {
    let request = format!("GET /readyz?exclude=optional HTTP/1.0\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    connection.take(MAX_RESPONSE_BYTES).read_to_end(&mut response).await?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

/// Accepts every certificate.
///
/// The server is on this machine, its certificate is for another name, and the request contains no secret.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
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

/// The address for a request from this machine: a wildcard address becomes the loopback address.
pub(super) fn local_address(listen: SocketAddr) -> SocketAddr {
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
    fn wildcard_listener_is_reached_on_loopback() {
        for (listen, expected) in [("0.0.0.0:8080", "127.0.0.1:8080"), ("[::]:80", "[::1]:80"), ("10.0.0.1:80", "10.0.0.1:80")] {
            assert_eq!(local_address(listen.parse().unwrap()).to_string(), expected);
        }
    }
}
