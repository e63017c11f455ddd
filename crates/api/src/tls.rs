//! TLS: presents a certificate and replaces it without closing connections. Must not read files.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::RwLock;

use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// Maximum time for a handshake, which costs the client less than the server.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file is not PEM, or has no such section.
    #[error("holds no {0} in PEM")]
    Missing(&'static str),
    /// The key is of an unknown kind, or belongs to another certificate.
    #[error("do not go together: {0}")]
    Unusable(#[source] rustls::Error),
}

/// The server's side of TLS 1.2 and 1.3, with HTTP/2 and HTTP/1.1.
pub struct Tls {
    acceptor: TlsAcceptor,
    current: Arc<CurrentCertificate>,
    provider: Arc<CryptoProvider>,
}

impl Tls {
    /// Creates the TLS side from a certificate chain and its key, in PEM.
    ///
    /// # Errors
    /// When the chain or the key cannot be used.
    pub fn new(chain: &[u8], key: &[u8]) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let current = Arc::new(CurrentCertificate(RwLock::new(load_certified_key(chain, key, &provider)?)));
        let mut config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Unusable)?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(Self { acceptor: TlsAcceptor::from(Arc::new(config)), current, provider }))
    }

    /// Presents another certificate from the next connection on.
    ///
    /// # Errors
    /// When it cannot be used; the previous certificate stays in use.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let next = load_certified_key(chain, key, &self.provider)?;
        *self.current.0.write() = next;
        Ok(())
    }

    /// Performs the handshake.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, socket: S) -> std::io::Result<TlsStream<S>> {
        let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.acceptor.accept(socket)).await;
        handshake.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// The certificate that is presented now.
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl fmt::Debug for CurrentCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CurrentCertificate")
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().clone())
    }
}

fn load_certified_key(chain: &[u8], key: &[u8], provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, TlsError> {
    let missing = |what| move |_| TlsError::Missing(what);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(missing("certificate"))?;
    if chain.is_empty() {
        return Err(TlsError::Missing("certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(missing("private key"))?;
    Ok(Arc::new(CertifiedKey::from_der(chain, key, provider).map_err(TlsError::Unusable)?))
}
