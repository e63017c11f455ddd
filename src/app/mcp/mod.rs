//! `recall mcp`: connects a desktop agent, which speaks over standard input and output, to the MCP endpoint of a server.
//!
//! If no server answers at the configured address, the command runs one in this process. The next agent on this machine then finds
//! that server. When it ends with its agent, the others run one in its place.

mod backend;
mod bridge;
mod messages;

use std::path::Path;

use anyhow::Context;
use metrics_exporter_prometheus::PrometheusHandle;

use super::{serve, telemetry};
use crate::config::Config;
use backend::{Backend, Endpoint};

/// The environment variable with the token, and the one that names a file with it.
pub(super) const TOKEN_VARIABLES: [&str; 2] = ["RECALL_MCP_TOKEN", "RECALL_MCP_TOKEN_FILE"];

/// Runs the bridge until standard input ends or a signal stops it.
pub(super) async fn run(config: Config, url: Option<String>, token_file: Option<&Path>) -> anyhow::Result<()> {
    telemetry::logs(&config.log)?;
    let metrics: PrometheusHandle = telemetry::metrics()?;
    let token = read_token(token_file)?;
    let endpoint = match url {
        Some(url) => Endpoint::given(&url)?,
        None => Endpoint::configured(&config),
    };
    let backend = Backend::new(endpoint, token, config, metrics)?;
    backend.ensure_server().await?;
    let signal = serve::signal()?;
    let bridged = tokio::select! {
        bridged = bridge::run(&backend, tokio::io::stdin(), tokio::io::stdout()) => bridged,
        signalled = signal => signalled,
    };
    backend.stop().await?;
    bridged
}

/// Reads the token from a file or from the environment.
fn read_token(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let [variable, file_variable] = TOKEN_VARIABLES;
    let from_file = |path: &Path| {
        let text = std::fs::read_to_string(path).with_context(|| format!("the token file {} cannot be read", path.display()))?;
        Ok::<_, anyhow::Error>(text.trim().to_owned())
    };
    let token = match (file, std::env::var(variable), std::env::var_os(file_variable)) {
        (Some(path), ..) => Some(from_file(path)?),
        (None, Ok(token), _) => Some(token.trim().to_owned()),
        (None, Err(_), Some(path)) => Some(from_file(Path::new(&path))?),
        (None, Err(_), None) => None,
    };
    Ok(token.filter(|token| !token.is_empty()))
}
