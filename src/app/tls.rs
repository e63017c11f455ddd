//! The files of the certificate: read at start, and again when they change, so that renewing one needs no restart.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::Config;
use recall_api::Tls;

/// How often the files are looked at. Whoever renews them does so days before the old one ends.
const LOOK: Duration = Duration::from_secs(5);

/// A certificate in files.
pub(super) struct Certificate {
    tls: Arc<Tls>,
    chain: PathBuf,
    key: PathBuf,
    /// What was last tried, good or not.
    tried: (Vec<u8>, Vec<u8>),
}

impl Certificate {
    /// The certificate that is configured, if one is.
    pub(super) fn load(config: &Config) -> anyhow::Result<Option<Self>> {
        let (Some(chain), Some(key)) = (&config.http.tls_certificate, &config.http.tls_key) else { return Ok(None) };
        let read = |path: &PathBuf, name: &str| std::fs::read(path).with_context(|| format!("{name}: {} cannot be read", path.display()));
        let tried = (read(chain, "http.tls_certificate (RECALL_TLS_CERTIFICATE)")?, read(key, "http.tls_key (RECALL_TLS_KEY)")?);
        let tls = Tls::new(&tried.0, &tried.1)
            .with_context(|| format!("http.tls_certificate, http.tls_key: {} and {}", chain.display(), key.display()))?;
        Ok(Some(Self { tls, chain: chain.clone(), key: key.clone(), tried }))
    }

    /// For the listener.
    pub(super) fn tls(&self) -> Arc<Tls> {
        self.tls.clone()
    }

    /// Looks at the files until stopped. By content and not by date: the folders of Kubernetes and of certbot hold links that
    /// are turned elsewhere.
    pub(super) async fn follow(mut self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            // One of them may be gone for a moment.
            let (Ok(chain), Ok(key)) = (tokio::fs::read(&self.chain).await, tokio::fs::read(&self.key).await) else { continue };
            let found = (chain, key);
            if found == self.tried {
                continue;
            }
            match self.tls.replace(&found.0, &found.1) {
                Ok(()) => info!("another certificate is shown from now on"),
                // Perhaps only one of the two was written yet; it is tried again when they change.
                Err(error) => warn!(%error, "the certificate changed and cannot be used; the one before goes on"),
            }
            self.tried = found;
        }
    }
}
