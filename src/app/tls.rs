//! Loads the TLS certificate at start and reloads it when its files change, so a renewal needs no restart.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::Config;
use recall_api::Tls;

/// How often the files are read. Certificates are renewed days before they expire, so this need not be fast.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A certificate and key in files.
pub(super) struct Certificate {
    tls: Arc<Tls>,
    chain: PathBuf,
    key: PathBuf,
    /// Contents of both files at the last attempt, valid or not.
    tried: (Vec<u8>, Vec<u8>),
}

impl Certificate {
    /// Loads the configured certificate, if there is one.
    pub(super) fn load(config: &Config) -> anyhow::Result<Option<Self>> {
        let (Some(chain), Some(key)) = (&config.http.tls_certificate, &config.http.tls_key) else { return Ok(None) };
        let read = |path: &PathBuf, name: &str| std::fs::read(path).with_context(|| format!("{name}: {} cannot be read", path.display()));
        let tried = (read(chain, "http.tls_certificate (RECALL_TLS_CERTIFICATE)")?, read(key, "http.tls_key (RECALL_TLS_KEY)")?);
        let tls = Tls::new(&tried.0, &tried.1)
            .with_context(|| format!("http.tls_certificate, http.tls_key: {} and {}", chain.display(), key.display()))?;
        Ok(Some(Self { tls, chain: chain.clone(), key: key.clone(), tried }))
    }

    /// The TLS settings for the listener.
    pub(super) fn tls(&self) -> Arc<Tls> {
        self.tls.clone()
    }

    /// Reloads the files when they change, until `stop`.
    ///
    /// Compares contents and not dates, because Kubernetes and certbot replace symbolic links.
    pub(super) async fn reload_on_change(mut self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(POLL_INTERVAL)).await.is_some() {
            // A file may be missing for a moment during a renewal.
            let (Ok(chain), Ok(key)) = (tokio::fs::read(&self.chain).await, tokio::fs::read(&self.key).await) else { continue };
            let found = (chain, key);
            if found == self.tried {
                continue;
            }
            match self.tls.replace(&found.0, &found.1) {
                Ok(()) => info!("the certificate was reloaded"),
                // Perhaps only one of the two files is written yet. The next change leads to another attempt.
                Err(error) => warn!(%error, "the changed certificate cannot be used; the previous one stays in use"),
            }
            self.tried = found;
        }
    }
}
