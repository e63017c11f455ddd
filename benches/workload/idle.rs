//! Start-up time, and memory of an idle server.

use std::time::Duration;

use crate::{
    figures::{Figures, Times},
    server::Server,
};

const STARTS: usize = 20;
const REST: Duration = Duration::from_secs(2);

/// Measures starts with empty folders and with an existing one.
pub(crate) async fn run(figures: &mut Figures) -> anyhow::Result<()> {
    let (mut fresh, mut existing) = (Times::default(), Times::default());
    let kept = tempfile::tempdir()?;
    Server::start(kept.path())?.stop()?;
    for _ in 0..STARTS {
        let folder = tempfile::tempdir()?;
        let server = Server::start(folder.path())?;
        fresh.note(server.started_in);
        server.stop()?;
        let server = Server::start(kept.path())?;
        existing.note(server.started_in);
        server.stop()?;
    }
    figures.times("start over an empty folder", &fresh);
    figures.times("start over an existing folder", &existing);
    let server = Server::start(kept.path())?;
    tokio::time::sleep(REST).await;
    let memory = server.memory()?;
    let busy = server.processor_time()?;
    tokio::time::sleep(REST * 2).await;
    let idle = server.processor_time()?.saturating_sub(busy);
    server.stop()?;
    figures.number("memory at rest, resident", memory.resident, "MB");
    figures.number("memory at rest, not backed by a file", memory.anonymous, "MB");
    figures.number("memory at rest, peak", memory.peak, "MB");
    figures.number("processor at rest", 100.0 * idle.as_secs_f64() / (REST * 2).as_secs_f64(), "%");
    figures.limit("start p99", fresh.quantile(0.99).max(existing.quantile(0.99)), 300.0, "ms");
    figures.limit("memory at rest", memory.resident, 80.0, "MB");
    Ok(())
}
